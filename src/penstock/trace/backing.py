"""A batch whose rows are on file, and the requests that must come before they are read.

Such a batch has the same arrays as one in memory, but a row can be read only after it was asked for
(:mod:`penstock.storage.resident`). Searches ask by word, for the words of all blocks that may hold what is
looked for (:func:`need_words`); whoever follows up a search asks by row (:func:`need_rows`). For batches in
memory both do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.storage import Pool
from penstock.storage.resident import FILTERS, OTHERS, SEARCHED, ResidentColumns
from penstock.trace.search import mark_ranges

__all__ = ["Backing"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Backing:
    """Rows from ``start`` on of stored columns."""

    columns: ResidentColumns
    start: int

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

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last order word of the stored batch, of which this may be a part."""
        index = self.columns.index
        return int(index.first_words[0]), index.last_word

    def need_words(self, low: Words, high: Words) -> None:
        """Asks for the words of all rows whose order word is in one of the ranges (both ends inclusive), and
        of those that a search compares with on the way."""
        if not self.columns.is_resident(SEARCHED):
            self.columns.need(SEARCHED, self._blocks_of(low, high))

    def may_hold(self, low: Words, high: Words, hashes: Words) -> NDArray[np.bool_] | None:
        """Which of the keys with these hashes, whose words are in these ranges, may be there. None if there
        are no filters, or if all words are in memory anyway."""
        if not self.columns.has_filters or self.columns.is_resident(SEARCHED):
            return None
        if not self.columns.is_resident(FILTERS):
            self.columns.need(FILTERS, self._blocks_of(low, high))
        return self.columns.may_hold(low, high, hashes)

    def need_filters(self) -> None:
        """Asks for all filters."""
        if self.columns.has_filters:
            self.columns.need(FILTERS, np.arange(self.columns.index.blocks))

    def need_ends(self, low: Words, high: Words) -> None:
        """Asks only for the words that finding the first and the last row of each range takes."""
        self.need_words(low, low)
        self.need_words(high, high)

    def need_rows(self, rows: Indices, *, only_words: bool = False) -> None:
        """Asks for whole rows, or only for their words."""
        parts = (SEARCHED,) if only_words else (SEARCHED, OTHERS)
        if all(map(self.columns.is_resident, parts)):
            return
        index = self.columns.index
        wanted = np.zeros(index.blocks, np.bool_)
        wanted[(rows + self.start) // index.block_rows] = True
        self._need(np.flatnonzero(wanted), parts)

    def need_range(self, start: int, stop: int) -> None:
        """Asks for all rows from ``start`` up to ``stop``."""
        if stop > start:
            self._need(self._blocks(start, stop))

    def prefetch_words(self, low: Words, high: Words) -> None:
        """Starts to read what a search for these ranges will ask for first: the filters, or without them
        the words and the rest of these rows, most of which will be asked for then. Only where waiting takes
        long: on a local disk it does not pay (docs/decisions.md 73)."""
        if self.columns.is_remote:
            blocks = self._blocks_of(low, high)
            for part in (FILTERS,) if self.columns.has_filters else (SEARCHED, OTHERS):
                self.columns.prefetch(part, blocks)

    def prefetch_range(self, start: int, stop: int) -> None:
        """Starts to read the rows from ``start`` up to ``stop``."""
        if stop > start:
            blocks = self._blocks(start, stop)
            self.columns.prefetch(SEARCHED, blocks)
            self.columns.prefetch(OTHERS, blocks)

    def _blocks_of(self, low: Words, high: Words) -> Indices:
        """The blocks that a search for ranges of words touches."""
        fences = self.columns.index.first_words
        wanted = np.zeros(len(fences), np.bool_)
        mark_ranges(fences, low, high, wanted)
        return np.flatnonzero(wanted)

    def _blocks(self, start: int, stop: int) -> Indices:
        rows = self.columns.index.block_rows
        return np.arange((self.start + start) // rows, (self.start + stop - 1) // rows + 1)

    def _need(self, blocks: Indices, parts: Sequence[int] = (SEARCHED, OTHERS)) -> None:
        if self.columns.is_remote:
            for part in parts[1:]:
                self.columns.prefetch(part, blocks)
        for part in parts:
            self.columns.need(part, blocks)

    def end_of_block(self, rows: Indices) -> Indices:
        """For each row the one past the last of its block: up to there its words may be read."""
        size = self.columns.index.block_rows
        ends: Indices = ((rows + self.start) // size + 1) * size - self.start
        return ends
