"""Decimals under other labels and at other scales, on the unscaled integers that Arrow keeps.

Arrow 26 divides wrongly, for a few dividends, by divisors of more than 32 bits: a digit of the quotient comes
out one too large where the textbook's algorithm has to correct its estimate. Lowering a scale is such a
division, by a power of ten, so it is done by nine digits at a time here.
"""

from __future__ import annotations

import decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["WIDE_DIGITS", "low_words", "lowered", "relabel", "rounded", "wide"]

WIDE_DIGITS = 76
"""The digits that fit 256 bits."""

_SAFE_DIGITS = 9
"""The largest power of ten that has 32 bits."""


def relabel(array: pa.Array, arrow_type: pa.DataType) -> pa.Array:
    """The same unscaled integers under another precision and scale of the same width."""
    return pa.Array.from_buffers(arrow_type, len(array), array.buffers(), array.null_count, array.offset)


def wide(array: pa.Array, scale: int) -> pa.Array:
    """The decimals with 256 bits at a scale that is not smaller. Up to 76 digits nothing can overflow."""
    return array.cast(pa.decimal256(WIDE_DIGITS, scale), safe=False)


def lowered(array: pa.Array, scale: int) -> pa.Array:
    """The decimals with 256 bits at a smaller scale; what does not fit there is cut off."""
    value = array.cast(pa.decimal256(WIDE_DIGITS, array.type.scale))
    while value.type.scale > scale:
        value = value.cast(
            pa.decimal256(WIDE_DIGITS, max(scale, value.type.scale - _SAFE_DIGITS)), safe=False
        )
    return value


def rounded(array: pa.Array, scale: int, mode: str) -> pa.Array:
    """The decimals with 256 bits rounded to ``scale``, which may be negative. Their own scale may stay."""
    value = array.cast(pa.decimal256(WIDE_DIGITS, array.type.scale))
    if scale < 0:
        # Arrow has no negative scales: the point moves to the left, and back afterwards.
        moved = min(-scale, WIDE_DIGITS - value.type.scale)
        shifted = relabel(value, pa.decimal256(WIDE_DIGITS, value.type.scale + moved))
        whole = wide(lowered(rounded(shifted, 0, mode), 0), moved)
        return relabel(whole, pa.decimal256(WIDE_DIGITS, 0))
    if array.type.scale - scale > _SAFE_DIGITS:
        # One digit decides, and behind it whether anything was cut off.
        low = lowered(value, scale + 1)
        cut = pc.not_equal(wide(low, value.type.scale), value)
        kind = pa.decimal256(WIDE_DIGITS - 1, scale + 2)
        one = pa.scalar(decimal.Decimal(1).scaleb(-scale - 2), kind)
        sign = pc.if_else(pc.less(value, pa.scalar(decimal.Decimal(0), value.type)), pc.negate(one), one)
        trace = pc.if_else(cut, sign, pa.scalar(decimal.Decimal(0), kind))
        value = pc.add(relabel(wide(low, scale + 2), kind), trace)
        value = relabel(value, pa.decimal256(WIDE_DIGITS, scale + 2))
    return pc.round(value, ndigits=scale, round_mode=mode)


def low_words(array: pa.Array) -> npt.NDArray[np.int64]:
    """The lowest 64 bits of each unscaled integer: the whole of it up to 18 digits."""
    if len(array) == 0:
        return np.empty(0, np.int64)
    words = 4 if pa.types.is_decimal256(array.type) else 2
    data = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, words)
    return data[array.offset : array.offset + len(array), 0]
