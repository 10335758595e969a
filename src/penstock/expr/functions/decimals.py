"""Exact decimal arithmetic on Arrow's 128- and 256-bit decimals.

Spark computes a decimal operation exactly and rounds the result once, half up, to the scale its type
rules give. Arrow's kernels compute on the unscaled integers and only their type rules stand in the way:
an operation whose result type would exceed 76 digits is refused, whatever the values are. So operands are
relabelled, which changes a type's precision and scale and no byte of data, to make Arrow do the integer
operation that is wanted, and the result is scaled, rounded and checked here. Where the result fits 38
digits by its type, Arrow's own 128-bit kernels are used: they are exact and several times faster.

Arrow's division is wrong for a few dividends (see :mod:`penstock.expr.functions.decimal_scales`), so
quotients by divisors of more than 32 bits are multiplied back.
"""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.functions.decimal_scales import (
    WIDE_DIGITS,
    low_words,
    lowered,
    relabel,
    rounded,
    wide,
)
from penstock.expr.functions.registry import Value
from penstock.expr.functions.vectors import Mask, as_array, invalidate, map_distinct

__all__ = [
    "NEGATION_DIGITS",
    "Checked",
    "add",
    "divide",
    "fit",
    "integral_divide",
    "is_zero",
    "longer_than",
    "low_words",
    "lowered",
    "multiply",
    "negated",
    "relabel",
    "remainder",
    "rounded",
    "wide",
]

Checked = tuple[pa.Array, Mask | None]
"""A result, and the rows in which it does not fit its type (they hold NULL); None means that none can."""

_EXACT = decimal.Context(prec=400, rounding=decimal.ROUND_DOWN)
_HALF_UP = "half_towards_infinity"

NEGATION_DIGITS = 34
"""Spark rounds to this many digits when it changes the sign of a decimal, which shows in longer ones only."""


def is_zero(value: Value, length: int) -> Mask:
    """The rows that hold zero."""
    array = as_array(value, length)
    return _true(pc.equal(array, pa.scalar(decimal.Decimal(0), array.type)))


def _true(mask: Value) -> Mask:
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _too_long(array: pa.Array, digits: int) -> Mask:
    if digits >= WIDE_DIGITS:
        return np.zeros(len(array), np.bool_)
    largest = decimal.Decimal("9" * digits or "0").scaleb(-array.type.scale, _EXACT)
    return _true(pc.greater(pc.abs(array), pa.scalar(largest, array.type)))


def longer_than(array: pa.Array, digits: int) -> Mask:
    """The rows whose unscaled integer has more than ``digits`` digits."""
    return _too_long(array.cast(pa.decimal256(WIDE_DIGITS, array.type.scale)), digits)


def fit(array: pa.Array, precision: int, scale: int, rounding: str = _HALF_UP) -> Checked:
    """The decimals rounded to ``scale`` and checked against ``precision``, as 128-bit decimals."""
    target = pa.decimal128(precision, scale)
    grow = scale - array.type.scale
    if pa.types.is_decimal128(array.type) and grow >= 0 and array.type.precision + grow <= precision:
        return array.cast(target), None
    value = array.cast(pa.decimal256(WIDE_DIGITS, array.type.scale))
    # Before anything is scaled: what has too many digits now has too many afterwards.
    bad = _too_long(value, max(0, precision - grow))
    value = invalidate(value, bad)
    if grow < 0:
        if rounding == _HALF_UP:
            # The first digit that goes decides.
            value = lowered(value, scale + 1)
        value = rounded(value, scale, rounding)
        carried = _too_long(value, precision + value.type.scale - scale)
        value, bad = invalidate(value, carried), bad | carried
    return lowered(value, scale).cast(target, safe=False) if grow < 0 else value.cast(target, safe=False), bad


def negated(value: pa.Array, *, only_negative: bool) -> tuple[pa.Array, Mask]:
    """The decimals with their sign changed (or their magnitude) as Spark computes it, and what overflows."""
    plain = pc.abs(value) if only_negative else pc.negate(value)
    long = longer_than(value, NEGATION_DIGITS)
    if only_negative:
        long &= _true(pc.less(value, pa.scalar(decimal.Decimal(0), value.type)))
    if not long.any():
        return plain, long
    context = decimal.Context(prec=NEGATION_DIGITS, rounding=decimal.ROUND_HALF_EVEN)

    def compute(one: decimal.Decimal) -> decimal.Decimal | None:
        rounded = context.minus(one)
        return rounded if rounded.adjusted() + value.type.scale < value.type.precision else None

    rows = pa.array(long)
    changed = map_distinct(compute, [value.filter(rows)], int(long.sum()), value.type)
    result = pc.replace_with_mask(plain, rows, changed)
    return result, long & _true(pc.is_null(result))


