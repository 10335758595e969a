"""Exact sums of integers and decimals, in limbs of 32 bits.

The value of a row, as an integer (a decimal's unscaled value), is cut into base-2^32 limbs, all unsigned but
the highest. Sums of limbs (:mod:`.exact_digits`) are exact in any order, however far a partial sum strays
beyond the result type; only reading the total says whether it fits. A total may reach 2^63 with one limb,
2^95 with two and 2^159 with four: for one group, 2^32 rows of the type's most extreme value.

Cost: two passes per limb to split; about ten to join. Decimals are read and built as raw 128-bit buffers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.zset.exact_digits import DIGIT_BITS, DIGIT_MASK, LIMB, Int64s, digits_of, needs_carry, weigh
from penstock.zset.kernel import INT64S, NEW_INT64S, kernel

__all__ = ["join_integers", "split_integers"]

_UInt64s = NDArray[np.uint64]
_SIGN_SHIFT = np.int64(63)
_WORD_MASK = (1 << 64) - 1


def split_integers(values: pa.Array, weights: Int64s) -> dict[str, Int64s]:
    """The limbs of each row's value times its weight: always as many as the type has; NULL counts as 0."""
    if values.null_count:
        weights = np.where(values.is_null().to_numpy(zero_copy_only=False), np.int64(0), weights)
    limbs = _limbs(values)
    products = weigh(limbs, weights, carrying=needs_carry(weights), top=max(limbs))
    return {f"{LIMB}{place}": product for place, product in products.items()}


def _limbs(values: pa.Array) -> dict[int, Int64s]:
    kind = values.type
    if pa.types.is_decimal128(kind):
        low, high = _decimal_words(values)
        if kind.precision <= 9:
            return {0: low}
        if kind.precision <= 18:
            return {0: low & DIGIT_MASK, 1: low >> DIGIT_BITS}
        return {
            0: low & DIGIT_MASK,
            1: (low >> DIGIT_BITS) & DIGIT_MASK,
            2: high & DIGIT_MASK,
            3: high >> DIGIT_BITS,
        }
    if not (pa.types.is_signed_integer(kind) or pa.types.is_duration(kind)):
        raise TypeError(f"values of type {kind} have no integer sum")
    width = kind.bit_width // 8
    words = _read(values, np.dtype(f"<i{width}"), 1).astype(np.int64, copy=False)
    return {0: words} if width <= 4 else {0: words & DIGIT_MASK, 1: words >> DIGIT_BITS}


def _decimal_words(values: pa.Array) -> tuple[Int64s, Int64s]:
    pairs = _read(values, np.dtype(np.int64), 2).reshape(-1, 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])


def _read(values: pa.Array, dtype: np.dtype[np.signedinteger], per_row: int) -> NDArray[np.signedinteger]:
    count, buffer = len(values) * per_row, values.buffers()[1]
    if count == 0 or buffer is None:
        return np.zeros(count, dtype)
    return np.frombuffer(buffer, dtype, count, values.offset * per_row * dtype.itemsize)


def join_integers(
    sums: Mapping[str, Int64s], length: int, target: pa.DataType
) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The totals as ``target`` (an integer, duration or decimal128 type) and which of them do not fit it.

    Those that do not fit are NULL in the array.
    """
    low, high, beyond = _total(digits_of(sums, LIMB), length)
    fits = beyond == high >> _SIGN_SHIFT
    if pa.types.is_decimal128(target):
        fits &= _below_power_of_ten(low, high, target.precision)
        raw = np.empty((length, 2), np.int64)
        raw[:, 0], raw[:, 1] = low, high
        return _build(raw, fits, target), ~fits
    if not (pa.types.is_signed_integer(target) or pa.types.is_duration(target)):
        raise TypeError(f"an integer sum cannot be read as {target}")
    dtype = np.dtype(f"<i{target.bit_width // 8}")
    limits = np.iinfo(dtype)
    fits &= (high == low >> _SIGN_SHIFT) & (low >= limits.min) & (low <= limits.max)
    return _build(low.astype(dtype, copy=False), fits, target), ~fits


def _total(limbs: Mapping[int, Int64s], length: int) -> tuple[Int64s, Int64s, Int64s]:
    """The total in two's complement: the low 64 bits, the next 64, and all above as a number."""
    if max(limbs, default=0) > 3:
        raise ValueError(f"sums have at most four limbs, not {max(limbs) + 1}")
    low, high, beyond = np.empty((3, length), np.int64)
    zero = np.zeros(length, np.int64) if len(limbs) < 4 else low
    first, second, third, fourth = (limbs.get(place, zero) for place in range(4))
    _carry_up(first, second, third, fourth, low, high, beyond)
    return low, high, beyond


@kernel(types.void(INT64S, INT64S, INT64S, INT64S, NEW_INT64S, NEW_INT64S, NEW_INT64S))
def _carry_up(
    first: Int64s, second: Int64s, third: Int64s, fourth: Int64s, low: Int64s, high: Int64s, beyond: Int64s
) -> None:
    for row in range(len(low)):
        words = (np.int64(0), np.int64(0))
        carried = np.int64(0)
        for place, limb in enumerate((first[row], second[row], third[row], fourth[row])):
            # Only the lower half meets the carry, so the addition stays inside int64.
            digit = (limb & DIGIT_MASK) + carried
            carried = (limb >> DIGIT_BITS) + (digit >> DIGIT_BITS)
            part = (digit & DIGIT_MASK) << (DIGIT_BITS * (place & 1))
            words = (words[0] | part, words[1]) if place < 2 else (words[0], words[1] | part)
        low[row], high[row] = words
        beyond[row] = carried


def _below_power_of_ten(low: Int64s, high: Int64s, precision: int) -> NDArray[np.bool_]:
    """Whether the absolute 128-bit value is below ``10^precision``."""
    negative = high < 0
    low_bits: _UInt64s = low.view(np.uint64)
    magnitude_low = np.where(negative, ~low_bits + np.uint64(1), low_bits)
    magnitude_high = np.where(negative, ~high + (low == 0), high).view(np.uint64)
    bound = 10**precision
    bound_low, bound_high = np.uint64(bound & _WORD_MASK), np.uint64(bound >> 64)
    below: NDArray[np.bool_] = magnitude_high == bound_high
    below &= magnitude_low < bound_low
    below |= magnitude_high < bound_high
    return below


def _build(raw: NDArray[np.signedinteger], valid: NDArray[np.bool_], target: pa.DataType) -> pa.Array:
    bitmap = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(target, len(valid), [bitmap, pa.py_buffer(np.ascontiguousarray(raw))])
