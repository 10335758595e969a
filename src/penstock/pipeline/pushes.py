"""What was pushed since the last step, in order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta
from penstock.circuit.keyed import DELETE
from penstock.errors import InputError, RowConflict
from penstock.pipeline.step_input import pushed
from penstock.pipeline.tables import TableSchema
from penstock.schedule.files import FileInput
from penstock.zset import HashSeed

__all__ = ["Push", "Pushes"]


@dataclass(frozen=True)
class Push:
    """One call of insert, upsert or delete."""

    table: TableSchema
    delta: Delta


class Pushes:
    """A queue that any thread may add to. A push is validated before it gets here."""

    def __init__(self, seed: HashSeed) -> None:
        self._seed = seed
        self._waiting: list[Push] = []
        self._files: list[tuple[str, FileInput]] = []
        self._lock = threading.Lock()

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not (self._waiting or self._files)

    def add(self, table: TableSchema, rows: pa.RecordBatch, operation: int) -> None:
        """Queues rows for the next step."""
        self._refuse_mixing(table, {name for name, _ in self._files})
        push = Push(table, pushed(table, rows, operation, self._seed))
        with self._lock:
            self._waiting.append(push)

    def add_file(self, table: TableSchema, file: FileInput) -> None:
        """Queues a file to be read in the next step."""
        self._refuse_mixing(table, {push.table.name for push in self._waiting})
        with self._lock:
            self._files.append((table.name, file))

    @staticmethod
    def _refuse_mixing(table: TableSchema, others: set[str]) -> None:
        """Of two rows with one key the later one counts, and between a file and a push there is no order."""
        if table.keyed and table.name in others:
            raise InputError(table.name, "a file and pushed rows cannot go into one step; step in between")

    def take(self) -> tuple[list[Push], list[tuple[str, FileInput]]]:
        """Everything that waits: rows and files."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            files, self._files = self._files, []
        return waiting, files

    def clear(self) -> int:
        """Forgets everything that waits; returns how many rows."""
        pushes, files = self.take()
        return sum(len(push.delta) for push in pushes) + sum(file.rows for _, file in files)

    @staticmethod
    def located(conflict: RowConflict, pushes: Sequence[Push]) -> InputError:
        """The error with the number of the row, within the call that pushed it.

        Of equal rows the last one is named: it is the one too many."""
        for push in reversed(pushes):
            keys, weights = push.delta.keys, push.delta.zset.weights
            if push.table.name != conflict.table or keys is None:
                continue
            wrong = weights < 0 if conflict.about_deletes else weights != DELETE
            hit = np.flatnonzero((keys.hi == conflict.hi) & (keys.lo == conflict.lo) & wrong)
            if len(hit):
                return InputError(conflict.table, conflict.reason, row=int(hit[-1]))
        return InputError(conflict.table, conflict.reason)
