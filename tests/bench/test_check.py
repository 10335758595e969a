"""A check finds what is wrong: a wrong view, a refused view, a failing step; and says so in its figure."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.sql import SparkSession

import bench.check
from bench.__main__ import BENCHMARKS, main
from bench.check import Subject, check
from penstock.oracle import Config, Query, steps_from, table
from tests.oracle.fake_pipelines import LosesRows, Raises, opening

CONFIG = Config(1, "staged")


@pytest.fixture
def subject(spark: SparkSession) -> Subject:
    tables = [table("t", "k INT, v INT", key=["k"])]
    rows = [{"k": int(k), "v": int(k) % 2} for k in np.arange(4)]
    steps = steps_from(tables, [[("t", "insert", rows[:2])], [("t", "insert", rows[2:])]])
    queries = [
        Query("copied", "SELECT k, v FROM t"),
        Query("counted", "SELECT v, count(*) AS k FROM t GROUP BY v"),
    ]
    return Subject("toy", "A toy", tables, queries, steps)


def test_views_that_are_right_are_equal_and_the_goal_is_met(spark: SparkSession, subject: Subject) -> None:
    result = check(spark, subject, [CONFIG])
    assert result.met and result.figure == 0
    assert result.rows == [
        {"view": "copied", "rows": 4, "changed in steps": 1, str(CONFIG): "equal"},
        {"view": "counted", "rows": 2, "changed in steps": 1, str(CONFIG): "equal"},
    ]


def test_a_wrong_view_is_a_difference_and_its_rows_are_shown(
    spark: SparkSession, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.check, "open_pipeline", opening(LosesRows))
    result = check(spark, subject, [CONFIG])
    assert not result.met and result.figure == 1
    assert [row[str(CONFIG)] for row in result.rows] == ["step 1 differs", "equal"]
    assert any("copied" in note and "'k': 3" in note for note in result.notes)


def test_a_step_that_fails_counts_against_every_view(
    spark: SparkSession, subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench.check, "open_pipeline", opening(Raises))
    deletes = steps_from(subject.tables, [[("t", "delete", [{"k": 0}])]])
    failing = Subject(subject.name, subject.what, subject.tables, subject.queries, [*subject.steps, *deletes])
    result = check(spark, failing, [CONFIG])
    assert not result.met and result.figure == 2
    assert [row[str(CONFIG)] for row in result.rows] == ["step 2 failed", "step 2 failed"]


def test_a_refused_view_is_shown_with_its_message_and_counted(spark: SparkSession, subject: Subject) -> None:
    queries = [*subject.queries, Query("sampled", "SELECT k FROM t WHERE rand() < 2")]
    refused = Subject(subject.name, subject.what, subject.tables, queries, subject.steps)
    result = check(spark, refused, [CONFIG])
    assert not result.met and result.figure == 1
    assert [row[str(CONFIG)] for row in result.rows] == ["equal", "equal", "refused"]
    assert any(note.startswith("sampled refused: UnsupportedQuery") for note in result.notes)


def test_queries_can_be_chosen_by_name(subject: Subject) -> None:
    assert [query.name for query in subject.only("^cop").queries] == ["copied"]
    with pytest.raises(SystemExit, match="no query of toy"):
        subject.only("nothing")


def test_the_command_lists_benchmarks_and_explains_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n    {name}" in listed for name in (*BENCHMARKS, "all", "pages"))
    with pytest.raises(SystemExit) as ended:
        main(["nexmark", "--help"])
    explained = capsys.readouterr().out
    assert ended.value.code == 0 and "--check" in explained and "--peers" in explained
