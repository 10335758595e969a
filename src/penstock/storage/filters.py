"""Filters: which keys are not in a block.

Each block has a filter over the hashes of its keys, a split block Bloom filter: the upper half of a hash
chooses one of the filter's buckets of 256 bits, and the lower half sets one bit in each of the bucket's eight
words. With ten bits per key, 1.5 % of the keys that are not there are taken for ones that are. A lookup asks
the filters of the blocks that could hold a key before it asks for the blocks, so a key that a batch does not
have touches one cache line of it. (One filter for each batch would have to be as large as all keys that *may*
come, because a merge cannot know how many do; and opening would read all of it.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.kernel import BYTES, INT64S, NEW_BOOLS, NEW_INT64S, WORDS, inlined, kernel

__all__ = ["build_filters", "filter_room", "may_hold"]

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Bytes = NDArray[np.uint8]

BITS_PER_KEY = 10
_BUCKET = 32  # bytes
_LOW = np.uint64(0xFFFFFFFF)
_SALTS = np.array([(0x9E3779B97F4A7C15 * (2 * i + 1) >> 16) & 0xFFFFFFFF | 1 for i in range(8)], np.uint64)
"""Odd numbers: each word's bit is the top five bits of the lower half of the hash times one of them."""


def filter_room(rows: int, blocks: int) -> int:
    """The most bytes that the filters of so many rows and blocks take."""
    return rows * BITS_PER_KEY // 8 + blocks * _BUCKET


@inlined
def _bit(hashed: Any, word: Any) -> Any:
    return ((hashed & _LOW) * _SALTS[word] & _LOW) >> np.uint64(27)


@inlined
def _bucket(hashed: Any, buckets: Any) -> Any:
    return np.int64(((hashed >> np.uint64(32)) * np.uint64(buckets)) >> np.uint64(32))


@inlined
def _has(filters: Any, start: Any, size: Any, hashed: Any) -> Any:
    place = start + _bucket(hashed, size // _BUCKET) * _BUCKET
    for word in range(8):
        bit = np.int64(_bit(hashed, word))
        if not (filters[place + 4 * word + (bit >> 3)] >> np.uint8(bit & 7)) & np.uint8(1):
            return False
    return True


@kernel(types.int64(WORDS, INT64S, types.Array(types.uint8, 1, "C"), NEW_INT64S))
def build_filters(hashes: Words, cuts: Indices, out: Bytes, ends: Indices) -> int:
    """The filters of blocks, whose rows are between two ``cuts``, one after the other; returns their bytes.
    ``out`` must be zero. Equal hashes that follow each other are one key."""
    at = np.int64(0)
    for block in range(len(cuts) - 1):
        start, stop = cuts[block], cuts[block + 1]
        keys = np.int64(0)
        for row in range(start, stop):
            keys += row == start or hashes[row] != hashes[row - 1]
        buckets = max(np.int64(keys * BITS_PER_KEY // (8 * _BUCKET)), np.int64(1))
        for row in range(start, stop):
            place = at + _bucket(hashes[row], buckets) * _BUCKET
            for word in range(8):
                bit = np.int64(_bit(hashes[row], word))
                out[place + 4 * word + (bit >> 3)] |= np.uint8(1 << (bit & 7))
        at += buckets * _BUCKET
        ends[block] = at
    return int(at)


@kernel(types.void(WORDS, WORDS, WORDS, WORDS, BYTES, INT64S, INT64S, NEW_BOOLS))
def may_hold(
    fences: Words,
    low: Words,
    high: Words,
    hashes: Words,
    filters: Bytes,
    starts: Indices,
    sizes: Indices,
    found: NDArray[np.bool_],
) -> None:
    """Whether one of the blocks that words between ``low`` and ``high`` can be in may have each hash. Blocks
    begin with the words ``fences``, and their filters are at ``starts``."""
    for probe in range(len(low)):
        first, last = 0, len(fences)
        while first < last:
            middle = (first + last) >> 1
            if fences[middle] < low[probe]:
                first = middle + 1
            else:
                last = middle
        block = max(first - 1, 0)
        found[probe] = False
        while block < len(fences) and fences[block] <= high[probe] and not found[probe]:
            found[probe] = _has(filters, starts[block], sizes[block], hashes[probe])
            block += 1
