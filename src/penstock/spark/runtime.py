"""The interface between the coordinator and its workers, however they run.

A *runtime* holds W workers at a version of the state and takes them through steps in lockstep. The
coordinator decides what a step's input is, what is durable and what is retried; the runtime only runs. The
same calls in the same order give the same results on every runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from penstock.schedule.message import Message, Route
from penstock.schedule.opening import Opening, Written
from penstock.schedule.worker import Reading

__all__ = ["Crew", "Runtime", "StepWorker", "Writing", "rows_of"]


class Writing(Protocol):
    """What a commit has to write; it may be called from any thread."""

    def write(self) -> Written: ...


class StepWorker(Protocol):
    """What a runtime uses of a :class:`penstock.schedule.Worker`. Protocol tests use a simpler one."""

    def merge_in_passing(self) -> None: ...
    def open(self, opening: Opening) -> None: ...
    def begin(self, step: int, inputs: Sequence[Message]) -> None: ...
    def exchanging(self, routes: Collection[Route]) -> Collection[int]: ...
    def run_level(self, level: int, inbox: Sequence[Message]) -> list[Message]: ...
    def finish(self) -> dict[str, Any]: ...
    def accept(self) -> None: ...
    def abort(self) -> None: ...
    def continue_merging(self) -> bool: ...
    def settle(self) -> None: ...
    def snapshot(self, version: int) -> Writing: ...
    def flush_level(self, version: int, level: int) -> Written: ...
    def read(self, name: str, low: int) -> Reading: ...
    def changes(self, view: str, since: int) -> list[pa.RecordBatch]: ...


def rows_of(worker: StepWorker, name: str) -> Iterator[pa.RecordBatch]:
    """All rows of a table or view that a worker has: at least one batch."""
    low: int | None = 0
    while low is not None:
        reading = worker.read(name, low)
        yield from reading.batches
        low = reading.next_low


@dataclass(frozen=True, slots=True)
class Crew:
    """The workers: ``factory(index)`` makes worker ``index`` in the process it will live in.

    Spark ships the factory to the executors (with its own serialiser), so it must be picklable and cheap to
    ship: the program and the location of the state, never the state itself.
    """

    name: str
    workers: int
    levels: int
    factory: Callable[[int], StepWorker]
    memory: int | None = None
    """The bytes that the state of a worker may take, if the user said so."""


class Runtime(Protocol):
    """W workers, ready to run steps. All methods are called from one thread at a time.

    ``commits_every_step``: the runtime keeps nothing in memory between steps, so each accepted step must be
    committed before the next one.
    """

    commits_every_step: bool

    def open(self, opening: Opening) -> None:
        """Bring all workers to the state of this version, starting them if needed."""

    def step(
        self, step: int, inputs: Sequence[Message], meanwhile: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        """Run one step on all workers and return each one's report. ``meanwhile`` is called once, if the
        workers can be reached, while they work.

        The step is then pending until :meth:`accept` or :meth:`abort`. If a worker fails, all abort, the
        error is raised here as it was raised there, and the runtime is in the state before the step.
        :class:`~penstock.errors.WorkerLost` means that the workers are gone: :meth:`open` starts new ones.
        """

    def accept(self) -> None:
        """Accept the pending step."""

    def abort(self) -> None:
        """Drop the pending step, if there is one."""

    def settle(self) -> None:
        """Wait until the workers have finished background merging."""

    def commit(self, version: int) -> list[Written]:
        """Make the accepted state durable, as part of ``version``; returns what each worker wrote."""

    def begin_commit(self, version: int) -> None:
        """The same without waiting. Steps continue; eventually one of them brings what :meth:`written`
        returns. The next commit may begin when the manifest of this one is published, or has been given
        up."""

    def written(self) -> list[Written] | None:
        """What :meth:`commit` would have returned, once every worker has reported it. An error that a worker
        had while writing is raised here."""

    def finish_commit(self) -> list[Written]:
        """The same, but waits for it."""

    def committed(self, version: Opening) -> None:
        """The version is published: it is the state as it is now."""

    def read(self, name: str) -> pa.Table:
        """The contents of a table or view after the last accepted step."""

    def changes(self, view: str, since: int) -> pa.Table:
        """The changes of a view in the steps after ``since``."""

    def close(self) -> None:
        """Release the workers. Safe to call again, and in any state."""
