"""Casts from text: numbers, truth values, dates and timestamps, with Spark's grammar for each.

Text is taken apart by one regular expression per type (RE2, linear in the length of the text) and the
pieces are converted by column. Only rare forms go through a function per distinct value: floating point
numbers in hexadecimal, decimals with an exponent, and named time zones.
"""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.cast_numbers import fits_integer
from penstock.expr.functions.conversion import INVALID_INPUT, OUT_OF_RANGE, Conversion
from penstock.expr.functions.vectors import Mask, build, map_distinct
from penstock.expr.types import to_arrow

__all__ = [
    "SPACE",
    "matches",
    "pieces",
    "text_to_boolean",
    "text_to_decimal",
    "text_to_float",
    "text_to_integer",
]

_BLANKS = "".join(map(chr, [*range(33), 127]))
SPACE = r"[\x00-\x20\x7f]*"
_FLOAT = rf"^{SPACE}([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[dDfF]?{SPACE}$"
_TRUE = pa.array(["t", "true", "y", "yes", "1"])
_FALSE = pa.array(["f", "false", "n", "no", "0"])
_WORDS = {
    "inf": math.inf,
    "+inf": math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
    "nan": math.nan,
}


def matches(found: pa.Array) -> Mask:
    """The rows in which a regular expression was found."""
    return np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False), np.bool_)


def pieces(found: pa.Array) -> dict[str, pa.Array]:
    """The named groups of a match; a group that took no part is an empty string."""
    return {field.name: found.field(field.name) for field in found.type}


def _given(value: pa.Array) -> Mask:
    return matches(value)


def text_to_boolean(value: pa.Array, how: Conversion) -> pa.Array:
    """t, true, y, yes, 1 and their opposites in any case."""
    word = pc.ascii_lower(pc.ascii_trim(value, characters=_BLANKS))
    true = pc.is_in(word, value_set=_TRUE)
    known = pc.or_(true, pc.is_in(word, value_set=_FALSE))
    result = pc.if_else(known, true, pa.scalar(None, pa.bool_()))
    return how.resolve_failures(result, _given(value) & ~np.asarray(known), value, INVALID_INPUT)


def text_to_integer(value: pa.Array, how: Conversion) -> pa.Array:
    """A sign and digits. LEGACY mode also takes a fraction and cuts it off."""
    fraction = r"(?:\.\d*)?" if how.legacy else ""
    body = r"(?P<sign>[+-]?)0*(?P<digits>\d*)"
    found = pc.extract_regex(value, rf"^{SPACE}{body}{fraction}{SPACE}$")
    # The regular expression lets an empty number through: zeros have been taken off its digits.
    number = rf"^{SPACE}[+-]?\d+{fraction}{SPACE}$"
    if how.legacy:
        number = rf"^{SPACE}[+-]?(?:\d+\.?\d*|\.\d*){SPACE}$"
    wellformed = np.asarray(pc.match_substring_regex(value, number).fill_null(False)) & matches(found)
    parts = pieces(found)
    digits = parts["digits"].fill_null("")
    short = np.asarray(pc.less_equal(pc.binary_length(digits), 19))
    usable = wellformed & short
    text = pc.if_else(pa.array(usable), digits, "")
    magnitude = np.asarray(pc.if_else(pc.equal(text, ""), "0", text).cast(pa.uint64()))
    negative = np.asarray(pc.equal(parts["sign"].fill_null(""), "-"))
    limit = np.where(negative, np.uint64(2**63), np.uint64(2**63 - 1))
    inside = magnitude <= limit
    with np.errstate(over="ignore"):
        signed = np.where(negative, (~magnitude + np.uint64(1)), magnitude).astype(np.int64)
    target = to_arrow(how.target)
    usable &= inside & fits_integer(signed, target)
    result = build(signed.astype(target.to_pandas_dtype()), usable, target)
    return how.resolve_failures(result, _given(value) & ~usable, value, INVALID_INPUT)


def text_to_float(value: pa.Array, how: Conversion) -> pa.Array:
    """What Java's parser takes, and Spark's words for the infinities and NaN."""
    target = to_arrow(how.target)
    found = pc.extract_regex(value, _FLOAT.replace("(", "(?P<number>", 1))
    wellformed = matches(found)
    result = pieces(found)["number"]
    result = pc.if_else(pa.array(wellformed), result, pa.scalar(None, pa.string())).cast(target)
    rest = _given(value) & ~wellformed
    if not rest.any():
        return result
    odd = map_distinct(_odd_float, [value.filter(pa.array(rest))], int(rest.sum()), pa.float64())
    if target == pa.float32():
        with np.errstate(over="ignore"):
            odd = odd.cast(target, safe=False)
    bad = rest.copy()
    bad[rest] = ~matches(odd)
    return how.resolve_failures(pc.replace_with_mask(result, pa.array(rest), odd), bad, value, INVALID_INPUT)


