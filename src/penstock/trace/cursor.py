"""A cursor: from key to key through a range of a batch, in memory or on file.

A step of a cursor is a key, and what it gives is the key's *run*: all its rows, as a batch of their own. That
is how tools and tests look at batches. It costs some microseconds per key, so operators use lookups
(:mod:`.lookup`) and scans (:mod:`.scan`), which take thousands of keys at a time.

A cursor reads a window of whole keys at a time and finds where the runs begin in one pass over its words. A
seek beyond the window goes through the batch's index, and reads only the blocks where it lands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.trace.batch import Batch
from penstock.trace.keys import Runs, runs_by_key
from penstock.trace.scan import LAST, key_bits, scan

__all__ = ["Cursor", "Key", "cursor"]

_WINDOW = 4096


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """The bits of the order word that belong to a key, and its second lane. Keys have this order."""

    word: int
    lane: int = 0


def cursor(batch: Batch, low: int = 0, high: int = LAST, *, rows: int = _WINDOW) -> Cursor:
    """A cursor at the first of the keys from ``low`` to ``high`` (both included): order words of which the
    bits count that belong to the key. It reads about ``rows`` rows at a time."""
    return Cursor(batch, low, high, rows)


class Cursor:
    """The position of a key, or, when it is not ``valid`` any more, the end of the range."""

    def __init__(self, batch: Batch, low: int, high: int, rows: int) -> None:
        self._batch, self._rows = batch, rows
        self._mask = key_bits(batch)
        self._high = high | ~int(self._mask) & LAST
        self._read(low)

    def __iter__(self) -> Iterator[Batch]:
        """The runs of this key and all after it."""
        while self.valid:
            yield self.run
            self.next()

    @property
    def valid(self) -> bool:
        """Whether there is a key here."""
        return self._at < len(self._runs)

    @property
    def key(self) -> Key:
        """The key here."""
        return Key(int(self._words[self._at]), int(self._lanes[self._at]))

    @property
    def run(self) -> Batch:
        """All rows of the key: their weights, values and times, in order."""
        start, stop = self._runs.starts[self._at : self._at + 2].tolist()
        if self._runs.order is None:
            return self._window.slice(start, stop)
        return self._window.take(self._runs.order[start:stop])

    def next(self) -> None:
        """To the next key."""
        assert self.valid
        self._move(self._at + 1)

    def seek(self, key: Key) -> None:
        """To the first key that is at or after ``key``: never backwards."""
        key = Key(key.word & int(self._mask), key.lane)
        if not self.valid or key <= self.key:
            return
        if key.word > int(self._words[-1]):
            self._read(key.word)
        else:
            self._move(max(self._at, int(np.searchsorted(self._words, np.uint64(key.word)))))
        while self.valid and self.key < key:  # keys that share their word
            self.next()

    def _move(self, at: int) -> None:
        """To a key of the window, or, if it is the one behind the last, to the next window."""
        self._at = at
        if at == len(self._runs):
            self._read(int(self._words[-1] | ~self._mask) + 1)

    def _read(self, low: int) -> None:
        """Reads the window that begins with the first key at or after ``low``."""
        windows = scan(self._batch, low & int(self._mask), self._high, rows=self._rows, whole_keys=True)
        nothing = self._batch.slice(0, 0)
        self._window = nothing if low > self._high else next(windows, nothing)
        words, lanes = self._window.order & self._mask, self._window.key_lo
        self._runs: Runs = runs_by_key(words, lanes)
        first = self._runs.starts[:-1]
        if self._runs.order is not None:
            first = self._runs.order[first]
        self._words, self._lanes, self._at = words[first], lanes[first], 0
