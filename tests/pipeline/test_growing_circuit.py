"""Declaring views one by one: each costs what it costs alone, and a refusal leaves everything as it was."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock import Pipeline
from penstock.errors import PenstockError, SqlError, UnsupportedQuery
from penstock.sql import Tables, planner
from penstock.sql.session import PlanningSession

TABLES = 8
VIEWS = 24


def view(number: int) -> str:
    left, right = f"t{number % TABLES}", f"t{(number + 1) % TABLES}"
    return (
        f"CREATE MATERIALIZED VIEW v{number} AS SELECT l.c, count(*) AS n, sum(r.a + {number}) AS s "
        f"FROM {left} l JOIN {right} r ON l.a = r.a + {number} GROUP BY l.c"
    )


@pytest.fixture
def pipe(spark: SparkSession, tmp_path: Path) -> Pipeline:
    pipe = Pipeline("growing", tmp_path / "state", workers=1, spark=spark)
    pipe.sql(";".join(f"CREATE TABLE t{i} (id BIGINT PRIMARY KEY, a INT, c STRING)" for i in range(TABLES)))
    return pipe


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts plan nodes that are compiled and relations that are registered with Spark."""
    done: Counter[str] = Counter()

    def counted(name: str, function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            done[name] += 1
            return function(*args, **options)

        return call

    compilers = {kind: counted("compiled", compiler) for kind, compiler in planner.COMPILERS.items()}
    monkeypatch.setattr(planner, "COMPILERS", compilers)
    for name in ("add_relation", "add_view"):
        monkeypatch.setattr(PlanningSession, name, counted("registered", getattr(PlanningSession, name)))
    return done


def test_a_view_costs_the_same_whatever_is_there(pipe: Pipeline, work: Counter[str]) -> None:
    costs = []
    for number in range(VIEWS):
        work.clear()
        pipe.sql(view(number))
        costs.append(dict(work))
    assert costs[-1] == costs[TABLES] == {"compiled": costs[TABLES]["compiled"], "registered": 1}
    assert sum(cost["compiled"] for cost in costs) < VIEWS * 10


def test_a_refusal_registers_nothing_and_plans_nothing_again(pipe: Pipeline, work: Counter[str]) -> None:
    for number in range(VIEWS):
        pipe.sql(view(number))
    work.clear()
    for query, error in (
        ("SELECT rand() AS r FROM t0", UnsupportedQuery),
        ("SELECT nowhere FROM t0", SqlError),
        ("SELECT 1 AS a, 2 AS a", SqlError),
    ):
        with pytest.raises(error):
            pipe.sql(f"CREATE MATERIALIZED VIEW bad AS {query}")
    with pytest.raises(UnsupportedQuery):
        pipe.view("bad", lambda tables: tables.t0.sample(0.5))
    assert not work
    pipe.sql(view(VIEWS))
    assert work["registered"] == 1


def test_a_script_that_fails_leaves_session_and_circuit_as_they_were(pipe: Pipeline) -> None:
    pipe.sql(f"{view(0)}; CREATE VIEW plain AS SELECT a FROM t1; {view(1)}")
    before = pipe.program()
    with pytest.raises(SqlError):
        pipe.sql(
            "DROP MATERIALIZED VIEW v0; CREATE TABLE v0 (x INT);"
            "CREATE OR REPLACE VIEW plain AS SELECT 1 AS b; CREATE TABLE more (y INT); DROP VIEW plain;"
            "CREATE MATERIALIZED VIEW bad AS SELECT y, z FROM more"
        )
    assert pipe.program() is before
    pipe.sql("CREATE MATERIALIZED VIEW w AS SELECT n, a FROM v0 JOIN plain ON n = a")
    with pytest.raises(PenstockError):
        pipe.sql("CREATE MATERIALIZED VIEW bad AS SELECT y FROM more")


def test_what_only_the_circuit_refuses_is_taken_back(
    pipe: Pipeline, monkeypatch: pytest.MonkeyPatch, work: Counter[str]
) -> None:
    def refuse(*_: object) -> None:
        raise UnsupportedQuery("this one")

    pipe.sql(view(0))
    before = pipe.program()
    with monkeypatch.context() as patch:
        patch.setattr(planner, "is_partitioned_by", refuse)
        with pytest.raises(UnsupportedQuery, match="this one"):
            pipe.sql(view(1))
    assert pipe.program() is before
    with pytest.raises(SqlError):
        pipe.sql("CREATE MATERIALIZED VIEW w AS SELECT n FROM v1")
    pipe.sql(view(1))


def test_a_grown_circuit_is_the_one_that_is_planned_at_once(pipe: Pipeline, spark: SparkSession) -> None:
    def extra(tables: Tables) -> DataFrame:
        return tables.v3.where("n > 1")

    for number in range(6):
        pipe.sql(view(number))
    pipe.view("extra", extra)
    pipe.sql("DROP MATERIALIZED VIEW v2")
    assert {"v3", "extra"} <= pipe.program().circuit.views.keys()
    assert "v2" not in pipe.program().circuit.views
    again = Pipeline("growing", str(pipe._backend.url) + "-again", workers=1, spark=spark)
    again.sql(";".join(f"CREATE TABLE t{i} (id BIGINT PRIMARY KEY, a INT, c STRING)" for i in range(TABLES)))
    again.sql("; ".join(view(number) for number in (0, 1, 3, 4, 5)))
    again.view("extra", extra)
    assert again.program() == pipe.program()
