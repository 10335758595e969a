"""A directory of a large batch: where the rows of each range of order words begin.

Order words start with bits of a hash, so they are spread evenly, and the position of a word can nearly be
computed: its distance from the first word, divided by a power of two, is the number of a range with about
eight rows. A search that would touch twenty places all over the batch touches two or three. Where words are
not evenly spread (one key with a million rows) a range is long and is searched by bisection.

A directory is built with its batch, while its words are in memory. A batch on file has *fences* instead: the
first word of each of its blocks. A search then reads one block, which must be resident
(:mod:`penstock.storage.resident`), and never a row of another.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import NEW_INT32S, WORDS, kernel

__all__ = ["LARGE", "NO_DIRECTORY", "Directory", "directory_of"]

Words = NDArray[np.uint64]

LARGE = 1 << 16  # number of rows from which on bisection leaves the CPU cache
_MOST = 1 << 31
_ROWS_IN_RANGE = 8


@dataclass(frozen=True, slots=True)
class Directory:
    """``starts[r]`` is the first row of range ``r``, the last entry the number of rows. ``scale`` is the
    first word and the number of bits by which a word's distance from it is shifted to give its range.

    With ``fences``, there are no ranges, and ``scale`` is the number of rows in a block and the number of
    rows of the stored batch before the first one."""

    starts: NDArray[np.int32]
    scale: Words
    fences: Words = field(default_factory=lambda: np.empty(0, np.uint64))

    def __len__(self) -> int:
        return len(self.starts)

    def from_row(self, start: int) -> Directory:
        """For the rows from ``start`` on: blocks do not change, and ranges are not known."""
        if not len(self.fences):
            return NO_DIRECTORY
        return Directory(
            self.starts, np.array([self.scale[0], self.scale[1] + np.uint64(start)]), self.fences
        )


NO_DIRECTORY = Directory(np.empty(0, np.int32), np.zeros(2, np.uint64))


def directory_of(order: Words) -> Directory:
    """The directory of sorted order words, if there are enough of them."""
    rows = len(order)
    if not LARGE <= rows < _MOST:
        return NO_DIRECTORY
    first, last = int(order[0]), int(order[-1])
    wanted = max(1, rows // _ROWS_IN_RANGE)
    # At most 63: a shift by as many bits as a word has is not defined.
    shift = min(63, max(0, (last - first).bit_length() - (wanted.bit_length() - 1)))
    starts = np.empty(((last - first) >> shift) + 2, np.int32)
    scale = np.array([first, shift], np.uint64)
    _fill(order, scale, starts)
    return Directory(starts, scale)


@kernel(types.void(WORDS, WORDS, NEW_INT32S))
def _fill(order: Words, scale: Words, starts: NDArray[np.int32]) -> None:
    reached = 0
    for row in range(len(order)):
        its = np.int64((order[row] - scale[0]) >> scale[1])
        while reached <= its:
            starts[reached] = row
            reached += 1
    while reached < len(starts):
        starts[reached] = len(order)
        reached += 1
