"""The queue of rows and files pushed since the last step, in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta
from penstock.circuit.operation import Operation
from penstock.errors import InputError, RowConflict
from penstock.pipeline.step_input import StepInput, pushed
from penstock.pipeline.tables import TableSchema
from penstock.schedule.files import FileInput
from penstock.zset import HashSeed

__all__ = ["Push", "Pushes", "Waiting"]


@dataclass(frozen=True)
class Push:
    """One call of insert, upsert or delete."""

    table: TableSchema
    operation: Operation
    delta: Delta


@dataclass(frozen=True)
class Waiting:
    """What was pushed for the next step."""

    pushes: tuple[Push, ...]
    files: tuple[tuple[str, FileInput], ...]

    @property
    def rows(self) -> int:
        """How many rows these are."""
        return sum(len(push.delta) for push in self.pushes) + sum(file.rows for _, file in self.files)

    @property
    def ids(self) -> Iterator[int]:
        """Identifies these pushes and files in the queue."""
        return map(id, (*self.pushes, *self.files))

    def step_input(self, at_us: int) -> StepInput:
        """All of it as the input of one step."""
        return StepInput.of([(push.table.name, push.delta) for push in self.pushes], at_us, self.files)


class Pushes:
    """A queue that any thread may add to. A push is validated before it gets here.

    What a step takes stays in the queue until it is known whether the step happened: then it is dropped, or
    put back."""

    def __init__(self, seed: HashSeed) -> None:
        self._seed = seed
        self._waiting: list[Push] = []
        self._files: list[tuple[str, FileInput]] = []
        self._taken: frozenset[int] = frozenset()  # by the step in progress; ids of entries in the queue
        self._lock = threading.Lock()

    @property
    def empty(self) -> bool:
        """Whether nothing is pending."""
        return not (self._waiting or self._files)

    def add(self, table: TableSchema, rows: pa.RecordBatch, operation: Operation) -> None:
        """Queues rows for the next step."""
        self._refuse_mixing(table, {file[0] for file in self._files if id(file) not in self._taken})
        push = Push(table, operation, pushed(table, rows, operation, self._seed))
        with self._lock:
            self._waiting.append(push)

    def add_file(self, table: TableSchema, file: FileInput) -> None:
        """Queues a file to be read in the next step."""
        pushes = {push.table.name for push in self._waiting if id(push) not in self._taken}
        self._refuse_mixing(table, pushes)
        with self._lock:
            self._files.append((table.name, file))

    @staticmethod
    def _refuse_mixing(table: TableSchema, others: set[str]) -> None:
        """The later of two rows with one key wins, and there is no order between a file and a push."""
        if table.keyed and table.name in others:
            raise InputError(table.name, "a file and pushed rows cannot go into one step; step in between")

    def waiting(self) -> Waiting:
        """Everything that is pending: rows and files."""
        with self._lock:
            return Waiting(tuple(self._waiting), tuple(self._files))

    def take(self) -> Waiting:
        """The same, for a step that begins."""
        taken = self.waiting()
        self._taken = frozenset(taken.ids)
        return taken

    def put_back(self) -> None:
        """The step did not happen: what it took stays pending for the next one."""
        self._taken = frozenset()

    def drop(self, done: Waiting) -> None:
        """Removes what is now part of a step, or must not become part of one. Idempotent."""
        gone = set(done.ids)
        with self._lock:
            self._waiting = [push for push in self._waiting if id(push) not in gone]
            self._files = [file for file in self._files if id(file) not in gone]
            self._taken = frozenset()

    def clear(self) -> int:
        """Drops everything that is pending; returns how many rows."""
        waiting = self.waiting()
        self.drop(waiting)
        return waiting.rows

    @staticmethod
    def located(conflict: RowConflict, pushes: Sequence[Push]) -> InputError:
        """The error with the number of the row, within the call that pushed it.

        Of equal rows the last one is named: it is the one too many."""
        for push in reversed(pushes):
            keys, deletes = push.delta.keys, push.operation is Operation.DELETE
            if push.table.name != conflict.table or keys is None or deletes != conflict.about_deletes:
                continue
            hit = np.flatnonzero((keys.hi == conflict.hi) & (keys.lo == conflict.lo))
            if len(hit):
                return InputError(conflict.table, conflict.reason, row=int(hit[-1]))
        return InputError(conflict.table, conflict.reason)
