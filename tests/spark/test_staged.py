"""A staged step gives what a resident one gives: in stages, and all in one task."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock.errors import EvaluationError, InputError, PipelineError, WorkerLost
from penstock.spark.resident import ResidentRuntime
from penstock.spark.runtime import Runtime
from penstock.spark.staged import StagedRuntime
from tests.spark import toy
from tests.spark.toy import numbers, opening_of, rows

IN_STAGES, IN_ONE_TASK = 0, 1 << 40


class Committing:
    """What a coordinator does with a runtime: every step is accepted and committed."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.stored = opening_of([])
        runtime.open(self.stored)

    def step(self, step: int, values: list[int]) -> list[dict[str, Any]]:
        reports = self.runtime.step(step, [numbers(values[0::2], 0), numbers(values[1::2], 1)])
        self.runtime.accept()
        version = self.stored.version + 1
        self.stored = opening_of(self.runtime.commit(version), self.stored, version)
        self.runtime.committed(self.stored)
        return reports


@pytest.mark.parametrize("tiny_bytes", [IN_STAGES, IN_ONE_TASK], ids=["in stages", "in one task"])
def test_staged_equals_resident(spark: SparkSession, tmp_path: Path, tiny_bytes: int) -> None:
    crew = toy.toy_crew(tmp_path, 2)
    resident_runtime = ResidentRuntime(spark, crew)
    staged = Committing(StagedRuntime(spark, crew, tiny_bytes=tiny_bytes))
    random = np.random.default_rng(3)
    try:
        resident = Committing(resident_runtime)
        for step in range(1, 4):
            values = random.integers(0, 300, 50 * step).tolist()
            mine, theirs = staged.step(step, values), resident.step(step, values)
            assert [report["worker"] for report in mine] == [report["worker"] for report in theirs]
            for view in toy.VIEWS:
                assert rows(staged.runtime.read(view)) == rows(resident.runtime.read(view)) != []
        assert rows(staged.runtime.changes("totals", 1)) == rows(resident.runtime.changes("totals", 1)) != []
    finally:
        resident_runtime.close()


@pytest.mark.parametrize("tiny_bytes", [IN_STAGES, IN_ONE_TASK], ids=["in stages", "in one task"])
def test_a_failed_staged_step_never_happened(spark: SparkSession, tmp_path: Path, tiny_bytes: int) -> None:
    staged = Committing(StagedRuntime(spark, toy.toy_crew(tmp_path, 2), tiny_bytes=tiny_bytes))
    staged.step(1, [1, 2, 3])
    with pytest.raises(EvaluationError) as caught:
        staged.step(2, [toy.FAILS_AT_1, 5])
    assert (caught.value.condition, caught.value.view) == ("UNLUCKY", "totals")
    with pytest.raises(InputError, match="row 3, column number"):
        staged.step(2, [toy.FAILS_AT_BEGIN, 5])
    with pytest.raises(PipelineError, match="ZeroDivisionError: not on purpose"):
        staged.step(2, [toy.CRASHES])
    with pytest.raises(WorkerLost, match="died"):
        staged.step(2, [toy.KILLS])
    staged.step(2, [4])
    assert rows(staged.runtime.read("counts")) == [(1, 1), (2, 1), (3, 1), (4, 1)]


def test_numbers_that_levels_count_by_name_add_up_in_the_report(spark: SparkSession, tmp_path: Path) -> None:
    staged = Committing(StagedRuntime(spark, toy.toy_crew(tmp_path, 2), tiny_bytes=IN_STAGES))
    reports = staged.step(1, [1, 2, 11])
    assert [report["worker"] for report in reports] == [0, 1]
    assert sum((Counter(report["views"]) for report in reports), Counter()) == {"counts": 3, "totals": 2}


def test_a_staged_step_is_one_job_with_a_stage_for_each_level(spark: SparkSession, tmp_path: Path) -> None:
    context = spark.sparkContext
    context.setJobGroup("staged-test", "before")
    try:
        Committing(StagedRuntime(spark, toy.toy_crew(tmp_path, 2), tiny_bytes=IN_STAGES)).step(1, [1])
        jobs = context.statusTracker().getJobIdsForGroup("staged-test")
        assert len(jobs) == 1
        info = context.statusTracker().getJobInfo(jobs[0])
        assert info is not None and len(info.stageIds) == toy.LEVELS
        assert context.getLocalProperty("spark.job.description") == "before"
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)


def test_reading_needs_no_spark_job(spark: SparkSession, tmp_path: Path) -> None:
    staged = Committing(StagedRuntime(spark, toy.toy_crew(tmp_path, 2)))
    staged.step(1, [1, 2, 11])
    context = spark.sparkContext
    context.setJobGroup("reading-test", "reading")
    try:
        assert rows(staged.runtime.read("counts")) == [(1, 1), (2, 1), (11, 1)]
        assert rows(staged.runtime.changes("totals", 0)) == [(1, 0, 3), (1, 1, 11)]
        assert not context.statusTracker().getJobIdsForGroup("reading-test")
        staged.step(2, [2])
        assert rows(staged.runtime.read("counts")) == [(1, 1), (2, 2), (11, 1)]
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)


def test_a_message_beyond_the_size_of_a_row_is_cut_and_arrives_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    staged = Committing(StagedRuntime(spark, toy.toy_crew(tmp_path, 2)))
    values = (np.arange(10_000_000) % 100).tolist()
    staged.step(1, values)
    assert rows(staged.runtime.read("counts")) == [(n, 100_000) for n in range(100)]


def test_a_staged_step_must_be_committed_before_the_next(spark: SparkSession, tmp_path: Path) -> None:
    runtime = StagedRuntime(spark, toy.toy_crew(tmp_path, 2))
    with pytest.raises(PipelineError, match="not been opened"):
        runtime.step(1, [])
    runtime.open(opening_of([]))
    assert runtime.commit(1) == []
    runtime.step(1, [numbers([1], 0)])
    with pytest.raises(PipelineError, match="neither accepted"):
        runtime.step(2, [])
    runtime.abort()
    with pytest.raises(PipelineError, match="no step to accept"):
        runtime.accept()
    runtime.step(1, [numbers([2], 0)])
    runtime.accept()
    with pytest.raises(PipelineError, match="neither accepted"):
        runtime.step(2, [])
