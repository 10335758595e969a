"""Floating point numbers as Java prints them.

Java prints as few digits as tell a number from its neighbours, but at least two. Before version 19 it printed
large whole numbers (those between the largest integer that has all its bits in the number, and 2^63) with
digits of the exact integer: all but so many as the bits that are missing could change. Which Java runs Spark
is the session's matter, so functions that print numbers have an option ``shortest`` for the new way.
"""

from __future__ import annotations

import decimal
import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.functions.vectors import Mask, map_distinct, unpack

__all__ = ["digits_of", "float_to_text", "java_double"]

_BITS = {np.dtype(np.float64): 53, np.dtype(np.float32): 24}
_LOST_DIGITS = np.array([math.floor(bits * math.log10(2)) for bits in range(64)])
_LOST_DIGITS[:2] = 0
_TENS = 10 ** np.arange(19)


def digits_of(value: pa.Array, *, shortest: bool) -> pa.Array:
    """Texts of the numbers that Java has in mind when it prints, in any notation."""
    text = value.cast(pa.string())
    if shortest or len(value) == 0:
        return text
    vector, valid = unpack(value)
    magnitude = np.abs(vector)
    with np.errstate(invalid="ignore"):
        large = (magnitude >= 2.0 ** _BITS[vector.dtype]) & (magnitude < 2.0**63)
    if not large.any():
        return text
    chosen = pa.array(large if valid is None else large & valid)
    numbers = vector[np.asarray(chosen, np.bool_)].astype(np.float64)
    return pc.replace_with_mask(
        text, chosen, pa.array(_whole(numbers, _BITS[vector.dtype])).cast(pa.string())
    )


def _whole(numbers: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.int64]:
    """Large whole numbers with the digits that are not significant rounded away."""
    exponent = np.frexp(numbers)[1] - 1
    lost = np.where(exponent > bits, exponent - bits - 1, 0)
    unit = _TENS[_LOST_DIGITS[lost]]
    integers = np.abs(numbers).astype(np.uint64).astype(np.int64)
    rest = integers % unit
    rounded = integers - rest + np.where((rest >= unit // 2) & (unit > 1), unit, 0)
    return np.asarray(np.where(numbers < 0, -rounded, rounded))


def float_to_text(value: pa.Array, *, shortest: bool) -> pa.Array:
    """Numbers as ``Double.toString`` and ``Float.toString`` print them."""
    vector, valid = unpack(value)
    magnitude = np.abs(vector)
    with np.errstate(invalid="ignore"):
        plain = (magnitude >= 1e-3) & (magnitude < 1e7)
    text = digits_of(value, shortest=shortest)
    whole = pc.invert(pc.match_substring(text, "."))
    result = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    rest: Mask = ~plain if valid is None else ~plain & valid
    if not rest.any():
        return result
    single = vector.dtype == np.float32
    chosen = pa.array(rest)
    texts = [text.filter(chosen)]
    printed = map_distinct(lambda one: _scientific(one, single), texts, int(rest.sum()), pa.string())
    return pc.replace_with_mask(result, chosen, printed)


def _scientific(text: str, single: bool) -> str:
    words = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "0": "0.0", "-0": "-0.0"}
    if text in words:
        return words[text]
    sign, digits, exponent = decimal.Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    power = len(digits) - 1 + exponent
    figures = "".join(map(str, digits)).rstrip("0")
    if len(figures) == 1:
        # Of two digits those nearest to the number: the smallest double is 4.9E-324 and not 5.0E-324.
        nearest = decimal.Decimal(f"{abs(float(np.float32(text) if single else float(text))):.1e}")
        power, figures = nearest.adjusted(), "".join(map(str, nearest.as_tuple().digits))
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"


def java_double(number: float, *, shortest: bool) -> str:
    """One double as Java prints it: the same as above, without a column."""
    magnitude = abs(number)
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        return repr(number)
    if not shortest and 2.0**53 <= magnitude < 2.0**63:
        return _scientific(str(_whole(np.array([number]), 53)[0]), single=False)
    return _scientific(repr(number), single=False)
