"""Strings and binary values as one word per lane.

The bytes of a value are read as little-endian eight-byte words, the last one filled up with zeros (an empty
value has one word, zero). The value's word is ``length * key + sum over k of mix(word_k ^ key_k)``.

Cost: a few nanoseconds for each eight bytes, however uneven the lengths are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.zset.hash_mix import PLACE_STEP, LaneKeys, UInt64s, scramble
from penstock.zset.kernel import BYTES, INT32S, INT64S, NEW_WORDS, Number, inlined, kernel

__all__ = ["string_words"]

_Lanes = tuple[LaneKeys, LaneKeys]


def string_words(array: pa.Array, lanes: _Lanes) -> tuple[UInt64s, UInt64s]:
    """The words of a (large_)string or (large_)binary array, one pair per row; NULL slots hold anything."""
    rows = len(array)
    out = (np.empty(rows, np.uint64), np.empty(rows, np.uint64))
    if rows == 0:
        return out
    buffer = array.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)
    offsets = _offsets(array)
    for words, keys in zip(out, lanes, strict=True):
        _add_bytes(offsets, data, keys.first, keys.second, keys.length, np.uint64(keys.byte_base), words)
    return out


def _offsets(array: pa.Array) -> NDArray[np.signedinteger]:
    large = array.type in (pa.large_string(), pa.large_binary())
    dtype = np.dtype(np.int64 if large else np.int32)
    offsets = np.frombuffer(array.buffers()[1], dtype, len(array) + 1, array.offset * dtype.itemsize)
    return offsets if offsets.flags.aligned else offsets.copy()


@inlined
def _word_at(data: NDArray[np.uint8], start: Number, stop: Number) -> Number:
    """The bytes from ``start`` as one word: eight of them, or those before ``stop``."""
    word = np.uint64(0)
    if stop - start >= 8:
        for byte in range(8):
            word |= np.uint64(data[start + byte]) << np.uint64(8 * byte)
    else:
        for byte in range(stop - start):
            word |= np.uint64(data[start + byte]) << np.uint64(8 * byte)
    return word


_U64 = types.uint64


@kernel(
    types.void(INT32S, BYTES, _U64, _U64, _U64, _U64, NEW_WORDS),
    types.void(INT64S, BYTES, _U64, _U64, _U64, _U64, NEW_WORDS),
)
def _add_bytes(
    offsets: NDArray[np.signedinteger],
    data: NDArray[np.uint8],
    first: Number,
    second: Number,
    length: Number,
    base: Number,
    words: UInt64s,
) -> None:
    """One lane's word of each value."""
    for i in range(len(words)):
        start, stop = np.int64(offsets[i]), np.int64(offsets[i + 1])
        total = np.uint64(stop - start) * length
        total += scramble(_word_at(data, start, stop) ^ scramble(base, first, second), first, second)
        place = base
        start += 8
        while start < stop:
            place += PLACE_STEP
            total += scramble(_word_at(data, start, stop) ^ scramble(place, first, second), first, second)
            start += 8
        words[i] = total
