"""Casts between truth values, integers, floating point numbers and decimals.

A floating point number becomes a decimal by way of its shortest text form, as in Java: 0.1 is 0.1 and not
the binary fraction next to it. Numbers with at most 15 significant digits, nearly all that people write
down, are converted by integer arithmetic; for the others the text is really made.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.conversion import OUT_OF_RANGE, OVERFLOW, Conversion
from penstock.expr.functions.float_text import digits_of
from penstock.expr.functions.vectors import Mask, Vector, build, invalidate, unpack, valid_mask
from penstock.expr.types import to_arrow

__all__ = ["cast_number", "double_to_decimal", "fits_integer"]

_EXACT_DOUBLE_DIGITS = 15
_POWERS = 10.0 ** np.arange(23)


def cast_number(value: pa.Array, how: Conversion) -> pa.Array:
    """Any number or truth value as any other."""
    source, target = value.type, to_arrow(how.target)
    if isinstance(how.target, t.BooleanType):
        return _to_boolean(value)
    if isinstance(how.target, t.DecimalType):
        return _to_decimal(value, how)
    if pa.types.is_decimal(source):
        if pa.types.is_floating(target):
            return _decimal_to_float(value, target)
        return _decimal_to_integer(value, how)
    vector, valid = unpack(value)
    if pa.types.is_floating(target):
        with np.errstate(over="ignore"):
            return build(vector.astype(target.to_pandas_dtype()), valid, target)
    if pa.types.is_floating(source):
        return _float_to_integer(value, how)
    return _integer_to_integer(value, how)


def _to_boolean(value: pa.Array) -> pa.Array:
    if pa.types.is_decimal(value.type):
        return pc.not_equal(value, pa.scalar(0, value.type))
    vector, valid = unpack(value)
    return build(vector != 0, valid, pa.bool_())


def fits_integer(vector: Vector, target: pa.DataType) -> Mask:
    """The rows whose integer is in the range of the target type."""
    limits = np.iinfo(target.to_pandas_dtype())
    return np.asarray((vector >= limits.min) & (vector <= limits.max))


def _integer_to_integer(value: pa.Array, how: Conversion) -> pa.Array:
    vector, valid = unpack(value)
    target = to_arrow(how.target)
    result = build(vector.astype(target.to_pandas_dtype()), valid, target)
    if how.legacy or vector.dtype == np.bool_ or vector.dtype.itemsize <= target.bit_width // 8:
        return result
    return how.resolve_failures(result, ~fits_integer(vector, target), value, OVERFLOW)


def _float_to_integer(value: pa.Array, how: Conversion) -> pa.Array:
    vector, valid = unpack(value)
    target = to_arrow(how.target)
    dtype = target.to_pandas_dtype()
    # Java goes through int for the small types: saturated there, then cut to the low bits.
    middle = np.int64 if dtype is np.int64 else np.int32
    limits = np.iinfo(middle)
    low, high = float(limits.min), float(limits.max)
    with np.errstate(invalid="ignore"):
        whole = np.trunc(vector.astype(np.float64))
        inside = (whole >= low) & (whole <= high)
        # The highest 64-bit integer has no double; the one above it counts as inside and saturates.
        exact = inside & (whole < 2.0**63)
        saturated = np.where(whole > 0, limits.max, limits.min)
        saturated = np.where(np.isnan(whole), 0, saturated)
        integers = np.where(exact, np.where(exact, whole, 0).astype(middle), saturated).astype(middle)
    result = build(integers.astype(dtype), valid, target)
    if how.legacy:
        return result
    return how.resolve_failures(result, ~inside | ~fits_integer(integers, target), value, OVERFLOW)


def _decimal_to_integer(value: pa.Array, how: Conversion) -> pa.Array:
    target = to_arrow(how.target)
    if value.type.precision > 18 and target.bit_width < 64 and not how.legacy:
        # Spark takes long decimals by way of a double on their way to the small integers.
        return _float_to_integer(_decimal_to_float(value, pa.float64()), how)
    valid = valid_mask(value)
    whole = decimals.lowered(value, 0) if value.type.scale else value
    words = decimals.low_words(whole)
    result = build(words.astype(target.to_pandas_dtype()), valid, target)
    if how.legacy:
        return result
    bad = ~fits_integer(words, target)
    if value.type.precision - value.type.scale > 18:
        # The low word is the number only if widening it again gives the number back.
        again = pa.array(words).cast(pa.decimal256(76, 0))
        bad |= np.asarray(pc.not_equal(again, whole.cast(pa.decimal256(76, 0))).fill_null(False))
    return how.resolve_failures(result, bad, value, OVERFLOW)


def _decimal_to_float(value: pa.Array, target: pa.DataType) -> pa.Array:
    """The nearest floating point number, rounded once."""
    if value.type.precision <= _EXACT_DOUBLE_DIGITS and target == pa.float64():
        # Both operands of the division are exact, so its one rounding is the right one.
        return build(decimals.low_words(value) / _POWERS[value.type.scale], valid_mask(value), target)
    return value.cast(pa.string()).cast(target)


def _to_decimal(value: pa.Array, how: Conversion) -> pa.Array:
    assert isinstance(how.target, t.DecimalType)
    precision, scale = how.target.precision, how.target.scale
    if pa.types.is_floating(value.type):
        result, bad = double_to_decimal(value, precision, scale, shortest=how.shortest)
    else:
        if pa.types.is_boolean(value.type):
            value = value.cast(pa.int32())
        if pa.types.is_integer(value.type):
            digits = {8: 3, 16: 5, 32: 10, 64: 19}[value.type.bit_width]
            value = value.cast(pa.decimal128(digits, 0))
        result, bad = decimals.fit(value, precision, scale)
    return result if bad is None else how.resolve_failures(result, bad, value, OUT_OF_RANGE)


def double_to_decimal(
    value: pa.Array, precision: int, scale: int, *, shortest: bool = False
) -> decimals.Checked:
    """Floating point numbers as decimals, rounded half up; NaN and the infinities become NULL."""
    vector, valid = unpack(value)
    vector = vector.astype(np.float64)
    finite = np.isfinite(vector)
    usable = finite if valid is None else finite & valid
    magnitude = np.abs(np.where(usable, vector, 0.0))
    bad = magnitude >= 10.0 ** (precision - scale) * 10
    tiny = magnitude < 10.0 ** -(scale + 2)
    if scale < len(_POWERS) and precision >= _EXACT_DOUBLE_DIGITS:
        scaled = np.rint(np.where(bad, 0.0, magnitude) * _POWERS[scale])
        exact = (scaled < 10.0**_EXACT_DOUBLE_DIGITS) & (scaled / _POWERS[scale] == magnitude)
    else:
        scaled, exact = np.zeros_like(magnitude), np.zeros(len(vector), np.bool_)
    rest = np.flatnonzero(usable & ~bad & ~tiny & ~exact)
    unscaled = np.where(exact & ~bad & ~tiny, np.copysign(scaled, vector), 0.0).astype(np.int64)
    whole = decimals.relabel(pa.array(unscaled).cast(pa.decimal128(38, 0)), pa.decimal128(precision, scale))
    if len(rest):
        whole, too_big = _through_text(vector, rest, whole, precision, scale, shortest)
        bad[rest] |= too_big
    return invalidate(whole, ~usable | bad), bad


def _through_text(
    vector: npt.NDArray[np.float64],
    rest: npt.NDArray[np.int64],
    whole: pa.Array,
    precision: int,
    scale: int,
    shortest: bool,
) -> tuple[pa.Array, Mask]:
    """The decimals of the rows ``rest`` made from their text, put into ``whole``."""
    # 17 significant digits below a leading one that is at most scale + 2 places after the point.
    text = digits_of(pa.array(vector[rest]), shortest=shortest)
    parsed, bad = decimals.fit(text.cast(pa.decimal256(76, scale + 19)), precision, scale)
    chosen = np.zeros(len(vector), np.bool_)
    chosen[rest] = True
    return pc.replace_with_mask(whole, pa.array(chosen), parsed), bad if bad is not None else chosen[:0]
