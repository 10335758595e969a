"""The rows of certain stretches of time, read from an arrangement by key and start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.sessions.intervals import Intervals
from penstock.circuit.sessions.words import time_words
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.trace import Batch
from penstock.trace.lookup import bounds_of
from penstock.trace.search import expand
from penstock.zset import GatheredColumns, Hashes

__all__ = ["StretchRows", "moments"]

Indices = NDArray[np.int64]


def moments(expr: Expr, columns: Sequence[pa.Array], length: int) -> Indices:
    """The values of a timestamp expression, in microseconds. They are not NULL."""
    values = evaluate(expr, columns, length)
    found: Indices = values.cast(pa.int64()).to_numpy()
    return found


@dataclass(frozen=True)
class StretchRows:
    """Rows ``row`` of ``batch``, with the number of the stretch that each starts in, and that start."""

    batch: Batch
    row: Indices
    stretch: Indices
    start: Indices

    def __len__(self) -> int:
        return len(self.row)

    @property
    def weights(self) -> Indices:
        """The rows' weights in this batch."""
        return self.batch.weights[self.row]

    def take(self, some: Indices | NDArray[np.bool_]) -> StretchRows:
        """Some of the rows."""
        return StretchRows(self.batch, self.row[some], self.stretch[some], self.start[some])

    @property
    def columns(self) -> GatheredColumns:
        """The rows' columns."""
        return GatheredColumns(self.batch.values, self.row)


def rows_between(
    batches: Sequence[Batch], keys: Hashes, stretches: Intervals, start: Expr
) -> Iterator[StretchRows]:
    """The rows that start in the given stretches, each of a key, batch by batch."""
    first, last = time_words(keys, stretches.start), time_words(keys, stretches.end)
    for batch in batches:
        low, stop = bounds_of(batch, first, last)
        stretch, row = expand(low, stop - low)
        batch.need_rows(row)
        own = batch.key_lo[row] == keys.lo[stretch]
        stretch, row = stretch[own], row[own]
        if len(row) == 0:
            continue
        found = StretchRows(batch, row, stretch, moments(start, GatheredColumns(batch.values, row), len(row)))
        inside = (found.start >= stretches.start[stretch]) & (found.start <= stretches.end[stretch])
        yield found.take(inside)
