"""Strings and binary values as one word per lane.

The bytes of a value are read as little-endian eight-byte words, the last one filled up with zeros (an empty
value has one word, zero). The value's word is ``length * key + sum over k of mix(word_k ^ key_k)``.

Cost: some three nanoseconds for each eight bytes and lane, however uneven the lengths are: both lanes are
computed in one pass, words are loaded whole, and the keys of the first positions are known beforehand.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.zset.hash_mix import POSITION_STEP, LaneKeys, UInt64s, scramble
from penstock.zset.kernel import BYTES, INT32S, INT64S, NEW_WORDS, WORDS, Number, inlined, kernel, word_at

__all__ = ["string_words"]

_Lanes = tuple[LaneKeys, LaneKeys]

_KNOWN_POSITIONS = 64


def string_words(array: pa.Array, lanes: _Lanes) -> tuple[UInt64s, UInt64s]:
    """The words of a (large_)string or (large_)binary array, one pair per row; NULL slots hold anything."""
    rows = len(array)
    out = (np.empty(rows, np.uint64), np.empty(rows, np.uint64))
    if rows == 0:
        return out
    buffer = array.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)
    _add_bytes(_offsets(array), data, _keys(lanes[0]), _keys(lanes[1]), *out)
    return out


@lru_cache(maxsize=64)
def _keys(lane: LaneKeys) -> UInt64s:
    """Both multipliers, the key of the length, the base of the position keys, and the first of those keys."""
    fixed = np.array([lane.first, lane.second, lane.length, lane.byte_base], np.uint64)
    positions = lane.position_keys(lane.byte_base, np.arange(_KNOWN_POSITIONS, dtype=np.uint64))
    return np.concatenate((fixed, positions))


def _offsets(array: pa.Array) -> NDArray[np.signedinteger]:
    large = array.type in (pa.large_string(), pa.large_binary())
    dtype = np.dtype(np.int64 if large else np.int32)
    offsets = np.frombuffer(array.buffers()[1], dtype, len(array) + 1, array.offset * dtype.itemsize)
    return offsets if offsets.flags.aligned else offsets.copy()


@inlined
def _key_at(keys: UInt64s, position: Number) -> Number:
    if position < _KNOWN_POSITIONS:
        return keys[4 + position]
    return scramble(keys[3] + np.uint64(position) * POSITION_STEP, keys[0], keys[1])


@kernel(
    types.void(INT32S, BYTES, WORDS, WORDS, NEW_WORDS, NEW_WORDS),
    types.void(INT64S, BYTES, WORDS, WORDS, NEW_WORDS, NEW_WORDS),
)
def _add_bytes(
    offsets: NDArray[np.signedinteger],
    data: NDArray[np.uint8],
    hi: UInt64s,
    lo: UInt64s,
    hi_words: UInt64s,
    lo_words: UInt64s,
) -> None:
    """Both lanes' words of each value."""
    for i in range(len(hi_words)):
        start, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        size = np.uint64(stop - start)
        hi_total, lo_total = size * hi[2], size * lo[2]
        position = 0
        while position == 0 or start < stop:
            word = word_at(data, start, stop)
            hi_total += scramble(word ^ _key_at(hi, position), hi[0], hi[1])
            lo_total += scramble(word ^ _key_at(lo, position), lo[0], lo[1])
            position += 1
            start += 8
        hi_words[i], lo_words[i] = hi_total, lo_total
