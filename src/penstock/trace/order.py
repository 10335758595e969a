"""Order-preserving images of values: how an ordered batch sorts the rows of one key.

The image is 32 bits, to fit the low half of the order word, so it is monotone but not strict: equal images
need the exact comparison of :func:`dense_rank`. Numbers go through ``float32``, whose rounding is monotone
and keeps 24 significant bits at any magnitude; strings contribute their first four bytes. Timestamps have a
resolution of one second, from 1970 to 2106: a ``float32`` of today's microseconds is two minutes wide.

Spark's order: NULL below everything, NaN above, ``-0.0`` equal to ``0.0``, strings by bytes, false before
true, structs and arrays by their first difference, a shorter array first. Maps have no order in Spark; here
they have an arbitrary fixed one, so that they can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.zset import HashSeed, hash_columns
from penstock.zset.width import narrow_pieces

__all__ = ["IMAGE", "Ordered", "dense_rank", "order_image"]

Ordered = Literal["ascending", "descending"] | None

IMAGE = "moments to the second"
"""The version of the image, part of the identity of operators that store rows in its order: rows stored under
another version could not be found, so their state is rebuilt. Change it whenever an image changes."""

_SIGN = np.uint32(0x80000000)
_SECOND = 1_000_000  # timestamps are in microseconds, as in Spark
_LATEST = 0xFFFFFFFF


def order_image(values: pa.Array, *, descending: bool) -> NDArray[np.uint64]:
    """A 32-bit image (in uint64) of each value such that a < b implies image(a) <= image(b).

    With ``descending`` the other way round.
    """
    image = _image_of(values)
    return (~image if descending else image).astype(np.uint64)


def _image_of(values: pa.Array) -> NDArray[np.uint32]:
    """Piece by piece if a column is wide."""
    pieces = [_image(piece) for _, _, (piece,) in narrow_pieces([values], len(values))]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _image(values: pa.Array) -> NDArray[np.uint32]:
    kind = values.type
    if pa.types.is_null(kind) or pa.types.is_map(kind):
        return np.zeros(len(values), np.uint32)
    if pa.types.is_struct(kind):
        image = _image(values.flatten()[0])
    elif pa.types.is_list(kind):
        image = _image(pc.list_element(_never_empty(values), 0))
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        image = _prefix(values)
    elif pa.types.is_timestamp(kind):
        image = _seconds(values)
    else:
        image = _float_image(_as_float(values))
    if values.null_count:
        image[pc.is_null(values).to_numpy(zero_copy_only=False)] = 0
    return image


def _never_empty(values: pa.Array) -> pa.Array:
    """Arrays with NULL in place of empty ones, which have no first element."""
    return pc.if_else(pc.equal(pc.list_value_length(values), 0), pa.scalar(None, values.type), values)


def dense_rank(values: pa.Array, *, descending: bool) -> NDArray[np.int64]:
    """Dense rank of each value: equal values share a rank, smaller ones (or larger) come first."""
    rank = _rank(values)
    return rank.max(initial=0) + 1 - rank if descending else rank


def _rank(values: pa.Array) -> NDArray[np.int64]:
    """Ascending ranks from 1; 0 is NULL."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.int64)
    if pa.types.is_struct(kind):
        rank = _rank_of_rows([_rank(field) for field in values.flatten()], len(values))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        rank = _rank_of_lists(values)
    elif pa.types.is_map(kind):
        rank = _dense(hash_columns([values], len(values), HashSeed(0, 0)).hi)
    else:
        if pa.types.is_boolean(kind):
            values = values.cast(pa.int8())
        ranks = pc.rank(values, sort_keys="ascending", tiebreaker="dense")
        rank = ranks.to_numpy(zero_copy_only=False).astype(np.int64)
    if values.null_count:
        rank[pc.is_null(values).to_numpy(zero_copy_only=False)] = 0
    return rank


def _rank_of_rows(ranks: Sequence[NDArray[np.int64]], length: int) -> NDArray[np.int64]:
    """The ranks of tuples, by their first element, then their second and so on."""
    rank = np.ones(length, np.int64)
    for column in ranks:
        # Dense ranks of one batch: their product stays far below 2^63.
        rank = _dense(rank * (column.max(initial=0) + 1) + column)
    return rank


def _rank_of_lists(values: pa.Array) -> NDArray[np.int64]:
    """The ranks of arrays: compared like strings whose characters are the ranks of the elements."""
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    letters = _rank(values.flatten()).astype(">u4")
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))) * letters.itemsize
    texts = pa.Array.from_buffers(
        pa.large_binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(letters)]
    )
    return _rank(texts)


def _dense(numbers: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64) + 1


def _as_float(values: pa.Array) -> NDArray[np.float64]:
    kind = values.type
    if pa.types.is_decimal(kind):
        values = values.cast(pa.float64())
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_duration(kind) or pa.types.is_time64(kind):
        values = values.cast(pa.int64())
    number: NDArray[np.float64] = values.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(number == 0, 0.0, number)  # normalises -0.0


def _float_image(number: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The usual trick: flip all bits of negatives, the sign bit of the others. NaN sorts last."""
    with np.errstate(over="ignore"):
        single = number.astype(np.float32)
    bits = single.view(np.uint32)
    image = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    image[np.isnan(number)] = np.uint32(0xFFFFFFFF)
    return image


def _seconds(values: pa.Array) -> NDArray[np.uint32]:
    """Seconds since 1970; earlier timestamps map to the first value, those after 2106 to the last."""
    micros = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    seconds: NDArray[np.uint32] = np.clip(micros // _SECOND, 0, _LATEST).astype(np.uint32)
    return seconds


def _prefix(values: pa.Array) -> NDArray[np.uint32]:
    """The first four bytes, big-endian, zero-padded."""
    raw = values.cast(pa.binary())
    offsets = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1].astype(
        np.int64
    )
    data = raw.buffers()[2]
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    image = np.zeros(len(raw), np.uint32)
    if len(content) == 0:
        return image
    length = offsets[1:] - offsets[:-1]
    for position in range(4):
        at = np.minimum(offsets[:-1] + position, len(content) - 1)
        byte = np.where(length > position, content[at], 0).astype(np.uint32)
        image |= byte << np.uint32(8 * (3 - position))
    return image