def add(left: Value, right: Value, length: int, target: pa.DataType, *, negative: bool = False) -> Checked:
    """``left + right``, or ``left - right``, in the type Spark gives the sum."""
    operate = pc.subtract if negative else pc.add
    scale = max(left.type.scale, right.type.scale)
    whole = max(left.type.precision - left.type.scale, right.type.precision - right.type.scale)
    if whole + scale + 1 <= target.precision and scale == target.scale:
        return operate(left, right).cast(target), None
    operands = [wide(as_array(side, length), scale) for side in (left, right)]
    labelled = [relabel(side, pa.decimal256(WIDE_DIGITS - 1, scale)) for side in operands]
    total = relabel(operate(*labelled), pa.decimal256(WIDE_DIGITS, scale))
    return fit(total, target.precision, target.scale)


def multiply(left: Value, right: Value, length: int, target: pa.DataType) -> Checked:
    """``left * right`` in the type Spark gives the product."""
    scale = left.type.scale + right.type.scale
    if left.type.precision + right.type.precision + 1 <= target.precision and scale == target.scale:
        return pc.multiply(left, right).cast(target), None
    operands = [wide(as_array(side, length), side.type.scale) for side in (left, right)]
    labelled = [relabel(side, pa.decimal256(37, side.type.scale)) for side in operands]
    product = relabel(pc.multiply(*labelled), pa.decimal256(WIDE_DIGITS, scale))
    return fit(product, target.precision, target.scale)


def divide(left: Value, right: Value, length: int, target: pa.DataType) -> Checked:
    """``left / right`` in the type Spark gives the quotient; NULL where the divisor is zero."""
    # One digit more than wanted, cut off and not rounded, is enough to round half up afterwards.
    digits = target.scale + 1 + right.type.scale - left.type.scale
    if left.type.precision + digits > WIDE_DIGITS:
        return _divide_distinct(left, right, length, target)
    scale = target.scale + 1 + max(0, 2 - digits)
    quotient = _quotient(as_array(left, length), as_array(right, length), max(2, digits))
    whole = left.type.precision - left.type.scale + right.type.scale
    if pa.types.is_decimal128(quotient.type) and whole <= target.precision - target.scale:
        # The result has room for the largest quotient, so there is nothing to check.
        rounded = pc.round(relabel(quotient, pa.decimal128(38, scale)), target.scale, round_mode=_HALF_UP)
        return rounded.cast(target, safe=False), None
    return fit(relabel(wide(quotient, 0), pa.decimal256(WIDE_DIGITS, scale)), target.precision, target.scale)


def _quotient(left: pa.Array, right: pa.Array, digits: int) -> pa.Array:
    """The unscaled integer ``left * 10**digits / right``, cut off; ``digits`` is at least 2.

    The result has scale 0, and 128 bits where that is enough for certain, else 256. Arrow scales a
    dividend up by the divisor's precision plus one, which is why the labels are these.
    """
    divisor = invalidate(right, is_zero(right, len(right)))
    if left.type.bit_width == 128 and left.type.precision + digits <= 38:
        dividend = relabel(left, pa.decimal128(left.type.precision, 4))
        result = pc.divide(dividend, relabel(divisor, pa.decimal128(digits - 1, 0)))
        return _corrected(relabel(result, pa.decimal128(38, 0)), left, divisor, digits)
    dividend = relabel(wide(left, left.type.scale), pa.decimal256(WIDE_DIGITS - digits, 4))
    result = pc.divide(dividend, relabel(wide(divisor, right.type.scale), pa.decimal256(digits - 1, 0)))
    return _corrected(relabel(result, pa.decimal256(WIDE_DIGITS, 0)), left, divisor, digits)