def _odd_float(text: str) -> float | None:
    word = text.strip(_BLANKS).lower()
    if word in _WORDS:
        return _WORDS[word]
    # Java's parser knows NaN and Infinity by themselves, with any sign, and hexadecimal numbers.
    if word.lstrip("+-") == "nan" and text.strip().lstrip("+-") == "NaN" and len(word) <= 4:
        return math.nan
    body = word.rstrip("df") if "p" in word else ""
    if body.lstrip("+-").startswith("0x") and "p" in body:
        try:
            return float.fromhex(body)
        except (ValueError, OverflowError):
            return None
    return None


def text_to_decimal(value: pa.Array, how: Conversion) -> pa.Array:
    """A decimal rounded half up; too many digits before the point are out of range."""
    assert isinstance(how.target, t.DecimalType)
    precision, scale = how.target.precision, how.target.scale
    found = pc.extract_regex(value, rf"^{SPACE}(?P<sign>[+-]?)0*(?P<whole>\d*)\.?(?P<part>\d*){SPACE}$")
    number = rf"^{SPACE}[+-]?(?:\d+\.?\d*|\.\d+){SPACE}$"
    plain = np.asarray(pc.match_substring_regex(value, number).fill_null(False))
    parts = pieces(found)
    whole, part = parts["whole"].fill_null(""), parts["part"].fill_null("")
    large = np.asarray(pc.greater(pc.binary_length(whole), precision - scale))
    usable = pa.array(plain & ~large)
    # Digits beyond the one that decides about rounding half up cannot change the result.
    part = pc.utf8_slice_codeunits(part, 0, scale + 1)
    text = pc.binary_join_element_wise(parts["sign"].fill_null(""), "0", whole, ".", part, "0", "")
    text = pc.if_else(usable, text, pa.scalar(None, pa.string()))
    result, bad = decimals.fit(text.cast(pa.decimal256(76, scale + 2)), precision, scale)
    bad = (plain & large) | (False if bad is None else bad)
    rest = _given(value) & ~plain
    malformed = rest
    if rest.any():
        odd, malformed, overflown = _odd_decimals(value, rest, precision, scale)
        result = pc.replace_with_mask(result, pa.array(rest), odd)
        bad |= overflown
    result = how.resolve_failures(result, malformed, value, INVALID_INPUT)
    return how.resolve_failures(result, bad, value, OUT_OF_RANGE)


def _odd_decimals(value: pa.Array, rest: Mask, precision: int, scale: int) -> tuple[pa.Array, Mask, Mask]:
    """Numbers with an exponent: their decimals, the rows that are no numbers, and those out of range."""
    texts = value.filter(pa.array(rest))
    form = rf"^{SPACE}[+-]?(?:\d+\.?\d*|\.\d+)[eE][+-]?\d+{SPACE}$"
    numbers = np.asarray(pc.match_substring_regex(texts, form))
    context = decimal.Context(prec=1000)

    def compute(text: str) -> decimal.Decimal | None:
        number = decimal.Decimal(text.strip(_BLANKS))
        if number and number.adjusted() > 40:
            return None
        step = decimal.Decimal(1).scaleb(-scale)
        rounded = number.quantize(step, decimal.ROUND_HALF_UP, context)
        return rounded if not rounded or rounded.adjusted() + scale < precision else None

    texts = pc.if_else(pa.array(numbers), texts, pa.scalar(None, pa.string()))
    result = map_distinct(compute, [texts], len(texts), pa.decimal128(precision, scale))
    malformed, overflown = np.zeros(len(value), np.bool_), np.zeros(len(value), np.bool_)
    malformed[rest] = ~numbers
    overflown[rest] = numbers & ~matches(result)
    return result, malformed, overflown


def integers(text: pa.Array) -> npt.NDArray[Any]:
    """Short strings of digits as integers; an empty string or NULL counts as zero."""
    filled = text.fill_null("")
    return np.asarray(pc.if_else(pc.equal(filled, ""), "0", filled).cast(pa.int64()))
