"""``format_number``: numbers with grouped thousands, as Java's ``DecimalFormat`` prints them.

Doubles are rounded half to even from their exact binary value. A pattern of one's own may have digits (``#``
and ``0``), a comma that sets the size of groups, a point, and text before and after; others are refused.
"""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.float_text import java_double
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.vectors import as_array, map_distinct
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_PATTERN = re.compile(r"([^#0,.;%‰¤E'-]*)([#0,]*)(?:\.([#0]*))?([^#0,.;%‰¤E'-]*)")
_EXACT = decimal.Context(prec=2000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


@dataclass(frozen=True, slots=True)
class _Form:
    """A pattern taken apart: the least and most digits on both sides of the point, the size of groups."""

    prefix: str
    suffix: str
    whole: int
    least: int
    most: int
    group: int


@functools.cache
def _form(pattern: str) -> _Form:
    found = _PATTERN.fullmatch(pattern)
    if found is None or not _is_ordered(found[2].replace(",", ""), (found[3] or "")[::-1]):
        raise UnsupportedQuery(
            f"the number pattern {pattern!r}", advice="Use digits (# and 0), a comma and a point only"
        )
    whole, fraction = found[2], found[3] or ""
    digits = whole.replace(",", "")
    group = len(whole) - whole.rfind(",") - 1 if "," in whole else 0
    least = digits.count("0") or int(found[3] is not None and "0" not in fraction)
    return _Form(found[1], found[4], least, fraction.count("0"), len(fraction), group)


def _is_ordered(*parts: str) -> bool:
    """Whether the places that may be left out stand outside of those that may not."""
    return all("#" not in part.lstrip("#") for part in parts)


def _printed(number: Any, form: _Form, shortest: bool) -> str:
    if isinstance(number, float) and math.isnan(number):
        return "NaN"
    negative = math.copysign(1.0, number) < 0 if isinstance(number, float) else number < 0
    sign = "-" if negative else ""
    if isinstance(number, float) and math.isinf(number):
        return f"{sign}{form.prefix}∞{form.suffix}"
    unit = decimal.Decimal(1).scaleb(-form.most)
    digits = decimal.Decimal(java_double(number, shortest=shortest) if isinstance(number, float) else number)
    if digits == digits.quantize(unit, decimal.ROUND_DOWN, _EXACT):
        # Where nothing is to be rounded Java prints the digits of the text form and then zeros.
        number = digits
    rounded = decimal.Decimal(number).copy_abs().quantize(unit, decimal.ROUND_HALF_EVEN, _EXACT)
    whole, _, fraction = f"{rounded:f}".partition(".")
    fraction = fraction[: form.least] + fraction[form.least :].rstrip("0")
    whole = whole.lstrip("0").rjust(form.whole, "0")
    if not whole and not fraction:
        whole = "0"
    if form.group:
        first = len(whole) % form.group
        groups = [whole[:first], *(whole[i : i + form.group] for i in range(first, len(whole), form.group))]
        whole = ",".join(part for part in groups if part)
    return f"{sign}{form.prefix}{whole}{'.' if fraction else ''}{fraction}{form.suffix}"


def _type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if isinstance(args[1].data_type, t.StringType):
        pattern = literal_of(args[1], "format_number", "pattern")
        if pattern:
            _form(pattern)
    return t.StringType()


@function("FormatNumber", result=_type, nullable=True, printed=True)
def format_number(call: Call, args: list[Value], length: int) -> Value:
    """A negative number of digits gives NULL; an empty pattern means no digits behind the point."""

    shortest = bool(call.option("shortest"))

    def one(number: Any, digits: int | str) -> str | None:
        if isinstance(digits, str):
            return _printed(number, _form(digits or "#,##0"), shortest)
        if isinstance(number, float) and 0 <= digits < 15 and abs(number) < 10.0 ** (15 - digits):
            return f"{number:,.{digits}f}"  # The same where a double has more digits than are printed.
        return None if digits < 0 else _printed(number, _Form("", "", 1, digits, digits, 3), shortest)

    return map_distinct(one, [as_array(args[0], length), args[1]], length, pa.string())
