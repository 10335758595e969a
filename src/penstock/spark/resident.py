"""The resident runtime: workers that stay up between steps, with their state in memory.

A step is one command to each worker and one reply from it; in between the workers exchange batches among
themselves. Accept and abort are sent without waiting for a reply: a worker adds the step to its state, and
merges, while the caller already continues. Nor does a step wait for a commit unless asked to: references to
what the workers wrote arrive with the reply to a later step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import PenstockError, PipelineError, WorkerLost
from penstock.schedule.message import Message, first_level
from penstock.schedule.opening import Opening, Written
from penstock.spark.faults import python_problem, rebuild_fault
from penstock.spark.gang import Gang, stop_gangs
from penstock.spark.runtime import Crew
from penstock.spark.wire import Frame
from penstock.sql.lost_jvm import with_jvm

__all__ = ["ResidentRuntime"]


class ResidentRuntime:
    """A :class:`~penstock.spark.runtime.Runtime` over a gang, which it starts and restarts as needed."""

    commits_every_step = False

    def __init__(self, spark: SparkSession, crew: Crew) -> None:
        self._spark, self._crew = spark, crew
        self._gang: Gang | None = None
        self._generation = 0  # how many gangs there have been
        self._pending = False
        self._written: list[dict[str, Any]] = []  # as it came: a worker may have failed

    def open(self, opening: Opening) -> None:
        if self._gang is None or not self._gang.alive:
            self.close()
            self._generation += 1
            self._gang = self._started()
        self._pending, self._written = False, []
        self._ask("open", opening=opening.to_json())

    def _started(self) -> Gang:
        try:
            with with_jvm():
                return Gang(self._spark, self._crew, self._generation)
        except WorkerLost as loss:
            # Otherwise the next gang would be lost as well.
            problem = python_problem(str(loss), self._spark.sparkContext.pythonExec)
            raise problem or loss from None

    def step(
        self, step: int, inputs: Sequence[Message], meanwhile: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        if not self._running.alive:
            raise WorkerLost("the workers are gone")
        if self._pending:
            raise PipelineError("the last step was neither accepted nor aborted")
        boxes: list[list[Message]] = [[] for _ in range(self._crew.workers)]
        for message in inputs:
            boxes[message.target].append(message)
        self._pending = True
        try:
            fields = {
                "step": step,
                "first": first_level(inputs),
                "routes": sorted({str(message.route) for message in inputs}),
            }
            replies = self._running.ask("step", fields, boxes, meanwhile)
        except WorkerLost:
            raise
        except PenstockError:
            with suppress(WorkerLost):  # the next step will notice; this error is the caller's
                self.abort()
            raise
        self._written += [frame.header["written"] for frame in replies if "written" in frame.header]
        return [frame.header["result"] for frame in replies]

    def accept(self) -> None:
        if not self._pending:
            raise PipelineError("there is no step to accept")
        self._pending = False
        self._running.tell("accept")

    def abort(self) -> None:
        if self._pending:
            self._pending = False
            self._running.tell("abort")

    def settle(self) -> None:
        self._ask("settle")

    def commit(self, version: int) -> list[Written]:
        return [Written.from_json(frame.header["result"]) for frame in self._ask("commit", version=version)]

    def begin_commit(self, version: int) -> None:
        self._written = []
        self._running.tell("write", {"version": version})

    def written(self) -> list[Written] | None:
        for found in self._written:
            if "fault" in found:
                raise rebuild_fault(found["fault"], found["worker"])
        if len(self._written) < self._crew.workers:
            return None
        return [Written.from_json(found) for found in self._written]

    def finish_commit(self) -> list[Written]:
        return [Written.from_json(frame.header["result"]) for frame in self._ask("finish_commit")]

    def committed(self, version: Opening) -> None:
        """Nothing to do: the workers hold the state that was committed, and know their own segments."""

    def read(self, name: str) -> pa.Table:
        replies: list[Frame] = []
        low: list[int | None] = [0] * self._crew.workers
        while any(word is not None for word in low):
            found = self._ask("read", name=name, low=low)
            low = [frame.header["next_low"] for frame in found]
            replies += found
        return _table(replies)

    def changes(self, view: str, since: int) -> pa.Table:
        return _table(self._ask("changes", view=view, since=since))

    def close(self) -> None:
        self._pending = False
        stop_gangs(self._crew)
        self._gang = None

    def _ask(self, do: str, **fields: object) -> list[Frame]:
        return self._running.ask(do, fields)

    @property
    def _running(self) -> Gang:
        if self._gang is None:
            raise PipelineError("the workers have not been started")
        return self._gang


def _table(replies: Sequence[Frame]) -> pa.Table:
    return pa.Table.from_batches([message.batch for frame in replies for message in frame.messages])
