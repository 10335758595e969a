"""64-bit words that compare exactly as values do, for rows whose order words are equal.

Numbers, timestamps and fixed-width sort keys become one to four 64-bit words each, which costs a pass or two;
for other values the words are ranks among the given values, which costs a sort. Words of different calls
therefore cannot be compared.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.trace.order import dense_rank

__all__ = ["comparable_words"]

Words = NDArray[np.uint64]

_SIGN = np.uint64(1 << 63)
_WIDEST = 32  # bytes


def comparable_words(values: pa.Array, *, descending: bool) -> list[Words]:
    """One or more words for each value: compared lexicographically, they order as the values do.

    NULL is below everything, or with ``descending`` above it."""
    words = _words(values)
    if words is None:
        return [dense_rank(values, descending=descending).astype(np.uint64)]
    if values.null_count:
        there = pc.is_valid(values).to_numpy(zero_copy_only=False)
        words = [there.astype(np.uint64), *(np.where(there, word, np.uint64(0)) for word in words)]
    return [~word for word in words] if descending else words


def _words(values: pa.Array) -> list[Words] | None:
    """Ascending, with arbitrary words for NULL; None if only a sort can tell."""
    kind = values.type
    if pa.types.is_binary(kind):
        return _of_one_width(values)
    if pa.types.is_floating(kind):
        return [_floats(values)]
    if pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        values = values.cast(pa.int64())
    elif not pa.types.is_signed_integer(kind):
        return None
    number = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return [number.view(np.uint64) ^ _SIGN]


def _floats(values: pa.Array) -> Words:
    number = pc.fill_null(values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    bits = np.where(number == 0, 0.0, number).view(np.uint64)  # normalises -0.0
    image: Words = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    image[np.isnan(number)] = ~np.uint64(0)
    return image


def _of_one_width(values: pa.Array) -> list[Words] | None:
    """Byte strings of equal length, eight bytes at a time; the last word is padded with zeros."""
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    width = int(offsets[1] - offsets[0]) if len(values) else 0
    if not 0 < width <= _WIDEST or np.any(np.diff(offsets) != width):
        return None
    content = np.frombuffer(values.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].reshape(-1, width)
    padded = np.zeros((len(values), (width + 7) // 8 * 8), np.uint8)
    padded[:, :width] = content
    return [np.ascontiguousarray(word).astype(np.uint64) for word in padded.view(">u8").T]