def _corrected(quotient: pa.Array, left: pa.Array, divisor: pa.Array, digits: int) -> pa.Array:
    """The quotient, recomputed in the rows in which multiplying it back shows that it is wrong."""
    large = np.flatnonzero(_beyond_32_bits(divisor))
    if len(large) == 0:
        return quotient
    rows = pa.array(large)
    whole, half = pa.decimal256(WIDE_DIGITS - 1, 0), pa.decimal256(37, 0)
    by = relabel(wide(divisor.take(rows), divisor.type.scale), half)
    given = relabel(wide(left.take(rows), left.type.scale + digits), whole)
    product = pc.multiply(relabel(wide(quotient.take(rows), 0), half), by)
    rest = relabel(pc.subtract(given, relabel(product, whole)), whole)
    zero = pa.scalar(decimal.Decimal(0), whole)
    turned = pc.and_(pc.not_equal(rest, zero), pc.not_equal(pc.less(rest, zero), pc.less(given, zero)))
    wrong = _true(pc.or_(turned, pc.greater_equal(pc.abs(rest), pc.abs(relabel(by, whole)))))
    if not wrong.any():
        return quotient
    chosen = pa.array(wrong)
    operands = [given.filter(chosen), relabel(by, whole).filter(chosen)]
    exact = map_distinct(lambda a, b: _EXACT.divide_int(a, b), operands, len(operands[0]), quotient.type)
    mask = np.zeros(len(quotient), np.bool_)
    mask[large[wrong]] = True
    return pc.replace_with_mask(quotient, pa.array(mask), exact)


def _beyond_32_bits(array: pa.Array) -> Mask:
    """The rows whose unscaled integer has more than 32 bits beside its sign. NULLs have any."""
    if len(array) == 0:
        return np.zeros(0, np.bool_)
    words = 4 if pa.types.is_decimal256(array.type) else 2
    data = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, words)
    data = data[array.offset : array.offset + len(array)]
    low = data[:, 0]
    beyond = (low >= 2**32) | (low <= -(2**32))
    return np.asarray(beyond | (data[:, 1:] != (low >> 63)[:, None]).any(axis=1))


def _divide_distinct(left: Value, right: Value, length: int, target: pa.DataType) -> Checked:
    """Division beyond 256 bits: only for a dividend and a divisor of extreme scales."""

    def compute(a: decimal.Decimal, b: decimal.Decimal) -> decimal.Decimal | None:
        if not b:
            return None
        exact = _EXACT.divide(a, b)
        step = decimal.Decimal(1).scaleb(-target.scale)
        rounded = exact.quantize(step, decimal.ROUND_HALF_UP, decimal.Context(prec=400))
        return rounded if len(rounded.as_tuple().digits) <= target.precision else None

    result = map_distinct(compute, [left, right], length, target)
    missing = _true(pc.and_(pc.is_null(result), pc.and_(_valid(left, length), _valid(right, length))))
    return result, missing & ~is_zero(right, length)


def _valid(value: Value, length: int) -> pa.Array:
    return pc.is_valid(as_array(value, length))


def _whole_quotient(left: Value, right: Value, length: int) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Both operands at one scale and their quotient without its fraction, all with 256 bits."""
    scale = max(left.type.scale, right.type.scale)
    a, b = (wide(as_array(side, length), scale) for side in (left, right))
    quotient = relabel(_quotient(a, b, 2), pa.decimal256(WIDE_DIGITS, 2))
    return a, b, quotient.cast(pa.decimal256(WIDE_DIGITS, 0), safe=False)


def _aligned_digits(left: Value, right: Value) -> int:
    whole = max(left.type.precision - left.type.scale, right.type.precision - right.type.scale)
    return int(whole + max(left.type.scale, right.type.scale))


def remainder(left: Value, right: Value, length: int, target: pa.DataType) -> pa.Array:
    """``left % right`` with the sign of ``left``; NULL where the divisor is zero."""
    if _aligned_digits(left, right) + 2 > WIDE_DIGITS:
        return map_distinct(lambda a, b: _EXACT.remainder(a, b) if b else None, [left, right], length, target)
    a, b, quotient = _whole_quotient(left, right, length)
    scale = a.type.scale
    part = pc.multiply(relabel(quotient, pa.decimal256(37, 0)), relabel(b, pa.decimal256(37, scale)))
    labels = pa.decimal256(WIDE_DIGITS - 1, scale)
    rest = pc.subtract(relabel(a, labels), relabel(part, labels))
    return fit(relabel(rest, pa.decimal256(WIDE_DIGITS, scale)), target.precision, target.scale)[0]


def integral_divide(left: Value, right: Value, length: int) -> pa.Array:
    """``left div right`` as 64-bit integers; beyond them the low bits remain, as in Spark."""
    if _aligned_digits(left, right) + 2 > WIDE_DIGITS:
        return map_distinct(_integral_divide_one, [left, right], length, pa.int64())
    _, _, quotient = _whole_quotient(left, right, length)
    words = pa.array(low_words(quotient))
    return pc.if_else(pc.is_valid(quotient), words, pa.scalar(None, pa.int64()))


def _integral_divide_one(a: decimal.Decimal, b: decimal.Decimal) -> Any:
    if not b:
        return None
    quotient = int(_EXACT.divide_int(a, b))
    return (quotient + 2**63) % 2**64 - 2**63
