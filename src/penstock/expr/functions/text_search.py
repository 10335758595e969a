"""Finds a given substring in the strings of a column, by kernels in one pass.

Arrow's own search steps through an automaton, three to four nanoseconds per byte. Here the bytes after a
position are compared only if the first one matches, and nothing after the last needed match is read.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from penstock.expr.functions.vectors import valid_mask
from penstock.zset.kernel import BYTES, INT32S, INT64S, NEW_INT64S, Number, inlined, kernel

__all__ = ["ABSENT", "bytes_of", "contains", "is_ascii", "part_places", "stands"]

ABSENT = -1
"""Where a part ends that is not there."""

_NEW_BOOLS = types.Array(types.boolean, 1, "C")
Integers = npt.NDArray[np.int64]


def contains(text: pa.Array, wanted: str | bytes) -> npt.NDArray[np.bool_]:
    """Whether ``wanted``, which is not empty, stands in each string; NULL counts as no."""
    found = np.zeros(len(text), np.bool_)
    if len(text):
        needle = wanted.encode() if isinstance(wanted, str) else wanted
        _contains(*bytes_of(text), np.frombuffer(needle, np.uint8), found)
    valid = valid_mask(text)
    return found if valid is None else found & valid


def part_places(
    text: pa.Array, separator: str, number: int, earlier: tuple[int, Integers] | None = None
) -> tuple[Integers, Integers]:
    """Where part ``number``, counted from 0, of each string starts among the column's bytes and where it
    ends, if strings are split at a separator that is not empty. ``earlier``, if known, is the number of an
    earlier part, and where that ends in each string: nothing before it is looked at again."""
    begin, end = np.zeros(len(text), np.int64), np.zeros(len(text), np.int64)
    if len(text):
        data, offsets = bytes_of(text)
        known, start = (0, offsets[:-1].astype(np.int64)) if earlier is None else earlier
        _part(data, offsets, np.frombuffer(separator.encode(), np.uint8), start, number - known, begin, end)
    return begin, end


def bytes_of(text: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """The bytes of a column, and where each string starts in them and the last one ends."""
    _, offsets, data = text.buffers()
    places = np.frombuffer(offsets, np.int32)[text.offset : text.offset + len(text) + 1]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8), places


def is_ascii(text: pa.Array) -> bool:
    """Whether all bytes of a column are letters of ASCII: a look at all of them at once."""
    if len(text) == 0:
        return True
    data, offsets = bytes_of(text)
    inside = data[offsets[0] : offsets[-1]]
    return len(inside) == 0 or int(inside.max()) < 128


@inlined
def stands(data: Number, place: Number, needle: Number) -> Number:
    """Whether the text stands at a place from which it does not reach beyond the string."""
    if data[place] != needle[0]:
        return False
    for i in range(1, len(needle)):  # noqa: SIM110 (kernels have no generators)
        if data[place + i] != needle[i]:
            return False
    return True


@kernel(types.void(BYTES, INT32S, BYTES, _NEW_BOOLS))
def _contains(data: Number, offsets: Number, needle: Number, found: Number) -> None:
    for row in range(len(found)):
        for place in range(offsets[row], offsets[row + 1] - len(needle) + 1):
            if stands(data, place, needle):
                found[row] = True
                break


@kernel(types.void(BYTES, INT32S, BYTES, INT64S, types.int64, NEW_INT64S, NEW_INT64S))
def _part(
    data: Number,
    offsets: Number,
    needle: Number,
    start: Number,
    number: Number,
    begin: Number,
    end: Number,
) -> None:
    for row in range(len(begin)):
        left, place, stop = number, start[row], offsets[row + 1] - len(needle) + 1
        begin[row] = place
        while place < stop:
            if not stands(data, place, needle):
                place += 1
            elif left:
                left -= 1
                place += len(needle)
                begin[row] = place
            else:
                break
        end[row] = (place if place < stop else offsets[row + 1]) if left == 0 else ABSENT
