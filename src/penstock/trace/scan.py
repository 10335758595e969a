"""Range scans of a batch: its rows in order, in slices of bounded size.

A slice never splits the rows of one order word, and with ``whole_keys`` never those of one key. So whatever
compares a row only with rows of the same word (consolidation, ties) can work slice by slice, and its results
can be concatenated. Slices share memory with the batch: a scan allocates nothing that depends on its size.

Truncation gives the rows of all keys up to, or from, a bound: a slice too, and nothing is read for it but the
words next to the bound.

Everything that reads a batch in order does it here, through :func:`section`, except searches, which are in
:mod:`.lookup`. Cost: one search per end of the range, and a few microseconds per slice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.trace.batch import HIGH, Batch
from penstock.trace.lookup import bounds_of

__all__ = [
    "LAST",
    "PIECE",
    "key_bits",
    "position_after",
    "position_of_word",
    "scan",
    "section",
    "truncate",
    "truncate_below",
]

PIECE = 65_536
"""The number of rows of a slice, unless the caller asks for another: a few megabytes."""
LAST = (1 << 64) - 1
"""The largest order word."""

_WORD = np.uint64(LAST)


def section(batch: Batch, start: int, stop: int) -> Batch:
    """Rows ``start`` to ``stop``, to be read: the only way from a batch to its rows in this module."""
    part = batch.slice(start, stop)
    return part.whole()


def read_ahead(batch: Batch, start: int, stop: int) -> None:
    """Starts to read the rows that a scan will ask for next."""
    if batch.backing is not None:
        batch.backing.prefetch_range(start, stop)


def key_bits(batch: Batch) -> np.uint64:
    """The bits of an order word that belong to the key: all of them where a key has no values, and otherwise
    the high half."""
    return _WORD if batch.row_lo is None else HIGH


def position_after(batch: Batch, word: int) -> int:
    """The number of rows whose word is at most ``word``."""
    return _between(batch, 0, word)[1]


def position_of_word(batch: Batch, word: int) -> int:
    """The number of rows whose word is below ``word``."""
    return _between(batch, word, LAST)[0]


def scan(
    batch: Batch, low: int = 0, high: int = LAST, *, rows: int = PIECE, whole_keys: bool = False
) -> Iterator[Batch]:
    """The rows with words from ``low`` to ``high`` (both included), in order, in slices of at most ``rows``
    rows. Only a slice that consists of a single word, or key, may be longer."""
    mask = key_bits(batch) if whole_keys else _WORD
    start, stop = _between(batch, low, high)
    while start < stop:
        read_ahead(batch, start + rows + 1, min(start + 2 * rows + 1, stop))
        piece = section(batch, start, min(start + rows + 1, stop))
        if len(piece) > rows:
            last = piece.order[-1] & mask
            cut = int(np.searchsorted(piece.order, last))
            if cut:
                piece = piece.slice(0, cut)
            else:
                piece = section(batch, start, min(position_after(batch, int(last | ~mask)), stop))
        yield piece
        start += len(piece)


def truncate(batch: Batch, bound: int) -> Batch:
    """The batch without the keys above ``bound``, as a slice. Like all bounds on keys, it is an order word of
    which the bits count that belong to the key: no key is split."""
    return batch.slice(0, position_after(batch, bound | ~int(key_bits(batch)) & LAST))


def truncate_below(batch: Batch, bound: int) -> Batch:
    """The batch without the keys below ``bound``, as a slice."""
    return batch.slice(position_of_word(batch, bound & int(key_bits(batch))), len(batch))


def _between(batch: Batch, low: int, high: int) -> tuple[int, int]:
    """First and one-past-last row of a range of words."""
    start, stop = bounds_of(batch, np.array([low], np.uint64), np.array([high], np.uint64))
    return int(start[0]), int(stop[0])
