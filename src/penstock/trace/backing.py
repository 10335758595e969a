"""A batch whose rows are on file, and the requests that must come before they are read.

Such a batch has the same arrays as one in memory, but a row can be read only after it was asked for
(:mod:`penstock.storage.resident`). Searches ask by word, for the words of all blocks that may hold what is
looked for (:func:`need_words`); whoever follows up a search asks by row (:func:`need_rows`). For batches in
memory both do nothing. """

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.storage import Pool
from penstock.storage.resident import ResidentColumns

__all__ = ["Backing"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Backing:
    """Rows from ``start`` on of stored columns. ``words`` and ``rest`` are the numbers of the columns that
    searches read, and of all others."""

    columns: ResidentColumns
    start: int
    words: tuple[int, ...]
    rest: tuple[int, ...]

    def from_row(self, start: int) -> Backing:
        """Of a slice that begins at row ``start``."""
        return replace(self, start=self.start + start)

    def private(self, pool: Pool) -> Backing:
        """The same for a reader in another thread."""
        return replace(self, columns=self.columns.private(pool))

    def bytes_of(self, rows: int) -> int:
        """About how many bytes so many rows take."""
        index = self.columns.index
        return int(index.chunks.size.sum()) * rows // max(1, index.rows)

    def need_words(self, low: Words, high: Words) -> None:
        """Asks for the words of all rows whose order word is in one of the ranges (both ends inclusive), and
        of those that a search compares with on the way."""
        fences = self.columns.index.first_words
        first = np.maximum(np.searchsorted(fences, low, "left") - 1, 0)
        stop = np.searchsorted(fences, high, "right")
        self.columns.need(_blocks(first, stop, len(fences)), self.words)

    def need_rows(self, rows: Indices) -> None:
        """Asks for whole rows."""
        index = self.columns.index
        blocks = (rows + self.start) // index.block_rows
        wanted = np.zeros(index.blocks, bool)
        wanted[blocks] = True
        self.columns.need(np.flatnonzero(wanted), (*self.words, *self.rest))

    def need_range(self, start: int, stop: int) -> None:
        """Asks for all rows from ``start`` up to ``stop``."""
        if stop > start:
            rows = self.columns.index.block_rows
            blocks = np.arange((self.start + start) // rows, (self.start + stop - 1) // rows + 1)
            self.columns.need(blocks, (*self.words, *self.rest))


def _blocks(first: Indices, stop: Indices, blocks: int) -> Indices:
    """The blocks that are in at least one of the ranges, in order."""
    edges = np.zeros(blocks + 1, np.int64)
    kept = stop > first
    np.add.at(edges, first[kept], 1)
    np.add.at(edges, stop[kept], -1)
    return np.flatnonzero(np.cumsum(edges[:-1]))
