"""What the coordinator asks of its workers, however they run.

A *runtime* holds W workers at a version of the state and takes them through steps in lockstep. The
coordinator decides what a step's input is, what is durable and what is retried; the runtime only runs.
The same calls in the same order give the same results on every runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from penstock.schedule.message import Message

__all__ = ["Crew", "Runtime", "StepWorker", "Writing"]


class Writing(Protocol):
    """What a commit has to write; any thread may do it."""

    def write(self) -> dict[str, Any]: ...


class StepWorker(Protocol):
    """What a runtime uses of a :class:`penstock.schedule.Worker`. Protocol tests bring a simpler one."""

    def merge_in_passing(self) -> None: ...
    def open(self, body: Mapping[str, Any]) -> None: ...
    def begin(self, step: int, inputs: Sequence[Message]) -> None: ...
    def exchanging(self, edges: Sequence[int]) -> Collection[int]: ...
    def run_level(self, level: int, inbox: Sequence[Message]) -> list[Message]: ...
    def finish(self) -> dict[str, Any]: ...
    def accept(self) -> None: ...
    def abort(self) -> None: ...
    def tidy(self) -> bool: ...
    def settle(self) -> None: ...
    def snapshot(self, version: int) -> Writing: ...
    def flush_level(self, version: int, level: int) -> dict[str, Any]: ...
    def read(self, name: str) -> pa.RecordBatch: ...
    def changes(self, view: str, since: int) -> pa.RecordBatch: ...


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does the work: ``factory(index)`` makes worker ``index`` in the process it will live in.

    Spark ships the factory to the executors (with its own serialiser), so it must be picklable and cheap to
    ship: the program and where the state is, never the state.
    """

    name: str
    workers: int
    levels: int
    factory: Callable[[int], StepWorker]


class Runtime(Protocol):
    """W workers, ready to run steps. All methods are called from one thread at a time.

    ``commits_every_step``: the runtime keeps nothing in memory between steps, so each accepted step must be
    committed before the next one.
    """

    commits_every_step: bool

    def open(self, body: Mapping[str, Any]) -> None:
        """Bring all workers to the state of this manifest body, starting them if needed. The body says its
        ``version`` too, and which arrangements are new (``opening``)."""

    def step(
        self, step: int, inputs: Sequence[Message], meanwhile: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        """Run one step on all workers and return each one's report. ``meanwhile`` is called once, if the
        workers can be reached, while they work.

        The step is then pending until :meth:`accept` or :meth:`abort`. If a worker fails, all abort, the
        error is raised here as it was raised there, and the runtime stands as it stood before the step.
        :class:`~penstock.errors.WorkerLost` means that the workers are gone: :meth:`open` starts new ones.
        """

    def accept(self) -> None:
        """Keep the pending step."""

    def abort(self) -> None:
        """Forget the pending step, if there is one."""

    def settle(self) -> None:
        """Wait until the workers have merged what steps left for later."""

    def commit(self, version: int) -> list[dict[str, Any]]:
        """Make what was accepted durable; the references to put into the manifest of ``version``."""

    def begin_commit(self, version: int) -> None:
        """The same without waiting for it. Steps go on; sooner or later one of them has brought what
        :meth:`written` returns. The next commit may begin when the manifest of this one is there, or is never
        to be."""

    def written(self) -> list[dict[str, Any]] | None:
        """What :meth:`commit` would have returned, once every worker has said it. An error that a worker met
        while writing is raised here."""

    def finish_commit(self) -> list[dict[str, Any]]:
        """The same, and waits for it."""

    def committed(self, version: int, body: Mapping[str, Any]) -> None:
        """The manifest of ``version`` is published: its body describes the state as it is now."""

    def read(self, name: str) -> pa.Table:
        """The contents of a table or view after the last accepted step."""

    def changes(self, view: str, since: int) -> pa.Table:
        """The changes of a view in the steps after ``since``."""

    def close(self) -> None:
        """Let the workers go. Safe to call again, and in any state."""
