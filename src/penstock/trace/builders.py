"""Builders of batches: from sorted batches (a merge, in pieces), and from unsorted rows (tuples).

**Merging in pieces.** All inputs are cut at a common order word, so that what lies below the cut is a few
thousand rows; those are merged, handed out, and forgotten. Rows of one word are never split, so the pieces,
concatenated, are exactly what :func:`~penstock.trace.merge_batches` makes of the whole inputs, in memory that
does not depend on their size.

Each input has a window of rows, and the cut is the smallest of the windows' last words. Half of the rows are
divided evenly among the windows, half in proportion to what is left of the inputs. Words begin with bits of a
hash and are spread evenly, so the windows of large inputs end near each other, and those of small inputs
reach further than needed: a piece has between half and all of the rows asked for. Cost: that of merging, plus
some microseconds per piece and input.

**Building from tuples.** Rows that come in any order are sorted in chunks as they come, and chunks of similar
size are merged, as in a spine. So rows that cancel out are gone early, the memory needed is that of what is
left and one chunk, and each row is merged a logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from penstock.trace.batch import Batch, merge_batches, sum_of
from penstock.trace.scan import PIECE, position_after, section

__all__ = ["TupleBuilder", "merge_runs"]


def merge_runs(batches: Sequence[Batch], *, rows: int = PIECE) -> Iterator[Batch]:
    """The sum of all batches, in order, in pieces that are merged from at most about ``rows`` rows: more only
    if a single word has more, or if there are more batches than that. No piece is empty.

    Like any batch, a piece lacks those columns of sums that are zero in all its rows. A piece that comes from
    one batch shares memory with it."""
    inputs = [batch for batch in batches if len(batch)]
    starts = [0] * len(inputs)
    while inputs:
        parts = _below_the_cut(inputs, starts, rows)
        starts = [start + len(part) for start, part in zip(starts, parts, strict=True)]
        merged = merge_batches([part for part in parts if len(part)])
        if len(merged):
            yield merged
        unread = [i for i, batch in enumerate(inputs) if starts[i] < len(batch)]
        inputs, starts = [inputs[i] for i in unread], [starts[i] for i in unread]


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


def _below_the_cut(inputs: Sequence[Batch], starts: Sequence[int], rows: int) -> list[Batch]:
    """The next rows of each input, such that no later row has the word of one of them. Never all empty."""
    sizes = _window_sizes([len(batch) - start for batch, start in zip(inputs, starts, strict=True)], rows)
    stops = [start + size for start, size in zip(starts, sizes, strict=True)]
    windows = list(map(section, inputs, starts, stops))
    open_ends = [
        window.order[-1]
        for batch, stop, window in zip(inputs, stops, windows, strict=True)
        if stop < len(batch)
    ]
    if not open_ends:
        return windows
    word = min(open_ends)
    cuts = [int(np.searchsorted(window.order, word)) for window in windows]
    if any(cuts):
        return [window.slice(0, cut) for window, cut in zip(windows, cuts, strict=True)]
    # The word that fills a window is the smallest of all: take its rows whole, however many there are.
    return [
        section(batch, start, position_after(batch, int(word)))
        for batch, start in zip(inputs, starts, strict=True)
    ]


def _window_sizes(left: Sequence[int], rows: int) -> list[int]:
    total = sum(left)
    even = rows // (2 * len(left))
    return [min(size, max(1, even + rows * size // (2 * total))) for size in left]
