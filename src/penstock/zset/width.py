"""Columns too large for 32-bit offsets.

Strings, binaries and lists are stored with 32-bit offsets, which limits one array to 2 GiB. A column that
outgrows this (a merge of large batches, a load, many matches of a long string) becomes *wide*: the same
values with 64-bit offsets, Arrow's ``large_`` types at every depth. A wide column that shrinks becomes narrow
again. So nothing is paid for offsets that are not needed (64-bit offsets would make a column of short strings
a seventh to a third larger, in memory and on disk), and no size makes a step or a merge fail.

Invariant: a column is wide exactly if its buffers hold more than :data:`MOST_BYTES` bytes. Where columns are
concatenated, gathered or received (:func:`concat`, :func:`~penstock.zset.gather.gather`, ``ZSet``,
``Batch.from_arrow``), columns that fit become narrow again. Expressions only see narrow columns: a wide one
is evaluated piece by piece (:func:`narrow_pieces`). Users see narrow ones too, as several chunks of a table's
column (:func:`chunked`).

A map has no wide form itself, only its keys and values have: one array may have two billion entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = [
    "alike",
    "chunked",
    "concat",
    "contiguous",
    "exceeds",
    "exceeds_together",
    "fitted",
    "is_wide",
    "list_column",
    "narrow_pieces",
    "narrow_type",
    "piecewise",
    "wide_type",
]

MOST_BYTES = 2**31 - 1
"""The most bytes that 32-bit offsets of one array can address. Tests lower it, so that small data is too
large."""


def exceeds(array: pa.Array) -> bool:
    """Whether an array may be wide, or too large to be narrow: a quick check of its buffer sizes."""
    return bool(array.get_total_buffer_size() > MOST_BYTES)


@lru_cache(maxsize=4096)
def wide_type(kind: pa.DataType) -> pa.DataType:
    """The type with 64-bit offsets, at every depth."""
    return _changed(kind, wide_type, pa.large_string(), pa.large_binary(), pa.large_list)


@lru_cache(maxsize=4096)
def narrow_type(kind: pa.DataType) -> pa.DataType:
    """The type with 32-bit offsets, at every depth: that of schemas."""
    return _changed(kind, narrow_type, pa.string(), pa.binary(), pa.list_)


def _changed(
    kind: pa.DataType,
    change: Callable[[pa.DataType], pa.DataType],
    text: pa.DataType,
    binary: pa.DataType,
    list_of: Callable[[pa.Field], pa.DataType],
) -> pa.DataType:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return binary
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return list_of(kind.value_field.with_type(change(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(change(field.type)) for field in kind])
    if pa.types.is_map(kind):
        key, item = (field.with_type(change(field.type)) for field in (kind.key_field, kind.item_field))
        return pa.map_(key, item)
    return kind


def is_wide(array: pa.Array) -> bool:
    """Whether the offsets of an array have 64 bits, at some depth."""
    return bool(narrow_type(array.type) != array.type)


def concat(arrays: Sequence[pa.Array]) -> pa.Array:
    """The arrays one after the other; each may be narrow or wide."""
    if len(arrays) == 1:
        return arrays[0]
    if not exceeds_together(arrays):  # so none of them is wide
        try:
            return pa.concat_arrays(arrays)
        except pa.ArrowInvalid:  # lists of nothing but NULL take no bytes, but their entries need offsets too
            return fitted(pa.concat_arrays(_widened(arrays)))
    if sum(array.nbytes for array in arrays) <= MOST_BYTES:
        return fitted(pa.concat_arrays(alike(*arrays)))
    return pa.concat_arrays(_widened(arrays))


def _widened(arrays: Sequence[pa.Array]) -> list[pa.Array]:
    return [array.cast(wide_type(array.type)) for array in arrays]


def contiguous(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece, which may be a wide one."""
    if isinstance(column, pa.Array):
        return column
    return concat(column.chunks) if column.num_chunks else pa.array([], column.type)


def fitted(array: pa.Array) -> pa.Array:
    """The same values, narrow if they fit and wide otherwise."""
    if not is_wide(array) and not exceeds(array):
        return array
    if array.nbytes > MOST_BYTES:
        return array.cast(wide_type(array.type))
    try:
        return _narrow(array)
    except pa.ArrowInvalid:  # few bytes, but more elements than offsets can number
        return array


def _narrow(array: pa.Array) -> pa.Array:
    narrow = narrow_type(array.type)
    if array.type == narrow:
        return array
    # Arrow looks at the offsets of the whole buffer, also where the array is a part of it.
    return pa.concat_arrays([array]).cast(narrow)


def narrow_pieces(columns: Sequence[pa.Array], length: int) -> Iterator[tuple[int, int, list[pa.Array]]]:
    """Splits the rows of several columns into runs whose columns are narrow: start, stop and columns. Rows
    are not split."""
    yield from _pieces(columns, 0, length)


def _pieces(columns: Sequence[pa.Array], start: int, stop: int) -> Iterator[tuple[int, int, list[pa.Array]]]:
    parts = [column.slice(start, stop - start) for column in columns]
    if stop - start < 2 or all(part.nbytes <= MOST_BYTES for part in parts if is_wide(part)):
        yield start, stop, [_narrow(part) for part in parts]
        return
    middle = (start + stop) // 2
    yield from _pieces(columns, start, middle)
    yield from _pieces(columns, middle, stop)


def piecewise(function: Callable[[pa.Array], pa.Array], values: pa.Array) -> pa.Array:
    """Applies ``function``, which works row by row, to a column that may be wide."""
    if not exceeds(values) or not is_wide(values):
        return function(values)
    return concat([function(piece) for _, _, (piece,) in narrow_pieces([values], len(values))])


def exceeds_together(arrays: Sequence[pa.Array]) -> bool:
    """Whether arrays together may be too large for one narrow array."""
    return bool(sum([array.get_total_buffer_size() for array in arrays]) > MOST_BYTES)


def alike(*arrays: pa.Array) -> Sequence[pa.Array]:
    """The same arrays, all of one type: wide if one of them is."""
    return _widened(arrays) if any(map(is_wide, arrays)) else arrays


def list_column(offsets: NDArray[np.int64], values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Lists of the narrow type ``kind`` that have the values between two offsets each."""
    if exceeds(values) and is_wide(values):
        return fitted(pa.LargeListArray.from_arrays(pa.array(offsets), values, type=wide_type(kind)))
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=kind)


def chunked(array: pa.Array) -> pa.ChunkedArray:
    """A column of a table for the user: narrow, in as many chunks as that takes."""
    if not is_wide(array):
        return pa.chunked_array([array])
    chunks = [piece for _, _, (piece,) in narrow_pieces([array], len(array))]
    return pa.chunked_array(chunks, narrow_type(array.type))
