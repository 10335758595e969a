"""Each benchmark of ours once, at a size of a few rows: it runs, compares answers, and fills its table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bench import memory, scale
from bench.latency import steps
from bench.processes import workers_private_bytes
from bench.startup import linked_copy, probe
from bench.tpch import speed
from bench.tpch.data import small


@pytest.fixture(scope="module")
def contents(spark: SparkSession) -> dict[str, pa.RecordBatch]:
    """TPC-H's tables in small; Spark reads the schemas."""
    return small(1)


@pytest.mark.parametrize("workload", scale.SCRIPTS)
def test_scale_times_every_round_and_sees_the_exchange(spark: SparkSession, workload: str) -> None:
    timings = scale.measure(spark, workload, 2000, 2, workers=(1, 2))
    assert {workers: len(timing.steps) for workers, timing in timings.items()} == {1: 2, 2: 2}
    for step, exchange in zip(timings[2].steps, timings[2].exchange, strict=True):
        assert 0 < exchange < step


def test_scale_refuses_answers_that_differ(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "difference", lambda ours, theirs: "a row")
    with pytest.raises(SystemExit, match="2 workers answer differently from 1: a row"):
        scale.measure(spark, "grouped", 10, 0, workers=(1, 2))


@pytest.mark.parametrize("view", ["q01", "joined"])
def test_memory_counts_every_arrangement_in_memory_and_on_disk(
    spark: SparkSession, contents: Mapping[str, pa.RecordBatch], view: str
) -> None:
    [query] = [query for query in memory.views() if query.name == view]
    sizes = memory.measure(spark, contents, query, chunk=400)
    assert set(sizes.memory) == set(sizes.disk), "the same arrangements are in memory and on disk"
    assert all(size > 0 for size in (*sizes.memory.values(), *sizes.disk.values(), sizes.rest))
    assert sizes.arrow >= contents["lineitem"].nbytes and 0 < sizes.parquet < sizes.arrow
    largest = max(sizes.memory, key=lambda title: sizes.memory[title])
    assert "lineitem" in largest and sizes.memory[largest] >= contents["lineitem"].nbytes
    compact = memory.measure(spark, contents, query, chunk=400, compact=True)
    assert set(compact.disk) == set(sizes.disk)
    held, disk = memory.results("State", {view: sizes, "compact": compact})
    assert held.figure > 1 and disk.figure > 1 and largest in held.table()
    assert workers_private_bytes() != 0


def test_tpch_judges_the_mean_the_slowest_view_and_every_answer() -> None:
    def timing(refresh: float, wrong: list[str]) -> speed.Timing:
        return speed.Timing(9.0, {0.001: [refresh]}, [2.0], [0.1], [0.4], answers=2, wrong=wrong)

    alone = {"q01": timing(0.1, []), "q02": timing(0.4, ["q02 differs from Spark's answer"])}
    found = {result.name: result for result in speed.results(1, [0.001], alone, timing(0.5, []))}
    assert found["tpch"].figure == pytest.approx(10) and found["tpch-slowest"].figure == pytest.approx(5)
    assert found["tpch-duckdb-files"].figure == pytest.approx(2)
    assert found["tpch-duckdb"].figure == pytest.approx(0.5)
    assert found["tpch-load"].figure == 4.5
    answers = found["tpch-answers"]
    assert not answers.met and answers.notes == ["q02 differs from Spark's answer"] and "of 6" in answers.what


def test_latency_measures_all_views_at_both_paces_beside_spark(
    spark: SparkSession, contents: Mapping[str, pa.RecordBatch]
) -> None:
    middle, far = steps.measured(spark, contents, 2, "Steps", sizes=(1, 100))
    assert 0 < middle.figure <= far.figure
    kinds = [(row["changed rows"], row["pace"]) for row in middle.rows]
    assert kinds == [
        *[(1, "idle"), (1, "tight loop"), (100, "idle"), (100, "tight loop")] * 3,
        *[(100, "idle"), (100, "tight loop")],  # with one worker
        ("", ""),
        ("", ""),
    ]
    assert all(0 < row["p10 ms"] <= row["p50 ms"] <= row["p99 ms"] for row in middle.rows)


def test_startup_opens_nothing_and_a_state_that_was_made(spark: SparkSession, tmp_path: Path) -> None:
    assert probe.make(tmp_path / "state", 1.0, spark, chunk=1000) >= 1.0
    linked_copy(tmp_path / "state", tmp_path / "copy")
    for storage in (tmp_path / "new", tmp_path / "copy", tmp_path / "state"):
        parts = probe.start(storage, spark)
        timed = ["session", "planning", "workers", "restore", "first step", "second step"]
        assert list(parts) == [*timed, "read", "files"]
        assert all(number >= 0 for number in parts.values()) and parts["workers"] > 0
        assert parts["read"] > 0 or storage.name == "new"
