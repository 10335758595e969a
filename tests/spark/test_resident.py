"""Resident workers: steps, errors, deaths and restarts, with the toy worker on a real barrier job."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock.errors import (
    EnvironmentProblem,
    EvaluationError,
    InputError,
    PenstockError,
    PipelineError,
    WorkerLost,
)
from penstock.schedule.opening import Opening
from penstock.spark.line import call
from penstock.spark.resident import ResidentRuntime
from tests.spark import toy
from tests.spark.toy import numbers, opening_of, rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("toy")


@pytest.fixture(scope="module")
def two(spark: SparkSession, folder: Path) -> Iterator[ResidentRuntime]:
    """Two workers that most tests share; each test opens them afresh."""
    runtime = ResidentRuntime(spark, toy.toy_crew(folder, 2))
    yield runtime
    runtime.close()


def run(runtime: ResidentRuntime, step: int, values: list[int]) -> list[dict[str, object]]:
    """A step whose numbers arrive at different workers."""
    boxes = [numbers(values[0::2], 0), numbers(values[1::2], 1)]
    reports = runtime.step(step, boxes)
    runtime.accept()
    return reports


def totals(values: list[int]) -> list[tuple[int, int]]:
    sums: Counter[int] = Counter()
    for value in values:
        sums[value // 10] += value
    return sorted(sums.items())


@pytest.mark.parametrize("workers", [1, 3])
def test_the_result_does_not_depend_on_the_number_of_workers(
    spark: SparkSession, folder: Path, workers: int
) -> None:
    runtime = ResidentRuntime(spark, toy.toy_crew(folder, workers))
    try:
        runtime.open(Opening())
        values = np.random.default_rng(7).integers(0, 500, 2000).tolist()
        for step in range(10):
            runtime.step(step, [numbers(values[step::10], step % workers)])
            runtime.accept()
        assert rows(runtime.read("counts")) == sorted(Counter(values).items())
        assert rows(runtime.read("totals")) == totals(values)
    finally:
        runtime.close()


def test_each_worker_is_a_process_that_stays(two: ResidentRuntime) -> None:
    two.open(Opening())
    first, second = run(two, 1, [1, 2]), run(two, 2, [3, 4])
    assert [report["worker"] for report in first] == [0, 1]
    assert [report["process"] for report in first] == [report["process"] for report in second]
    assert len({os.getpid(), *(report["process"] for report in first)}) == 3


def test_large_steps_go_through_in_both_directions(two: ResidentRuntime) -> None:
    two.open(Opening())
    values = np.arange(6_000_000) % 1000
    two.step(1, [numbers(values[:3_000_000], 0), numbers(values[3_000_000:], 1)])
    two.accept()
    assert rows(two.read("counts")) == [(n, 6000) for n in range(1000)]


@pytest.mark.parametrize(
    ("unlucky", "error"),
    [
        (toy.FAILS_AT_BEGIN, InputError("numbers", "an unlucky number", row=3, column="number")),
        (toy.FAILS_AT_0, EvaluationError("UNLUCKY", "level 0", view="totals", expression="x + 1")),
        (toy.FAILS_AT_1, EvaluationError("UNLUCKY", "level 1", view="totals", expression="x + 1")),
        (toy.FAILS_AT_2, EvaluationError("UNLUCKY", "level 2", view="totals", expression="x + 1")),
        (toy.FAILS_AT_FINISH, EvaluationError("UNLUCKY", "finish")),
    ],
    ids=["begin", "level 0", "level 1", "last level", "finish"],
)
def test_a_step_that_fails_anywhere_never_happened(
    two: ResidentRuntime, unlucky: int, error: PenstockError
) -> None:
    two.open(Opening())
    run(two, 1, [1, 2, 3])
    with pytest.raises(type(error)) as caught:
        two.step(2, [numbers([5, unlucky], 0), numbers([6, 7, toy.SLEEPS], 1)])
    assert vars(caught.value) == vars(error)
    run(two, 2, [4])
    assert rows(two.read("counts")) == [(1, 1), (2, 1), (3, 1), (4, 1)]


def test_an_unexpected_error_names_the_worker_and_shows_its_traceback(two: ResidentRuntime) -> None:
    two.open(Opening())
    with pytest.raises(PipelineError, match=r"(?s)worker 1 failed.*not on purpose.*ZeroDivisionError"):
        two.step(1, [numbers([toy.CRASHES], 0)])
    run(two, 1, [4])
    assert rows(two.read("counts")) == [(4, 1)]


def test_an_aborted_step_leaves_nothing(two: ResidentRuntime) -> None:
    two.open(Opening())
    two.step(1, [numbers([1], 0)])
    two.abort()
    run(two, 1, [2])
    assert rows(two.read("counts")) == [(2, 1)]
    assert rows(two.changes("counts", 0)) == [(1, 2, 1)]


def test_a_step_must_be_accepted_or_aborted_before_the_next(two: ResidentRuntime) -> None:
    two.open(Opening())
    with pytest.raises(PipelineError, match="no step to accept"):
        two.accept()
    two.step(1, [])
    with pytest.raises(PipelineError, match="neither accepted nor aborted"):
        two.step(2, [])
    two.accept()


def test_what_was_committed_is_there_after_a_restart_and_nothing_else(two: ResidentRuntime) -> None:
    two.open(Opening())
    run(two, 1, [1, 2, 3])
    stored = opening_of(two.commit(1))
    run(two, 2, [4])
    two.close()
    two.open(stored)
    assert rows(two.read("counts")) == [(1, 1), (2, 1), (3, 1)]
    run(two, 2, [5])
    assert rows(two.changes("counts", 1)) == [(2, 5, 1)]


def test_a_worker_that_dies_in_a_step_is_noticed_and_the_next_generation_works(two: ResidentRuntime) -> None:
    two.open(Opening())
    run(two, 1, [1])
    stored, generation = opening_of(two.commit(1)), two._generation
    with pytest.raises(WorkerLost):
        two.step(2, [numbers([toy.KILLS], 0)])
    with pytest.raises(WorkerLost):
        two.read("counts")
    two.open(stored)
    assert two._generation == generation + 1
    run(two, 2, [2])
    assert rows(two.read("counts")) == [(1, 1), (2, 1)]


def test_a_worker_killed_between_steps_is_noticed_within_a_second(two: ResidentRuntime) -> None:
    two.open(Opening())
    process = run(two, 1, [1])[1]["process"]
    assert isinstance(process, int)
    os.kill(process, signal.SIGKILL)
    killed = time.monotonic()
    with pytest.raises(WorkerLost, match="worker"):
        while time.monotonic() - killed < 10:
            two.read("counts")
    assert time.monotonic() - killed < 1.0
    two.open(Opening())
    assert rows(two.read("counts")) == []


def test_nobody_joins_without_the_secret_or_from_another_generation(two: ResidentRuntime) -> None:
    two.open(Opening())
    assert two._gang is not None
    address, secret = two._gang._rendezvous.address, two._gang._secret
    for word, generation in (("wrong", two._generation), (secret, two._generation - 1)):
        hello = {"generation": generation, "worker": 0, "location": None, "process": "an intruder"}
        line = call(address, word, hello)
        with suppress(ConnectionResetError):
            assert line.receive() is None, "it was hung up on"
        line.close()
    assert two._gang._rendezvous.arrivals.empty()
    run(two, 1, [1])
    assert rows(two.read("counts")) == [(1, 1)]


def test_too_few_slots_are_an_error_at_once(spark: SparkSession, folder: Path, two: ResidentRuntime) -> None:
    two.open(Opening())
    started = time.monotonic()
    with pytest.raises(EnvironmentProblem, match=r"8 resident workers.*has 10, 2 held.*local\[12\]"):
        ResidentRuntime(spark, toy.toy_crew(folder, 8)).open(Opening())
    assert time.monotonic() - started < 5


def test_ordinary_jobs_run_beside_the_gang(spark: SparkSession, two: ResidentRuntime) -> None:
    two.open(Opening())
    assert spark.range(1000).selectExpr("sum(id)").first()[0] == 499500


def test_closing_ends_the_job_normally_and_again_does_nothing(
    spark: SparkSession, two: ResidentRuntime
) -> None:
    two.open(Opening())
    gang = two._gang
    assert gang is not None
    processes = [report["process"] for report in run(two, 1, [1])]
    two.close()
    two.close()
    assert gang._failure is None and not gang._job.is_alive()
    assert len(processes) == 2
    with pytest.raises(PipelineError, match="not been started"):
        two.read("counts")
