"""Which views keep their rows as they come: those that nothing can take a row from."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.circuit.operators import AppendView, View

TABLES = """
CREATE TABLE events (k INT, x DOUBLE) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE more (k INT, y STRING) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE keyed (k INT PRIMARY KEY, y STRING);
CREATE TABLE bag (k INT, y STRING);
"""
GROWING = (
    "SELECT * FROM events",
    "SELECT x + 1 AS x FROM events WHERE k > 1",
    "SELECT k FROM events UNION ALL SELECT k FROM more UNION ALL SELECT 7",
    "SELECT x, y FROM events JOIN more ON events.k = more.k",
    "SELECT explode(sequence(0, k)) AS n FROM events WHERE k BETWEEN 0 AND 3",
)
OTHER = (
    "SELECT * FROM keyed",
    "SELECT y FROM bag WHERE k > 1",
    "SELECT k FROM events UNION ALL SELECT k FROM bag",
    "SELECT x, y FROM events JOIN keyed ON events.k = keyed.k",
    "SELECT x, y FROM events LEFT JOIN more ON events.k = more.k",
    "SELECT k, count(*) AS n FROM events GROUP BY k",
    "SELECT DISTINCT k FROM events",
    "SELECT k FROM events EXCEPT ALL SELECT k FROM more",
    "SELECT * FROM events ORDER BY x, k LIMIT 3",
    "SELECT * FROM events WHERE k IN (SELECT k FROM more)",
)


@pytest.fixture(scope="module")
def pipe(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    pipe = Pipeline("growing", tmp_path_factory.mktemp("growing") / "state", workers=2, spark=spark)
    pipe.sql(TABLES)
    for number, query in enumerate((*GROWING, *OTHER)):
        pipe.sql(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
    return pipe


def test_only_views_that_nothing_is_taken_from_keep_rows_as_they_come(pipe: Pipeline) -> None:
    circuit = pipe.program().circuit
    for number, query in enumerate((*GROWING, *OTHER)):
        kind = type(circuit.nodes[circuit.views[f"v{number}"]].operator)
        assert kind is (AppendView if query in GROWING else View), query


def test_their_rows_are_counted_and_followed_as_those_of_any_view(pipe: Pipeline) -> None:
    with pipe.run() as run:
        for step in range(4):
            run.insert("events", [{"k": k % 3, "x": -0.0 if k % 2 else float(step)} for k in range(5)])
            run.insert("more", [{"k": k, "y": "same"} for k in (1, 1, step)])
            run.upsert("keyed", [{"k": step % 2, "y": str(step)}])
            run.insert("bag", [{"k": step, "y": None}])
            run.step()
            assert run.verify()
        changes = run.changes("v0", 2).to_pylist()
        assert {row["_step"] for row in changes} == {3, 4}
        assert sum(row["_weight"] for row in changes) == 10
        assert all(row["_weight"] > 0 for row in changes)
        before = {name: run.read(name).num_rows for name in ("v0", "v3")}
    other = Pipeline("growing", Path(str(run.status().storage)), workers=3, spark=pipe.spark)
    with other.run() as again:
        assert {name: again.read(name).num_rows for name in before} == before
        assert again.verify()
