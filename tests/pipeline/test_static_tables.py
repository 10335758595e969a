"""Static tables: joins with them keep no rows, every view is what Spark computes all the same, and a change
that such a join would miss is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.circuit.operators import Arrange, LookupJoin
from penstock.errors import InputError, SqlError
from penstock.pipeline.run import Run

SCRIPT = """
CREATE TABLE kinds (k INT PRIMARY KEY, name STRING, least INT) TBLPROPERTIES ('static' = 'true');
CREATE TABLE groups (name STRING, team STRING) TBLPROPERTIES ('static' = 'true');
CREATE TABLE events (k INT, x INT) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE orders (id INT PRIMARY KEY, k INT, x INT);
CREATE MATERIALIZED VIEW named AS SELECT e.k, e.x, t.name FROM events AS e JOIN kinds AS t ON e.k = t.k;
CREATE MATERIALIZED VIEW ordered AS
  SELECT o.id, t.name, o.x FROM kinds AS t JOIN orders AS o ON o.k = t.k AND 100 / o.x > t.least;
CREATE MATERIALIZED VIEW teams AS
  SELECT g.team, count(*) AS n, sum(e.x) AS total
  FROM events AS e
    JOIN (SELECT t.k, g.team FROM kinds AS t JOIN groups AS g ON t.name = g.name) AS g ON e.k = g.k
  GROUP BY g.team;
CREATE MATERIALIZED VIEW all_of_them AS SELECT t.k, e.x FROM kinds AS t LEFT JOIN events AS e ON e.k = t.k;
"""
KINDS = [{"k": k, "name": "abc"[k % 3], "least": k} for k in range(4)]
GROUPS = [{"name": name, "team": team} for name, team in (("a", "red"), ("a", "blue"), ("b", "red"))]


def fill(run: Run) -> None:
    run.upsert("kinds", [{**row, "name": "z"} for row in KINDS])
    run.insert("groups", GROUPS)
    run.step()
    run.upsert("kinds", KINDS)
    run.delete("kinds", [3])
    run.step()


def live(run: Run, step: int) -> None:
    run.insert("events", [{"k": n % 5, "x": n} for n in range(step, step + 7)])
    run.upsert("orders", [{"id": n % 4, "k": n % 3, "x": step + n - 1 or 9} for n in range(step, step + 3)])
    run.delete("orders", [step % 4])
    run.step()
    assert run.verify()


@pytest.mark.parametrize("mode", ["resident", "staged"])
def test_views_are_what_spark_computes_through_crashes_and_rescaling(
    mode: str, tmp_path: Path, spark: SparkSession
) -> None:
    for number, workers in enumerate([2, 1, 3] if mode == "resident" else [2, 3]):
        pipe = Pipeline("p", storage=tmp_path, workers=workers, mode=mode, spark=spark)
        if number == 0:
            pipe.sql(SCRIPT)
        run = pipe.run()
        if number == 0:
            fill(run)
        for step in range(3 * number, 3 * number + 3):
            live(run, step)
        with pytest.raises(InputError, match="table kinds: the table is static and cannot change"):
            run.upsert("kinds", KINDS)
        run.kill()  # the next one replays what no version has


def test_rows_that_are_looked_up_are_not_kept(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(SCRIPT)
    circuit = pipe.program().circuit
    below = {
        name: [circuit.nodes[i].operator for i in circuit.ancestors(circuit.views[name])]
        for name in circuit.views
    }
    for view in ("named", "ordered", "teams"):
        assert any(isinstance(operator, LookupJoin) for operator in below[view]), view
    assert not any(isinstance(operator, LookupJoin) for operator in below["all_of_them"])
    arranged = [operator.schema.names for operator in below["named"] if isinstance(operator, Arrange)]
    assert arranged == [["k", "name"]]


def test_rows_of_both_may_come_in_one_step_and_then_no_more(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.upsert("kinds", KINDS)
        run.insert("events", [{"k": 1, "x": 5}])
        run.step()
        assert run.verify()
        before = run.read("named").to_pylist()
        for refused in (
            lambda: run.upsert("kinds", KINDS[:1]),
            lambda: run.delete("kinds", [1]),
            lambda: run.insert("groups", GROUPS),
        ):
            with pytest.raises(InputError, match="is static"):
                refused()
        assert run.read("named").to_pylist() == before
        run.insert("events", [{"k": 2, "x": 6}])
        run.step()
        assert run.verify()


def test_rows_that_were_pushed_before_others_moved_are_refused_by_the_step(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.insert("events", [{"k": 1, "x": 5}])
        first = run._pushes.waiting()
        run._pushes.drop(first)
        run.upsert("kinds", KINDS)
        late, run._pushes._waiting = run._pushes._waiting, list(first.pushes)
        run.step()
        run._pushes._waiting = late
        with pytest.raises(InputError, match="is static"):
            run.step()
        assert run.verify()


def test_a_view_that_comes_later_sees_the_table_as_it_is_then(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=2, spark=spark)
    pipe.sql(
        "CREATE TABLE t (k INT PRIMARY KEY, name STRING) TBLPROPERTIES ('static' = 'true');"
        "CREATE TABLE e (k INT, x INT);"
        "CREATE MATERIALIZED VIEW v AS SELECT * FROM e"
    )
    with pipe.run() as run:
        run.insert("e", [{"k": 1, "x": 5}])
        run.step()
        run.upsert("t", [{"k": 1, "name": "one"}])  # nobody has looked anything up in it yet
        run.step()
    pipe.sql("CREATE MATERIALIZED VIEW named AS SELECT e.x, t.name FROM e JOIN t ON e.k = t.k")
    with pipe.run() as run:
        assert run.read("named").to_pylist() == [{"x": 5, "name": "one"}]
        with pytest.raises(InputError, match="named would not be updated"):
            run.upsert("t", [{"k": 2, "name": "two"}])
        run.insert("e", [{"k": 1, "x": 6}])
        run.step()
        assert run.verify()
    pipe.sql("DROP MATERIALIZED VIEW named")
    with pipe.run() as run:
        run.upsert("t", [{"k": 2, "name": "two"}])
        run.step()


def test_a_table_cannot_stand_still_and_grow(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path, workers=1, spark=spark)
    with pytest.raises(SqlError, match="leave out one of the properties static and appendOnly"):
        pipe.sql("CREATE TABLE t (k INT) TBLPROPERTIES ('static' = 'true', 'appendOnly' = 'true')")
