"""Cutting strings at character positions that differ from row to row, without a loop over rows.

A character starts at every byte that is not a UTF-8 continuation byte. The positions of all starts in a
column, in one vector, turn "the character number ``n`` of row ``i``" into an index computation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from penstock.expr.functions.vectors import Mask, valid_mask
from penstock.zset.kernel import BOOLS, BYTES, INT32S, INT64S, NEW_INT32S, Number, kernel

__all__ = ["Characters", "concatenate_slices"]

Integers = npt.NDArray[np.int64]
_ALL = np.empty(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Characters:
    """The characters (or bytes, of a binary column) of every row of a column."""

    array: pa.Array
    data: npt.NDArray[np.uint8]
    starts: Integers
    first: Integers

    @classmethod
    def of(cls, array: pa.Array) -> Characters:
        """Finds where the characters of a string or binary column start."""
        buffers = array.buffers()
        offsets = np.frombuffer(buffers[1], np.int32)[array.offset : array.offset + len(array) + 1]
        offsets = offsets.astype(np.int64) if len(array) else np.zeros(1, np.int64)
        data = np.frombuffer(buffers[2], np.uint8) if buffers[2] is not None else np.empty(0, np.uint8)
        low, high = int(offsets[0]), int(offsets[-1])
        if pa.types.is_binary(array.type):
            starts = np.arange(low, high + 1, dtype=np.int64)
        else:
            begins = np.flatnonzero((data[low:high] & 0xC0) != 0x80) + low
            starts = np.append(begins, high)
        return cls(array, data, starts, np.searchsorted(starts[:-1], offsets))

    @property
    def counts(self) -> Integers:
        """The number of characters of each row."""
        return np.diff(self.first)

    def slice(self, start: Integers, stop: Integers) -> pa.Array:
        """Characters ``start`` up to ``stop`` of each row; positions outside of the row are moved into it."""
        counts = self.counts
        low = np.clip(start, 0, counts)
        high = np.clip(stop, low, counts)
        begin, end = self.starts[self.first[:-1] + low], self.starts[self.first[:-1] + high]
        return concatenate_slices(self.data, begin, end, valid_mask(self.array), self.array.type)

    def index_of_byte(self, position: Integers) -> Integers:
        """The character number of the byte at ``position`` of each row."""
        offsets = self.starts[self.first[:-1]]
        return np.searchsorted(self.starts, offsets + position) - self.first[:-1]


def concatenate_slices(
    data: npt.NDArray[np.uint8], begin: Integers, end: Integers, valid: Mask | None, arrow_type: pa.DataType
) -> pa.Array:
    """A string column made of one slice of ``data`` per row, which may be empty but is where it should be; of
    rows that are not valid it does not matter."""
    begin, end = np.ascontiguousarray(begin, np.int64), np.ascontiguousarray(end, np.int64)
    offsets = np.empty(len(begin) + 1, np.int32)
    copied = np.empty(_lay_out(begin, end, _ALL if valid is None else valid, offsets), np.uint8)
    _copy(data, begin, offsets, copied)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(copied)]
    return pa.Array.from_buffers(arrow_type, len(begin), buffers)


@kernel(types.int64(INT64S, INT64S, BOOLS, NEW_INT32S))
def _lay_out(begin: Number, end: Number, valid: Number, offsets: Number) -> Number:
    """Where each slice goes; returns how many bytes all take."""
    total = 0
    offsets[0] = 0
    for row in range(len(begin)):
        if len(valid) == 0 or valid[row]:
            total += end[row] - begin[row]
        offsets[row + 1] = total
    return total


@kernel(types.void(BYTES, INT64S, INT32S, types.Array(types.uint8, 1, "C")))
def _copy(data: Number, begin: Number, offsets: Number, copied: Number) -> None:
    """Short slices are copied as eight bytes: what is too much belongs to the rows that come after."""
    for row in range(len(begin)):
        source, place = begin[row], offsets[row]
        size = offsets[row + 1] - place
        if size <= 8 and source + 8 <= len(data) and place + 8 <= len(copied):
            for i in range(8):
                copied[place + i] = data[source + i]
        else:
            for i in range(size):
                copied[place + i] = data[source + i]
