"""What the tasks of a staged step do.

The task of worker w at level L builds the worker from the last version, runs that one level on the messages
of the level before, immediately writes what the level's operators add to the state, and sends on its
messages, the references to what it wrote, and its report. A worker keeps nothing between levels except what
travels in rows, so tasks may run anywhere, be retried, or run twice: segment names are unique, and only the
references that reach the driver count.

An error caused by the data is passed through the levels as a row to every worker, and stops each of them. Any
other error fails the task, for Spark to retry.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.errors import PenstockError, PipelineError, StorageError
from penstock.schedule.message import Message
from penstock.schedule.opening import Opening
from penstock.spark.faults import describe_fault
from penstock.spark.rows import Row, decode_batch, json_row, message_rows, pack, unpack
from penstock.spark.runtime import Crew, StepWorker

__all__ = ["Fed", "Level", "Task", "Together"]

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class _Stage:
    """The version to open, as JSON (it is shipped with each task), and the step to run on it."""

    crew: Crew
    opening: str
    version: int
    step: int

    def opened(self, indexes: Iterable[int]) -> list[StepWorker]:
        """New workers at that version."""
        opening = Opening.from_json(json.loads(self.opening))
        workers = [self.crew.factory(index) for index in indexes]
        for worker in workers:
            worker.open(opening)
        return workers


@dataclass(frozen=True, slots=True)
class Level(_Stage):
    """One level on the workers whose rows a task receives; the first one gets the step's inputs."""

    level: int
    first: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = unpack(batches)
        for target in sorted({row.target for row in rows}):
            yield from pack(self._run(target, [row for row in rows if row.target == target]))

    def _run(self, index: int, rows: Sequence[Row]) -> list[Row]:
        onward = [row for row in rows if row.kind not in ("message", "start")]
        if any(row.kind == "error" for row in rows):
            return onward
        inbox = [row.message() for row in rows if row.kind == "message"]
        try:
            return onward + self._work(index, inbox)
        except StorageError:
            raise
        except PenstockError as error:
            content = describe_fault(error) | {"level": self.level, "worker": index}
            return onward + [json_row(w, index, "error", content) for w in range(self.crew.workers)]

    def _work(self, index: int, inbox: Sequence[Message]) -> list[Row]:
        [worker] = self.opened([index])
        begins = self.level == self.first
        worker.begin(self.step, inbox if begins else ())
        outgoing = worker.run_level(self.level, () if begins else inbox)
        if outgoing and self.level == self.crew.levels - 1:
            raise PipelineError("the last level has nobody to send to; this is a bug in Penstock")
        report = worker.finish()
        written = worker.flush_level(self.version, self.level)
        return [
            *(row for message in outgoing for row in message_rows(message, index)),
            json_row(index, index, "written", written.to_json()),
            json_row(index, index, "report", report),
        ]


@dataclass(frozen=True, slots=True)
class Together(_Stage):
    """All levels of all workers in one task, for a step too small to be worth a shuffle."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        inboxes: dict[int, list[Message]] = defaultdict(list)
        for row in unpack(batches):
            if row.kind == "message":
                inboxes[row.target].append(row.message())
        try:
            rows = self._work(inboxes)
        except StorageError:
            raise
        except PenstockError as error:
            rows = [json_row(0, 0, "error", describe_fault(error) | {"level": 0, "worker": 0})]
        yield from pack(rows)

    def _work(self, inboxes: dict[int, list[Message]]) -> list[Row]:
        workers = self.opened(range(self.crew.workers))
        for index, worker in enumerate(workers):
            worker.begin(self.step, inboxes.pop(index, ()))
        for level in range(self.crew.levels):
            outgoing = [worker.run_level(level, inboxes.get(w, ())) for w, worker in enumerate(workers)]
            inboxes = defaultdict(list)
            for message in (message for messages in outgoing for message in messages):
                inboxes[message.target].append(message)
        rows = [json_row(w, w, "report", worker.finish()) for w, worker in enumerate(workers)]
        for index, worker in enumerate(workers):
            worker.accept()
            written = worker.snapshot(self.version).write()
            rows.append(json_row(index, index, "written", written.to_json()))
        return rows


@dataclass(frozen=True, slots=True)
class Fed:
    """Runs a task on rows shipped with it: partition n, which is the row n, gets ``boxes[n]``.

    This way the first level needs no shuffle. Spark broadcasts large closures by itself.
    """

    task: Task
    boxes: tuple[tuple[bytes, ...], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return self.task(decode_batch(payload) for number in numbers for payload in self.boxes[number])
