"""Tables that keep their changes tell them as views do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PipelineError
from penstock.pipeline.pipeline import Mode, Pipeline
from penstock.pipeline.run import Run

KEEP = " TBLPROPERTIES ('keepChanges' = 'true')"
SCRIPT = f"""
CREATE TABLE t (id BIGINT PRIMARY KEY, v INT){KEEP};
CREATE TABLE bag (v INT){KEEP};
CREATE TABLE log (v INT) TBLPROPERTIES ('keepChanges' = 'true', 'appendOnly' = 'true');
CREATE TABLE fixed (v INT) TBLPROPERTIES ('keepChanges' = 'true', 'static' = 'true');
CREATE TABLE quiet (v INT);
CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t;
"""


def changes_of(run: Run, name: str, since: int | None = None) -> list[tuple[Any, ...]]:
    rows = [tuple(row.values()) for row in run.changes(name, since).to_pylist()]
    return sorted(rows, key=lambda row: (row[-1], row[-2], row))  # within a step they have no order


@pytest.mark.parametrize(("mode", "workers"), [("staged", 1), ("resident", 2)])
def test_changes_of_tables_are_net_and_survive_a_restart(
    spark: SparkSession, tmp_path: Path, mode: Mode, workers: int
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=workers, mode=mode, spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        run.insert("t", [{"id": 1, "v": 1}, {"id": 2, "v": 2}])
        run.insert("bag", [{"v": 7}, {"v": 7}])
        run.insert("log", [{"v": 1}])
        run.insert("fixed", [{"v": 1}])
        report = run.step()
        assert report.changed_rows["t"] == 2 and report.changed_rows["bag"] == 1  # one row, twice
        run.upsert("t", [{"id": 1, "v": 1}, {"id": 2, "v": 3}])  # of these one is a change
        run.delete("bag", [{"v": 7}])
        run.step()
    with pipe.run() as run:
        assert changes_of(run, "t", 1) == [(2, 2, -1, 2), (2, 3, 1, 2)]
        assert changes_of(run, "bag") == [(7, 2, 1), (7, -1, 2)]
        assert changes_of(run, "log") == changes_of(run, "fixed") == [(1, 1, 1)]
        feed = run.changes("T", 1, format="change_feed").to_pylist()
        assert [row["_change_type"] for row in feed] == ["delete", "insert"]
        assert run.read("t").num_rows == 2 and run.read("bag").num_rows == 1
        assert run.verify()
        with pytest.raises(
            PipelineError, match=r"table quiet does not keep its changes. .*'keepChanges' = 'true'"
        ):
            run.changes("quiet")


def test_keeping_changes_is_turned_on_and_off_at_any_time(spark: SparkSession, tmp_path: Path) -> None:
    plain = SCRIPT.replace(KEEP, "")
    for script, expected in (
        (plain, None),
        (SCRIPT, [(0, 1, 1), (1, 1, 2)]),
        (plain, None),
        (SCRIPT, [(0, 1, 3), (1, 1, 3), (2, 1, 3), (3, 1, 4)]),
    ):
        pipe = Pipeline("p", tmp_path / "state", workers=1, mode="staged", spark=spark)
        pipe.sql(script)
        with pipe.run() as run:
            run.insert("bag", [{"v": run.status().step}])
            run.step()
            if expected is not None:
                assert changes_of(run, "bag") == expected
            assert run.read("bag").num_rows == run.status().step
            assert run.verify()
