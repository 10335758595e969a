"""Views that are only followed: their changes are those of views that keep their rows, through crashes,
rescaling and the filling of other views; what would need their rows is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.errors import DefinitionChanged, PipelineError
from penstock.pipeline.run import Run

TABLES = """
CREATE TABLE t (k INT PRIMARY KEY, x INT);
CREATE TABLE events (k INT, x INT) TBLPROPERTIES ('appendOnly' = 'true');
"""
QUERIES = {
    "totals": "SELECT x % 3 AS r, count(*) AS n, max(k) AS last FROM t GROUP BY x % 3",
    "even": "SELECT k, x FROM t WHERE x % 2 = 0",
    "passed": "SELECT k, -x AS x FROM events",
    "best": "SELECT k, x FROM events ORDER BY x DESC, k LIMIT 2",
}
PASSING = " TBLPROPERTIES ('keepRows' = 'false')"


def views(suffix: str = "", properties: str = "") -> str:
    return "".join(
        f"CREATE MATERIALIZED VIEW {name}{suffix}{properties} AS {query};" for name, query in QUERIES.items()
    )


def feed(run: Run, step: int) -> None:
    run.upsert("t", [{"k": n % 5, "x": n * step % 7} for n in range(step, step + 4)])
    run.delete("t", [{"k": step % 5}])
    run.insert("events", [{"k": n, "x": 3 * n % 5} for n in range(step, step + 3)])
    run.step()


def changes_of(run: Run, suffix: str = "", since: int | None = None) -> dict[str, list[str]]:
    """The changes of each view, row by row."""
    return {name: sorted(map(str, run.changes(name + suffix, since=since).to_pylist())) for name in QUERIES}


@pytest.mark.parametrize("mode", ["resident", "staged"])
def test_changes_are_those_of_a_view_that_keeps_its_rows(
    mode: str, tmp_path: Path, spark: SparkSession
) -> None:
    for number, workers in enumerate([2, 1, 3] if mode == "resident" else [2]):
        pipe = Pipeline("p", storage=tmp_path / "p", workers=workers, mode=mode, spark=spark)
        if number == 0:
            pipe.sql(TABLES + views() + views("_told", PASSING))
        run = pipe.run()
        for step in range(3 * number, 3 * number + 3):
            feed(run, step)
        assert changes_of(run) == changes_of(run, "_told")
        assert changes_of(run)["even"]
        if number == 1:
            run.commit()
        run.kill()  # the next one replays what no version has


def test_a_view_tells_its_rows_once_and_a_new_one_all_there_are(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path / "p", workers=2, spark=spark)
    pipe.sql(TABLES + views("_told", PASSING))
    with pipe.run() as run:
        for step in range(3):
            feed(run, step)
        before = changes_of(run, "_told")
    pipe.sql(views("_new", PASSING) + views())
    with pipe.run() as run:
        assert changes_of(run, "_told") == before  # others were filled from the tables
        assert changes_of(run, "_new") == changes_of(run)  # the first change is what is there
        assert sum(run.changes("passed_new")["_weight"].to_pylist()) == len(run.read("passed")) == 9


def test_the_rows_are_not_stored(tmp_path: Path, spark: SparkSession) -> None:
    stored, shown = {}, 0
    for name, properties in (("kept", ""), ("passing", PASSING)):
        pipe = Pipeline(name, storage=tmp_path / name, workers=2, spark=spark)
        pipe.sql(TABLES + views("", properties))
        with pipe.run() as run:
            feed(run, 1)
            run.commit()
            stored[name] = run.status().stored_rows
            if not properties:
                shown = sum(len(run.read(view)) for view in QUERIES)
    assert stored["kept"] - stored["passing"] == shown > 0


def test_what_a_view_is_when_it_is_made_is_told_after_a_commit_too(
    tmp_path: Path, spark: SparkSession
) -> None:
    pipe = Pipeline("p", storage=tmp_path / "p", workers=2, spark=spark)
    pipe.sql(TABLES + f"CREATE MATERIALIZED VIEW n{PASSING} AS SELECT count(*) AS n FROM t")
    with pipe.run() as run:
        run.commit()
        feed(run, 1)
        run.commit()
        feed(run, 2)
        assert run.changes("n").to_pylist()[0] == {"n": 0, "_weight": 1, "_step": 0}


def test_what_needs_the_rows_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline("p", storage=tmp_path / "p", workers=2, spark=spark)
    pipe.sql(TABLES)
    pipe.view("even", lambda tables: tables.t.where("x % 2 = 0"), keeps_rows=False)
    pipe.sql("CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM even")  # reads its changes, as all do
    with pipe.run() as run:
        feed(run, 1)
        for read in (run.read, run.view, run.verify):
            with pytest.raises(PipelineError, match="view even does not keep its rows; follow its changes"):
                read("even")
        checked = run.verify()
        assert checked and [report.view for report in checked] == ["n"]
        assert checked.unchecked == ("even",)
    again = Pipeline("p", storage=tmp_path / "p", workers=2, spark=spark)
    with pytest.raises(DefinitionChanged, match="-'keepRows' = 'false'"):
        again.view("even", lambda tables: tables.t.where("x % 2 = 0"))
    again.view("even", lambda tables: tables.t.where("x % 2 = 0"), keeps_rows=False)
    with pytest.raises(DefinitionChanged, match="made by a DataFrame function"):
        again.sql("CREATE MATERIALIZED VIEW even AS SELECT * FROM t WHERE x % 2 = 0")


def test_only_the_retained_steps_are_kept(tmp_path: Path, spark: SparkSession) -> None:
    pipe = Pipeline(
        "p", storage=tmp_path / "p", workers=2, spark=spark, retained_steps=2, commit_interval_s=1e9
    )
    pipe.sql(TABLES + views("_told", PASSING))
    with pipe.run() as run:
        for step in range(4):
            feed(run, step)
        steps = run.changes("passed_told")["_step"].to_pylist()
        assert sorted(set(steps)) == [3, 4]
        run.commit()
        feed(run, 4)
        assert set(run.changes("passed_told", since=4)["_step"].to_pylist()) == {5}
    with pytest.raises(PipelineError, match="retained_steps is at least 1"):
        Pipeline("q", storage=tmp_path / "q", spark=spark, retained_steps=0)
