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
from penstock.zset.kernel import BYTES, INT32S, INT64S, Number, kernel

__all__ = ["Characters", "concatenate_slices"]

Integers = npt.NDArray[np.int64]


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
    """A string column made of one slice of ``data`` per row."""
    lengths = end - begin
    if valid is not None:
        lengths = np.where(valid, lengths, 0)
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    copied = np.empty(int(offsets[-1]), np.uint8)
    _copy(data, np.ascontiguousarray(begin, np.int64), offsets, copied)
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(copied)]
    return pa.Array.from_buffers(arrow_type, len(lengths), buffers)


@kernel(types.void(BYTES, INT64S, INT32S, types.Array(types.uint8, 1, "C")))
def _copy(data: Number, begin: Number, offsets: Number, copied: Number) -> None:
    for row in range(len(begin)):
        for place in range(offsets[row], offsets[row + 1]):
            copied[place] = data[begin[row] + place - offsets[row]]
