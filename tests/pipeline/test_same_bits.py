"""The same bits for any number of workers, resident or staged: contents and changes of every view.

Sums of floats are the hard part: their last bits show in which order they were added. So are rows that differ
in nothing but the spelling of a value, and groups whose rows lie on several workers.
"""

from __future__ import annotations

import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.pipeline import pipeline
from penstock.pipeline.pipeline import Mode, Pipeline
from penstock.pipeline.run import Run
from penstock.spark.staged import StagedRuntime

SCRIPT = """
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, amount DOUBLE, rate FLOAT);
CREATE TABLE visits (customer INT, seconds DOUBLE);
CREATE TABLE events (customer INT, x DOUBLE) TBLPROPERTIES ('appendOnly' = 'true');
CREATE MATERIALIZED VIEW sums AS
  SELECT customer, sum(amount) AS a, avg(rate) AS r, sum(amount * rate) AS p, count(*) AS c
  FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW extremes AS
  SELECT customer, min(amount) AS lo, max(amount) AS hi, min(rate) AS r, stddev(amount) AS s
  FROM orders GROUP BY customer;
CREATE MATERIALIZED VIEW met AS
  SELECT o.id, o.amount / v.seconds AS ratio, CAST(v.seconds AS STRING) AS text
  FROM orders o JOIN visits v ON o.customer = v.customer WHERE v.seconds <> 0;
CREATE MATERIALIZED VIEW kinds AS SELECT DISTINCT seconds, customer % 3 AS k FROM visits;
CREATE MATERIALIZED VIEW overall AS
  SELECT sum(s.a) AS total, avg(m.ratio) AS mean, max(m.ratio) AS top, min(s.p) AS low
  FROM sums s LEFT JOIN (SELECT id % 7 AS k, ratio FROM met) m ON s.customer = m.k;
CREATE MATERIALIZED VIEW told AS
  SELECT customer, sum(x) AS x, count(DISTINCT x) AS d FROM events GROUP BY customer;
CREATE MATERIALIZED VIEW signs AS
  SELECT CAST(y AS STRING) AS y, 1 / n AS n FROM
    (SELECT customer, x / double('infinity') AS y, count(*) AS n FROM events GROUP BY ALL)
    JOIN (SELECT DISTINCT customer AS c FROM visits) ON c = customer;
"""
VIEWS = ("sums", "extremes", "met", "kinds", "overall", "told", "signs")
SIZES = (40, 900, 25, 0)
TINY_BYTES = 5_000  # a staged step with a larger input, the second one, runs in stages


def doubles(rng: np.random.Generator, count: int) -> np.ndarray[Any, Any]:
    """Numbers of very different sizes, which no order of adding sums alike, and special ones."""
    values = rng.normal(size=count) * 10.0 ** rng.integers(-12, 12, count)
    special = rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], count)
    return np.where(rng.random(count) < 0.03, special, values)


def live(run: Run) -> None:
    rng = np.random.default_rng(5)
    held = pa.table({"customer": pa.array([], pa.int32()), "seconds": pa.array([], pa.float64())})
    for size in SIZES:
        ids = rng.choice(4 * size + 1, size, replace=False)
        orders = {"id": ids, "customer": (ids % 40).astype(np.int32), "amount": doubles(rng, size)}
        run.upsert("orders", pa.table(orders | {"rate": doubles(rng, size).astype(np.float32)}))
        run.delete("orders", ids[: size // 4].tolist())
        few = size // 20
        customers = pa.array(rng.integers(0, 40, few), pa.int32())
        visits = pa.table({"customer": customers, "seconds": doubles(rng, few)})
        run.insert("visits", visits)
        if held.num_rows:
            run.delete("visits", held.slice(0, held.num_rows // 2))
        held = visits
        run.insert("events", pa.table({"customer": customers, "x": doubles(rng, few)}))
        run.step()


def bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else repr(value).encode()


def changes_of(run: Run) -> dict[str, list[tuple[bytes, ...]]]:
    """Every row of every view and of its changes, to the bit, in an order of its own."""
    tables = {view: run.read(view) for view in VIEWS}
    tables |= {f"changes of {view}": run.changes(view) for view in VIEWS}
    return {
        name: sorted(
            tuple(map(bits, row)) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)
        )
        for name, table in tables.items()
    }


@pytest.fixture(scope="module")
def planned(spark: SparkSession) -> Pipeline:
    pipe = Pipeline("bits", "memory://", spark=spark)
    pipe.sql(SCRIPT)
    return pipe


@pytest.fixture(scope="module")
def expected(planned: Pipeline, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with planned.clone(tmp_path_factory.mktemp("bits"), workers=1).run() as run:
        live(run)
        found = changes_of(run)
    assert all(len(rows) > 0 for rows in found.values())
    return found


@pytest.mark.parametrize("mode", ["resident", "staged"])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_contents_and_changes_are_the_same_to_the_bit(
    planned: Pipeline,
    expected: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    mode: Mode,
) -> None:
    monkeypatch.setattr(pipeline, "StagedRuntime", partial(StagedRuntime, tiny_bytes=TINY_BYTES))
    with planned.clone(tmp_path / "state", workers=workers, mode=mode).run() as run:
        live(run)
        found = changes_of(run)
    for name, rows in expected.items():
        assert found[name] == rows, name
