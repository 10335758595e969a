"""State folders of three different pipelines, made by real runs: for damage to be done to copies of them.

Each has two versions with changes between them, and steps in the log that no version has. The last one is
compact, with a batch large enough to be stored in blocks.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession

import penstock as ps
from penstock.pipeline.checking import check_folder
from penstock.pipeline.run import Run
from penstock.schedule.folder_parts import read_folder
from penstock.storage import LocalBackend
from tests.faults.damage import copied
from tests.faults.trial import Subject, answers_of

WORKERS = 2


@dataclass(frozen=True)
class Recipe:
    """A pipeline, and what a step pushes to it."""

    script: str
    push: Callable[[Run, random.Random, int], None]
    compact: bool = False


_SHOP = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(12, 2));
CREATE TABLE customers (name STRING PRIMARY KEY, city STRING);
CREATE MATERIALIZED VIEW revenue AS
  SELECT city, count(*) AS orders, sum(amount) AS total, max(amount) AS largest
  FROM orders JOIN customers ON customer = name GROUP BY city;
CREATE MATERIALIZED VIEW regulars AS
  SELECT customer, count(*) AS orders FROM orders GROUP BY customer HAVING count(*) > 2;
CREATE MATERIALIZED VIEW without AS
  SELECT name FROM customers WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer = name);
"""
_EVENTS = """
CREATE TABLE events (at BIGINT, device STRING, value DOUBLE) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE alarms (device STRING, level INT);
CREATE MATERIALIZED VIEW latest AS
  SELECT device, at, value FROM
    (SELECT *, row_number() OVER (PARTITION BY device ORDER BY at DESC, value) AS n FROM events) WHERE n <= 2;
CREATE MATERIALIZED VIEW devices AS SELECT DISTINCT device FROM alarms;
CREATE MATERIALIZED VIEW means AS
  SELECT device, avg(value) AS mean, min(value) AS low FROM events GROUP BY device;
"""
_PARTS = """
CREATE TABLE parts (id BIGINT PRIMARY KEY, kind STRING, weight DOUBLE);
CREATE MATERIALIZED VIEW heavy AS SELECT id, kind FROM parts WHERE weight > 0.5;
CREATE MATERIALIZED VIEW kinds AS
  SELECT kind, count(*) AS parts, sum(weight) AS weight FROM parts GROUP BY kind;
"""


def _push_shop(run: Run, rng: random.Random, step: int) -> None:
    names = [f"c{i}" for i in range(40)]
    run.upsert("customers", [{"name": name, "city": rng.choice("ABCDE")} for name in rng.sample(names, 12)])
    run.upsert(
        "orders",
        [
            {
                "id": rng.randrange(400),
                "customer": rng.choice(names[:30]),
                "amount": Decimal(rng.randrange(10**5)) / 100,
            }
            for _ in range(60)
        ],
    )
    if step > 2:
        run.delete("orders", [rng.randrange(400) for _ in range(10)])


def _push_events(run: Run, rng: random.Random, step: int) -> None:
    run.insert(
        "events",
        [
            {
                "at": step * 100 + i,
                "device": f"d{rng.randrange(20)}",
                "value": rng.choice((0.1, 1e300, None, 2.5)),
            }
            for i in range(80)
        ],
    )
    run.insert("alarms", [{"device": f"d{rng.randrange(30)}", "level": rng.randrange(4)} for _ in range(9)])


def _push_parts(run: Run, rng: random.Random, step: int) -> None:
    size = 60_000 if step == 1 else 200
    rows = [
        {"id": rng.randrange(400_000), "kind": f"k{rng.randrange(9)}", "weight": rng.random()}
        for _ in range(size)
    ]
    run.upsert("parts", rows)


RECIPES = {
    "shop": Recipe(_SHOP, _push_shop),
    "events": Recipe(_EVENTS, _push_events),
    "parts": Recipe(_PARTS, _push_parts, compact=True),
}


def made(spark: SparkSession, root: Path, name: str) -> Subject:
    """The folder of one pipeline after eight steps, three versions, and a process that died."""
    recipe, rng = RECIPES[name], random.Random(name)
    pipe = ps.Pipeline(
        name,
        storage=root / name,
        workers=WORKERS,
        spark=spark,
        commit_interval_s=3600,
        compact=recipe.compact,
    )
    pipe.sql(recipe.script)
    with pipe.run() as run:
        for step in range(1, 9):
            recipe.push(run, rng, step)
            run.step()
            if step in (2, 4, 6):
                run.commit()
        assert all(run.verify())
        run.kill()
    program = pipe.program()
    report = check_folder(LocalBackend(root / name))
    assert report, report.problems
    in_blocks = any(
        batch.in_blocks
        for found in read_folder(LocalBackend(root / name)).arrangements
        for batch in found.batches
    )
    assert in_blocks == recipe.compact
    # read from a copy, since opening a folder may change its logs
    place = root / f"{name}-opened"
    copied(root / name, place, "")
    answers = answers_of(place, name, program, WORKERS, go_on=True)
    others = tuple(root / other for other in RECIPES if other != name)
    return Subject(name, root / name, program, WORKERS, answers, others)
