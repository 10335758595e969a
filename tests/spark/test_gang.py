"""A gang: the toy workers as tasks of one barrier job, asked and told directly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, EvaluationError, PipelineError, WorkerLost
from penstock.schedule.message import Message
from penstock.schedule.opening import Opening
from penstock.spark.gang import Gang
from tests.spark import toy
from tests.spark.toy import numbers


@pytest.fixture
def gang(spark: SparkSession, tmp_path: Path) -> Iterator[Gang]:
    gang = Gang(spark, toy.toy_crew(tmp_path, 2), 1)
    yield gang
    gang.stop()


def step(gang: Gang, number: int, *values: list[int], **options: Any) -> list[dict[str, Any]]:
    """A step with numbers for each worker; what each says of it."""
    boxes: list[list[Message]] = [[numbers(some, worker)] for worker, some in enumerate(values)]
    fields = {"step": number, "first": 0, "routes": ["edge:0"]}
    return [frame.header["result"] for frame in gang.ask("step", fields, boxes, **options)]


def counted(gang: Gang) -> dict[int, int]:
    frames = gang.ask("read", {"name": "counts", "low": [0, 0, 0, 0]})
    parts = [message.batch.to_pylist() for frame in frames for message in frame.messages]
    return {row["key"]: row["value"] for part in parts for row in part}


def test_workers_reply_in_their_order_whoever_is_first(gang: Gang) -> None:
    gang.ask("open", {"opening": Opening().to_json()})
    replies = step(gang, 1, [0, toy.SLEEPS + 1], [1])  # an even number: worker 0 sleeps over it
    assert [reply["worker"] for reply in replies] == [0, 1]
    assert len({reply["process"] for reply in replies}) == 2


def test_what_is_told_is_done_before_what_is_asked_next(gang: Gang) -> None:
    gang.ask("open", {"opening": Opening().to_json()})
    step(gang, 1, [1, 2], [1])
    gang.tell("accept")
    assert counted(gang) == {1: 2, 2: 1}
    step(gang, 2, [7], [])
    gang.tell("abort")
    assert counted(gang) == {1: 2, 2: 1}


def test_of_several_failures_the_first_level_counts_whatever_the_timing(gang: Gang) -> None:
    gang.ask("open", {"opening": Opening().to_json()})
    for values in (([toy.FAILS_AT_0], [toy.FAILS_AT_BEGIN + 1, toy.FAILS_AT_2]), ([toy.FAILS_AT_0], [4])):
        with pytest.raises(EvaluationError) as raised:
            step(gang, 1, *values)
        assert raised.value.message == "level 0"
        assert gang.alive
        gang.tell("abort")
    step(gang, 1, [1], [2])  # all stood still, and go on
    gang.tell("accept")
    assert counted(gang) == {1: 1, 2: 1}


def test_a_command_that_workers_refuse_does_not_end_the_gang(gang: Gang) -> None:
    with pytest.raises(PipelineError, match="not been opened"):
        gang.ask("read", {"name": "counts", "low": [0, 0, 0, 0]})
    assert gang.alive
    gang.ask("open", {"opening": Opening().to_json()})
    assert counted(gang) == {}


def test_the_driver_works_while_the_workers_do(gang: Gang) -> None:
    gang.ask("open", {"opening": Opening().to_json()})
    done: list[str] = []
    step(gang, 1, [1], [2], meanwhile=lambda: done.append("meanwhile"))
    assert done == ["meanwhile"]


def test_a_conversation_that_was_broken_off_ends_the_gang(gang: Gang) -> None:
    gang.ask("open", {"opening": Opening().to_json()})

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        step(gang, 1, [1], [2], meanwhile=interrupted)
    assert not gang.alive
    for use in (lambda: gang.ask("settle"), lambda: gang.tell("accept")):
        with pytest.raises(WorkerLost, match="the workers are gone"):
            use()


def test_a_worker_that_dies_takes_the_gang_with_it(gang: Gang) -> None:
    gang.ask("open", {"opening": Opening().to_json()})
    with pytest.raises(WorkerLost):
        step(gang, 1, [toy.KILLS], [1])
    assert not gang.alive


def test_a_gang_that_was_stopped_gives_its_slots_back(spark: SparkSession, tmp_path: Path) -> None:
    first = Gang(spark, toy.toy_crew(tmp_path, 6), 1)
    try:
        with pytest.raises(EnvironmentProblem, match="6 held"):
            Gang(spark, toy.toy_crew(tmp_path, 6), 2)
    finally:
        first.stop()
    first.stop()
    assert not first._job.is_alive() and first._failure is None
    second = Gang(spark, toy.toy_crew(tmp_path, 6), 2)
    second.ask("open", {"opening": Opening().to_json()})
    second.stop()
