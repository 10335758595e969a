"""Strings and binary values as one word per lane, without a Python loop over rows.

The bytes of a value are read as little-endian eight-byte words, the last one filled up with zeros (an empty
value has one word, zero). The value's word is ``length * key + sum over k of mix(word_k ^ key_k)``.
Words are gathered through a ``uint64`` view of the data buffer with a stride of one byte.

The first :data:`_SWEEP_WORDS` words of all rows of a block are taken sweep by sweep, each sweep only over the
rows that still have a word; what is left of longer values is laid out flat, word after word, and summed per
row. So the cost is proportional to the bytes, however uneven the lengths are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.zset.hash_mix import LaneKeys, UInt64s, blocks, mix

__all__ = ["string_words"]

_SWEEP_WORDS = 8
_FLAT_WORDS = 1 << 14  # laid-out words in flight at a time, so that one huge value needs little memory
_WORD = 8

# _TAIL_MASKS[n] keeps the n low bytes of a little-endian word.
_TAIL_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(_WORD + 1)], np.uint64)

_Lanes = tuple[LaneKeys, LaneKeys]
_Int64s = NDArray[np.int64]


def string_words(array: pa.Array, lanes: _Lanes) -> tuple[UInt64s, UInt64s]:
    """The words of a (large_)string or (large_)binary array, one pair per row; NULL slots hold anything."""
    rows = len(array)
    out = (np.empty(rows, np.uint64), np.empty(rows, np.uint64))
    if rows == 0:
        return out
    offsets = _offsets(array)
    buffer = array.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.empty(0, np.uint8)
    sweep_keys = [[keys.place(keys.byte_base, place) for place in range(_SWEEP_WORDS)] for keys in lanes]
    for block in blocks(rows):
        bounds = offsets[block.start : block.stop + 1].astype(np.int64)
        words, origin = _unaligned_words(data, int(bounds[0]), int(bounds[-1]))
        starts = bounds[:-1] - origin
        lengths = bounds[1:] - bounds[:-1]
        sums = (out[0][block], out[1][block])
        for total, keys in zip(sums, lanes, strict=True):
            np.multiply(lengths.view(np.uint64), keys.length, out=total)
        _sweep(words, starts, lengths, sums, lanes, sweep_keys)
        _add_long_tails(words, starts, lengths, sums, lanes)
    return out


def _offsets(array: pa.Array) -> NDArray[np.signedinteger]:
    large = array.type in (pa.large_string(), pa.large_binary())
    dtype = np.dtype(np.int64 if large else np.int32)
    return np.frombuffer(array.buffers()[1], dtype, len(array) + 1, array.offset * dtype.itemsize)


def _unaligned_words(data: NDArray[np.uint8], first: int, last: int) -> tuple[UInt64s, int]:
    """A view whose item ``i`` is the word at byte ``origin + i``, safe up to byte ``last``.

    Arrow need not pad a buffer, so bytes too close to its end are copied next to eight zeros.
    """
    origin = 0
    if last + _WORD > data.size:
        data = np.concatenate([data[first:last], np.zeros(_WORD, np.uint8)])
        origin = first
    view = np.ndarray((data.size - _WORD + 1,), np.dtype("<u8"), data, strides=(1,))
    return view, origin


def _sweep(
    words: UInt64s,
    starts: _Int64s,
    lengths: _Int64s,
    sums: tuple[UInt64s, UInt64s],
    lanes: _Lanes,
    sweep_keys: list[list[np.uint64]],
) -> None:
    """Add the first words of every row, word by word, over the rows that reach so far."""
    longest = int(lengths.max())
    active: _Int64s | None = None  # None: all rows
    for place in range(min(_SWEEP_WORDS, max(1, -(-longest // _WORD)))):
        position = place * _WORD
        left = (lengths if active is None else lengths[active]) - position
        if place > 0:
            alive = np.flatnonzero(left > 0)
            if len(alive) < len(left):
                left = left[alive]
                active = alive if active is None else active[alive]
        at = (starts if active is None else starts[active]) + position
        np.minimum(left, _WORD, out=left)
        word = words[at]
        word &= _TAIL_MASKS[left]
        mixed, scratch = np.empty_like(word), np.empty_like(word)
        for lane, keys in enumerate(lanes):
            np.bitwise_xor(word, sweep_keys[lane][place], out=mixed)
            mix(mixed, scratch, keys)
            if active is None:
                np.add(sums[lane], mixed, out=sums[lane])
            else:
                sums[lane][active] += mixed


def _add_long_tails(
    words: UInt64s,
    starts: _Int64s,
    lengths: _Int64s,
    sums: tuple[UInt64s, UInt64s],
    lanes: _Lanes,
) -> None:
    """Add the words beyond the swept ones, laid out flat."""
    long = np.flatnonzero(lengths > _SWEEP_WORDS * _WORD)
    if len(long) == 0:
        return
    counts = (lengths[long] + (_WORD - 1)) // _WORD - _SWEEP_WORDS
    ends = np.cumsum(counts)
    begins = ends - counts
    for first in range(0, int(ends[-1]), _FLAT_WORDS):
        last = min(first + _FLAT_WORDS, int(ends[-1]))
        some = slice(np.searchsorted(ends, first, "right"), np.searchsorted(begins, last, "left"))
        rows = long[some]
        runs = np.maximum(begins[some], first) - first
        widths = np.minimum(ends[some], last) - first - runs
        place = np.arange(first + _SWEEP_WORDS, last + _SWEEP_WORDS) - np.repeat(begins[some], widths)
        position = place * _WORD
        word = words[np.repeat(starts[rows], widths) + position]
        word &= _TAIL_MASKS[np.minimum(np.repeat(lengths[rows], widths) - position, _WORD)]
        mixed, scratch = np.empty_like(word), np.empty_like(word)
        for lane, keys in enumerate(lanes):
            np.bitwise_xor(word, keys.places(keys.byte_base, place.view(np.uint64)), out=mixed)
            mix(mixed, scratch, keys)
            sums[lane][rows] += np.add.reduceat(mixed, runs)
