"""Builds a batch from tuples: rows in any order, some of which may be equal.

Rows are sorted in chunks as they come, and chunks of similar size are merged, as in a spine. So rows that
cancel out are gone early, the memory needed is that of what is left and one chunk, and each row is merged a
logarithmic number of times.
"""

from __future__ import annotations

import numpy as np

from penstock.trace.batch import Batch, merge_batches, sum_of
from penstock.trace.scan import PIECE

__all__ = ["TupleBuilder"]


class TupleBuilder:
    """Builds a batch from rows in any order, some of which may be equal.

    ``columns`` is a batch of the same kind, of which only the columns matter. ``rows`` is the size of a
    chunk."""

    def __init__(self, columns: Batch, *, rows: int = PIECE) -> None:
        self._none = columns.take(np.empty(0, np.int64))
        self._rows = rows
        self._pending: list[Batch] = []
        self._sorted: list[Batch] = []

    def push(self, rows: Batch) -> None:
        """Adds rows that use the columns of a batch and need not be one. They must not change any more."""
        if rows.kind is not self._none.kind or len(rows.values) != len(self._none.values):
            raise ValueError(
                f"rows of an {rows.kind.value} with {len(rows.values)} values do not belong in an "
                f"{self._none.kind.value} with {len(self._none.values)}"
            )
        self._pending.append(rows)
        if sum(map(len, self._pending)) >= self._rows:
            self._sort()

    def done(self) -> Batch:
        """The sum of all rows, sorted and consolidated. The builder is empty afterwards."""
        self._sort()
        chunks, self._sorted = self._sorted, []
        return merge_batches(chunks or [self._none])

    def _sort(self) -> None:
        pending, self._pending = self._pending, []
        if pending:
            self._sorted.append(sum_of(pending))
        while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
            self._sorted[-2:] = [merge_batches(self._sorted[-2:])]
