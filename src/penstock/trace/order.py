"""Order-preserving images of values: how an ordered batch sorts the rows of one key.

The image is 32 bits, to fit the low half of the order word, so it is monotone but not strict: equal
images need the exact comparison of :func:`exact_rank`. Numbers go through ``float32``, whose rounding is
monotone and keeps 24 significant bits at any magnitude; strings contribute their first four bytes.

Spark's order: NaN above everything, ``-0.0`` equal to ``0.0``, strings by bytes, false before true.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["Ordered", "exact_rank", "order_image"]

Ordered = Literal["ascending", "descending"] | None

_SIGN = np.uint32(0x80000000)


def order_image(values: pa.Array, *, descending: bool) -> NDArray[np.uint64]:
    """A 32-bit image (in uint64) of each value such that a < b implies image(a) <= image(b).

    With ``descending`` the other way round. The values must not be NULL.
    """
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        image = _prefix(values)
    else:
        image = _float_image(_as_float(values))
    return (~image if descending else image).astype(np.uint64)


def exact_rank(values: pa.Array, *, descending: bool) -> NDArray[np.int64]:
    """Dense rank of each value: equal values share a rank, smaller ones (or larger) come first."""
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    order = "descending" if descending else "ascending"
    rank: NDArray[np.int64] = pc.rank(values, sort_keys=order, tiebreaker="dense").to_numpy().astype(np.int64)
    return rank


def _as_float(values: pa.Array) -> NDArray[np.float64]:
    kind = values.type
    if pa.types.is_floating(kind):
        number = values.to_numpy(zero_copy_only=False).astype(np.float64)
        return np.where(number == 0, 0.0, number)
    if pa.types.is_decimal(kind):
        number = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.asarray(number, np.float64)
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8()).to_numpy(zero_copy_only=False).astype(np.float64)
    if pa.types.is_date32(kind):
        return values.cast(pa.int32()).to_numpy(zero_copy_only=False).astype(np.float64)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return values.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return values.to_numpy(zero_copy_only=False).astype(np.float64)


def _float_image(number: NDArray[np.float64]) -> NDArray[np.uint32]:
    """The usual trick: flip all bits of negatives, the sign bit of the others. NaN sorts last."""
    with np.errstate(over="ignore"):
        single = number.astype(np.float32)
    bits = single.view(np.uint32)
    image = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    image[np.isnan(number)] = np.uint32(0xFFFFFFFF)
    return image


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
