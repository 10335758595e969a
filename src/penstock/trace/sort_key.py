"""Sort keys: rows as byte strings that compare as the rows do under an ORDER BY.

A key is the concatenation of its columns' keys, so that comparing two keys byte by byte compares their
first columns, then their second and so on, each in its own direction and with NULLs where the query wants
them. So a batch that is ordered by several columns is an ordinary one, ordered by one binary column, and a
comparison of many rows with many others is one Arrow call. Equal keys mean equal values (``-0.0`` is
``0.0``, NaN is NaN).

No key of a column is a prefix of another one's, which is what makes concatenation sound: numbers have a
fixed width, texts end in ``00 00`` (a zero byte inside is ``00 FF``), arrays in ``00`` (their elements
begin with ``01``). Orders within a column are those of :mod:`penstock.trace.order`. Cost: a few passes per
column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.trace.order import order_image
from penstock.zset import HashSeed, fitted, hash_columns, piecewise
from penstock.zset.width import exceeds_together

__all__ = ["Direction", "after", "image_of", "joined", "sort_key"]

Bytes = NDArray[np.uint8]

_FIRST, _VALUE, _LAST = 0, 1, 2  # the byte in front of a value: NULL comes before it or behind it
_LARGEST = np.uint64(0xFFFFFFFF)
_EMPTY = pa.scalar(b"", pa.binary())
_WIDE = pa.large_binary()


@dataclass(frozen=True)
class Direction:
    """How one column of an ORDER BY is sorted."""

    descending: bool = False
    nulls_first: bool = True


def sort_key(columns: Sequence[tuple[pa.Array, Direction]], length: int) -> pa.Array:
    """The key of each of ``length`` rows, a binary array."""
    return joined([_key_of(values, direction) for values, direction in columns], length)


def _key_of(values: pa.Array, direction: Direction) -> pa.Array:
    return piecewise(lambda piece: _column(piece, direction), values)


def joined(keys: Sequence[pa.Array], length: int) -> pa.Array:
    """Concatenates keys, row by row."""
    if not keys:
        return pa.array(np.full(length, b"", object), pa.binary())
    return keys[0] if len(keys) == 1 else _side_by_side(keys)


def _side_by_side(keys: Sequence[pa.Array]) -> pa.Array:
    """Concatenated keys may be too large for one array where each column's are not."""
    if not exceeds_together(keys):
        return pc.binary_join_element_wise(*keys, _EMPTY)
    return fitted(pc.binary_join_element_wise(*(key.cast(_WIDE) for key in keys), _EMPTY.cast(_WIDE)))


def after(keys: pa.Array) -> pa.Array:
    """For each key one that is above all longer keys beginning with it, and below all other larger keys."""
    return piecewise(lambda piece: _suffixed(piece, b"\xff"), keys)


def image_of(values: pa.Array, direction: Direction) -> NDArray[np.uint64]:
    """A 32-bit image of the key of one column, as :func:`~penstock.trace.order.order_image`."""
    image = order_image(values, descending=direction.descending)
    if values.null_count:
        image[pc.is_null(values).to_numpy(zero_copy_only=False)] = 0 if direction.nulls_first else _LARGEST
    return image


def _column(values: pa.Array, direction: Direction) -> pa.Array:
    body = _body(values)
    if direction.descending:
        body = _with_content(body, lambda content: ~content)
    return _flagged(values, body, _FIRST if direction.nulls_first else _LAST)


def _flagged(values: pa.Array, body: pa.Array, null: int) -> pa.Array:
    flags = np.full(len(values), _VALUE, np.uint8)
    if values.null_count:
        flags[pc.is_null(values).to_numpy(zero_copy_only=False)] = null
    return pc.binary_join_element_wise(_fixed(flags[:, None]), body, _EMPTY)


def _nested(values: pa.Array) -> pa.Array:
    """The key of a field or an element: ascending, NULL first."""
    return _flagged(values, _body(values), _FIRST)


