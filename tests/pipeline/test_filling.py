"""Views that are added to a pipeline with rows: Spark agrees with them, old views neither change nor compute.

The tables are of every kind, and new views start from every kind of thing that is there.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock import Pipeline
from penstock.errors import EvaluationError
from penstock.pipeline.run import Run

TABLES = """
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, amount DOUBLE, note STRING);
CREATE TABLE customers (id INT, name STRING);
CREATE TABLE events (k INT, x INT) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE kinds (k INT PRIMARY KEY, name STRING) TBLPROPERTIES ('static' = 'true');
"""
OLD = {
    "totals": "SELECT customer, count(*) AS n, sum(amount) AS total, max(id) AS last "
    "FROM orders GROUP BY customer",
    "named": "SELECT o.id, o.amount, c.name FROM orders AS o JOIN customers AS c ON o.customer = c.id",
    "negated": "SELECT id, -amount AS amount FROM orders",
    "seen": "SELECT k, x FROM events WHERE x > 1",
    "late": "SELECT e.k, e.x FROM events AS e WHERE NOT EXISTS (SELECT 1 FROM orders AS o "
    "WHERE o.customer = e.k AND o.id > e.x)",
    "ranked": "SELECT id, customer, row_number() OVER (PARTITION BY customer ORDER BY id) AS r FROM orders",
    "top": "SELECT id, amount FROM orders ORDER BY amount DESC, id LIMIT 3",
    "labelled": "SELECT e.x, t.name FROM events AS e JOIN kinds AS t ON e.k = t.k",
    "names": "SELECT DISTINCT name FROM customers",
    "mean": "SELECT customer, avg(amount) AS mean FROM orders GROUP BY customer",
}
NEW = {
    "n": "SELECT count(*) AS n FROM orders",
    "on_totals": "SELECT n, count(*) AS customers, sum(total) AS total FROM totals GROUP BY n",
    "back_to_customers": "SELECT t.total, c.name FROM totals AS t JOIN customers AS c ON t.customer = c.id",
    "totals_twice": "SELECT t.customer, n, mean FROM totals AS t JOIN mean AS m ON t.customer = m.customer",
    "regrouped": "SELECT customer, sum(n) AS n FROM totals GROUP BY customer",
    "same_join": "SELECT name, max(amount) AS most FROM named GROUP BY name",
    "texts": "SELECT CAST(amount AS STRING) AS t, count(*) AS n FROM negated GROUP BY CAST(amount AS STRING)",
    "mean_texts": "SELECT customer, CAST(mean AS STRING) AS t FROM mean",
    "other_key": "SELECT a.id, b.id AS other FROM orders AS a JOIN orders AS b ON a.note = b.note",
    "count_seen": "SELECT k, count(*) AS n FROM seen GROUP BY k",
    "more_late": "SELECT e.k, e.x FROM events AS e WHERE EXISTS (SELECT 1 FROM orders AS o "
    "WHERE o.customer = e.k AND o.id > e.x + 1)",
    "first_of_all": "SELECT id FROM ranked WHERE r = 1",
    "top_sum": "SELECT sum(amount) AS total FROM top",
    "labels": "SELECT name, count(*) AS n FROM labelled GROUP BY name",
    "kinds_again": "SELECT e.k, t.name FROM events AS e JOIN kinds AS t ON e.k = t.k WHERE e.x > 2",
    "unnamed": "SELECT o.id FROM orders AS o LEFT ANTI JOIN customers AS c ON o.customer = c.id",
    "above": "SELECT id FROM orders WHERE amount > (SELECT avg(total) FROM totals)",
    "name_pairs": "SELECT a.name, b.name AS other FROM names AS a JOIN names AS b ON a.name < b.name",
    "constants": "SELECT v.a, n.name FROM VALUES (1), (2) AS v(a) CROSS JOIN names AS n",
}


def views(queries: dict[str, str], properties: str = "") -> str:
    return "".join(
        f"CREATE MATERIALIZED VIEW {name}{properties} AS {query};" for name, query in queries.items()
    )


def feed(run: Run, step: int) -> None:
    if step == 0:
        run.upsert("kinds", [{"k": k, "name": "abc"[k]} for k in range(3)])
        run.step()
    run.upsert(
        "orders",
        [
            {"id": n % 23, "customer": n % 5, "amount": (n * step) % 7 / 2.0, "note": f"note {n % 4}"}
            for n in range(7 * step, 7 * step + 12)
        ],
    )
    run.delete("orders", [{"id": (3 * step) % 23}])
    run.insert("customers", [{"id": n % 7, "name": f"name {n % 3}"} for n in range(step, step + 3)])
    run.insert("events", [{"k": n % 5, "x": n % 9} for n in range(step, step + 6)])
    run.step()


def changes_of(run: Run, names: Any, since: int | None = None) -> dict[str, list[str]]:
    return {name: sorted(map(str, run.changes(name, since=since).to_pylist())) for name in names}


def contents(run: Run, names: Any) -> dict[str, list[str]]:
    return {name: sorted(map(str, run.read(name).to_pylist())) for name in names}


@pytest.mark.parametrize(
    ("mode", "workers", "then"),
    [("resident", 1, 3), ("resident", 2, 2), ("staged", 2, 3)],
)
def test_new_views_are_what_spark_computes_and_go_on_from_there(
    mode: Any, workers: int, then: int, tmp_path: Path, spark: SparkSession
) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=workers, mode=mode, spark=spark)
    pipe.sql(TABLES + views(OLD))
    run = pipe.run()
    for step in range(3):
        feed(run, step)
    changes, rows = changes_of(run, OLD), contents(run, OLD)
    run.kill()  # what no version has is replayed before the new views come
    pipe = Pipeline("p", storage=tmp_path, workers=then, mode=mode, spark=spark)
    pipe.sql(views(NEW))
    with pipe.run() as run:
        assert run.verify()
        assert contents(run, OLD) == rows
        assert changes_of(run, OLD) == changes
        filled_at = run.status().step
        for name in NEW:
            first = run.changes(name)
            assert sorted(set(first["_step"].to_pylist())) in ([], [filled_at])
            assert sum(first["_weight"].to_pylist()) == len(run.read(name))
        feed(run, 3)
        run.kill()
    with Pipeline("p", storage=tmp_path, workers=workers, mode=mode, spark=spark).run() as run:
        feed(run, 4)
        assert run.verify()


def operators_run(caplog: pytest.LogCaptureFixture) -> tuple[int, int]:
    """How many operators ran in the last fill, and how many there are."""
    [*_, message] = [m for m in caplog.messages if m.startswith("filled")]
    ran, of = map(int, re.findall(r"(\d+) of (\d+) operators", message)[0])
    return ran, of


@pytest.mark.parametrize("mode", ["resident", "staged"])
def test_operators_that_exist_do_no_work(
    mode: Any, tmp_path: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock.pipeline.coordinator")
    pipe = Pipeline("p", storage=tmp_path, workers=2, mode=mode, spark=spark)
    pipe.sql(TABLES + views(OLD))
    with pipe.run() as run:
        feed(run, 0)
    ran = {}
    for name, query in (("n", NEW["n"]), ("on_totals", NEW["on_totals"]), ("later", "SELECT * FROM orders")):
        pipe.sql(views({name: query}))
        with pipe.run() as run:
            assert run.verify(name)
        ran[name], of = operators_run(caplog)
        assert of > 30
    # A projection, a partial aggregate, an aggregate and a view; a view alone.
    assert ran == {"n": 4, "on_totals": 4, "later": 1}
    caplog.clear()
    with pipe.run():
        assert not [m for m in caplog.messages if m.startswith("filled")]


def test_several_at_once_with_views_that_replace_others_and_views_made_by_functions(
    tmp_path: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock.pipeline.coordinator")
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    first = {name: OLD[name] for name in ("totals", "named", "ranked")} | {"on_totals": NEW["on_totals"]}
    pipe.sql(TABLES + views(first))
    with pipe.run() as run:
        for step in range(2):
            feed(run, step)
        kept = changes_of(run, ["named", "ranked"])
    changed = first | {"totals": OLD["totals"].replace("count(*)", "count(amount)")}
    assert set(pipe.sql(TABLES + views(changed), replace=True)) == {"totals", "on_totals"}

    def many(tables: Any) -> DataFrame:
        return tables.totals.where("n > 1").select("customer", "total")

    pipe.view("many", many)
    with pipe.run() as run:
        assert run.verify()
        assert changes_of(run, ["named", "ranked"]) == kept
        ran, of = operators_run(caplog)
        assert 0 < ran < of / 2
        feed(run, 2)
        assert run.verify()


def test_tables_and_what_follows_their_changes_may_come_with_new_views(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(TABLES + views({"totals": OLD["totals"]}))
    with pipe.run() as run:
        feed(run, 0)
    pipe.sql(
        "CREATE TABLE prices (id INT PRIMARY KEY, price INT);"
        "CREATE TABLE visits (k INT) TBLPROPERTIES ('appendOnly' = 'true', 'keepRows' = 'false');"
        "CREATE MATERIALIZED VIEW priced AS "
        "SELECT o.id, p.price FROM orders AS o LEFT JOIN prices AS p ON o.id = p.id;"
        "CREATE MATERIALIZED VIEW visited AS SELECT k, count(*) AS n FROM visits GROUP BY k;"
    )
    pipe.sql(views({"told": "SELECT customer, total FROM totals"}, " TBLPROPERTIES ('keepRows' = 'false')"))
    with pipe.run() as run:
        assert run.verify()
        assert len(run.read("priced")) == len(run.read("orders"))
        assert sum(run.changes("told")["_weight"].to_pylist()) == len(run.read("totals"))
        run.insert("prices", [{"id": n, "price": n} for n in range(5)])
        run.insert("visits", [{"k": n % 2} for n in range(5)])
        feed(run, 1)
        assert run.verify()
        assert sorted(row["n"] for row in run.read("visited").to_pylist()) == [2, 3]


def test_only_new_expressions_can_fail_and_then_nothing_was_filled(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(TABLES + views({"totals": OLD["totals"]}))
    with pipe.run() as run:
        feed(run, 1)
        rows, changes = contents(run, ["totals"]), changes_of(run, ["totals"])
    pipe.sql(views({"bad": "SELECT 1 / (n - n) AS x FROM totals", "n": NEW["n"]}))
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        pipe.run()
    with pipe.run() as run:
        assert contents(run, ["totals"]) == rows and changes_of(run, ["totals"]) == changes
        feed(run, 2)
        assert run.verify()
