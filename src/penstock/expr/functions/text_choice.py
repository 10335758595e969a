"""Choosing between strings, row by row: which of some constants a string equals, and one of several columns.

Arrow builds such a column value by value, and looks constants up in a hash table. Here a few constants are
all compared without branches, by their lengths and first eight bytes, and the chosen strings are described by
offsets: which one is chosen is unpredictable, and branch mispredictions would cost more than the work.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from penstock.expr.functions.registry import Value
from penstock.expr.functions.text_search import bytes_of
from penstock.expr.functions.text_slices import concatenate_slices
from penstock.expr.functions.vectors import valid_mask
from penstock.zset.kernel import BYTES, INT32S, INT64S, NEW_INT64S, WORDS, Number, inlined, kernel, word_at

__all__ = ["FEW", "choose_texts", "which_text"]

FEW = 16
"""From so many constants on a hash table is quicker."""

Choice = npt.NDArray[np.int64]
_LARGEST = 2**31 - 1


def which_text(text: pa.Array, constants: Sequence[str | bytes], none: int) -> Choice:
    """The number of the first constant that each string is; ``none`` where it is none of them, or NULL."""
    found = np.full(len(text), none, np.int64)
    if len(text) and constants:
        texts, ends = bytes_of(pa.array(constants, text.type))
        begins = [text.ljust(8, b"\0")[:8] for text in map(_encoded, constants)]
        _which(*bytes_of(text), texts, ends, np.frombuffer(b"".join(begins), "<u8"), none, found)
    valid = valid_mask(text)
    if valid is not None:
        found[~valid] = none
    return found


def choose_texts(choice: Choice, values: Sequence[Value], kind: pa.DataType) -> pa.Array | None:
    """For each row the value whose number is its choice: a constant, or that row of a column. None if all
    together are too much for one column."""
    constants = [value.as_py() if isinstance(value, pa.Scalar) else "" for value in values]
    data, ends = bytes_of(pa.array(constants, kind))
    parts, size = [data], len(data)
    begin, end, valid = ends[choice].astype(np.int64), ends[choice + 1].astype(np.int64), None
    if None in constants:
        valid = np.array([constant is not None for constant in constants])[choice]
    for number, value in enumerate(values):
        if isinstance(value, pa.Array) and len(choice):
            data, ends = bytes_of(value)
            first, last = int(ends[0]), int(ends[-1])
            _point(choice, number, ends, size - first, begin, end)
            parts.append(data[first:last])
            size += last - first
            if (there := valid_mask(value)) is not None:
                there |= choice != number
                valid = there if valid is None else valid & there
    if int((end - begin).sum()) > _LARGEST:
        return None
    return concatenate_slices(np.concatenate(parts), begin, end, valid, kind)


def _encoded(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@kernel(types.void(INT64S, types.int64, INT32S, types.int64, NEW_INT64S, NEW_INT64S))
def _point(choice: Number, number: Number, ends: Number, base: Number, begin: Number, end: Number) -> None:
    """Rows that chose this column point to their strings in it; ``base`` is where its first byte would be."""
    for row in range(len(choice)):
        chosen = choice[row] == number
        begin[row] = ends[row] + base if chosen else begin[row]
        end[row] = ends[row + 1] + base if chosen else end[row]


@inlined
def _among(data: Number, first: Number, size: Number, texts: Number, ends: Number, none: Number) -> Number:
    """The same for one string, by all of its bytes."""
    for number in range(len(ends) - 1):
        if ends[number + 1] - ends[number] == size:
            same = 0
            while same < size and data[first + same] == texts[ends[number] + same]:
                same += 1
            if same == size:
                return number
    return none


@kernel(types.void(BYTES, INT32S, BYTES, INT32S, WORDS, types.int64, NEW_INT64S))
def _which(
    data: Number, offsets: Number, texts: Number, ends: Number, begins: Number, none: Number, found: Number
) -> None:
    for row in range(len(found)):
        first = np.int64(offsets[row])
        size = np.int64(offsets[row + 1]) - first
        word = word_at(data, first, first + size)
        number = none
        for i in range(len(begins) - 1, -1, -1):
            same = (begins[i] == word) & (ends[i + 1] - ends[i] == size)
            number = i if same else number
        if size > 8 and number != none:
            number = _among(data, first, size, texts, ends, none)
        found[row] = number