def _body(values: pa.Array) -> pa.Array:
    """The key of the values themselves, ascending; arbitrary for NULL."""
    kind = values.type
    if pa.types.is_null(kind):
        return joined([], len(values))
    if pa.types.is_struct(kind):
        return joined([_nested(field) for field in values.flatten()], len(values))
    if pa.types.is_list(kind):
        return _lists(values)
    if pa.types.is_map(kind):
        return _fixed(_big_endian(hash_columns([values], len(values), HashSeed(0, 0)).hi))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(values)
    if pa.types.is_decimal(kind):
        return _fixed(_decimals(values))
    return _fixed(_numbers(values))


def _texts(values: pa.Array) -> pa.Array:
    raw = pc.fill_null(values.cast(pa.binary()), b"")
    content = _content(raw)
    if len(content) and not content.all():
        raw = pc.replace_substring(raw, b"\x00", b"\x00\xff")
    return _suffixed(raw, b"\x00\x00")


def _lists(values: pa.Array) -> pa.Array:
    """The keys of the elements, concatenated: they are already in that order."""
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    element = _nested(values.flatten())
    marked = pc.binary_join_element_wise(_fixed(np.ones((len(element), 1), np.uint8)), element, _EMPTY)
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    whole = pa.Array.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(_offsets(marked)[ends]), marked.buffers()[2]]
    )
    return _suffixed(whole, b"\x00")


def _numbers(values: pa.Array) -> Bytes:
    kind = values.type
    if pa.types.is_floating(kind):
        return _floats(values)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or pa.types.is_time64(kind):
        values = values.cast(pa.int64())
    number = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    width = number.dtype.itemsize
    unsigned = number.view(f"u{width}")
    return _big_endian(unsigned ^ unsigned.dtype.type(1 << (8 * width - 1)))


def _floats(values: pa.Array) -> Bytes:
    number = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    number = np.where(number == 0, number.dtype.type(0), number)  # normalises -0.0
    width = number.dtype.itemsize
    bits = number.view(f"u{width}")
    sign = bits.dtype.type(1 << (8 * width - 1))
    image = np.where(bits & sign, ~bits, bits | sign)
    image[np.isnan(number)] = ~bits.dtype.type(0)
    return _big_endian(image)


def _decimals(values: pa.Array) -> Bytes:
    raw = np.frombuffer(values.buffers()[1], np.uint64, 2 * len(values), 16 * values.offset).reshape(-1, 2)
    words = raw.copy()
    if values.null_count:
        words[pc.is_null(values).to_numpy(zero_copy_only=False)] = 0
    words[:, 1] ^= np.uint64(1 << 63)
    return np.concatenate([_big_endian(words[:, 1]), _big_endian(words[:, 0])], axis=1)


def _big_endian(words: NDArray[np.unsignedinteger]) -> Bytes:
    width = words.dtype.itemsize
    return np.ascontiguousarray(words.astype(words.dtype.newbyteorder(">"))).view(np.uint8).reshape(-1, width)


def _fixed(rows: Bytes) -> pa.Array:
    """Keys of equal width, one per row of the matrix."""
    length, width = rows.shape
    offsets = np.arange(length + 1, dtype=np.int32) * np.int32(width)
    content = np.ascontiguousarray(rows)
    return pa.Array.from_buffers(pa.binary(), length, [None, pa.py_buffer(offsets), pa.py_buffer(content)])


def _suffixed(keys: pa.Array, suffix: bytes) -> pa.Array:
    return pc.binary_join_element_wise(keys, pa.scalar(suffix, pa.binary()), _EMPTY)


def _offsets(keys: pa.Array) -> NDArray[np.int32]:
    if len(keys) == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]


def _content(keys: pa.Array) -> Bytes:
    data = keys.buffers()[2]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _with_content(keys: pa.Array, change: np.ufunc | object) -> pa.Array:
    """The keys with all their bytes changed."""
    content = change(_content(keys))  # type: ignore[operator]
    return pa.Array.from_buffers(
        pa.binary(), len(keys), [None, pa.py_buffer(_offsets(keys)), pa.py_buffer(content)]
    )
