"""``format_string`` (also ``printf``): Java's format language, for the conversions that analytic queries use.

The format must be a literal; it is parsed when the view is created, and a conversion that has no meaning
here, or none for the type of its argument, is refused there. Rows are printed once per distinct tuple of
arguments.
"""

from __future__ import annotations

import decimal
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.casts import cast_value
from penstock.expr.functions.conversion import Conversion
from penstock.expr.functions.float_text import java_double
from penstock.expr.functions.registry import LEGACY, Value, function
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.vectors import as_array, build, map_distinct, unpack
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_SPECIFIER = re.compile(
    r"%(?:(?P<number>\d+)\$|(?P<again><))?(?P<flags>[-#+ 0,(]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?"
    r"(?P<kind>[a-zA-Z%])"
)
_INTEGRAL = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_FLOATING = (t.FloatType, t.DoubleType)
_PRINTED = (*_INTEGRAL, *_FLOATING, t.BooleanType, t.StringType, t.DecimalType)
_NUMBERED = (
    *(t.DateType, t.TimeType, t.TimestampType, t.TimestampNTZType),
    *(t.DayTimeIntervalType, t.YearMonthIntervalType),
)
"""Types that Spark hands over as the number inside: a date prints as days since 1970."""
_WIDE = decimal.Context(prec=2000, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


@dataclass(frozen=True, slots=True)
class _Specifier:
    """One conversion: what it prints, how, and of which argument (none for ``%n`` and ``%%``)."""

    kind: str
    flags: str
    width: int
    precision: int | None
    argument: int | None

    def padded(self, text: str) -> str:
        """The text in its width, to the left or to the right. Java counts in units of UTF-16."""
        padding = " " * (self.width - _units(text))
        return text + padding if "-" in self.flags else padding + text


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _refused(text: str, reason: str) -> UnsupportedQuery:
    return UnsupportedQuery(f"the conversion {text} of format_string", reason=reason)


@functools.cache
def _parsed(text: str) -> tuple[str | _Specifier, ...]:
    pieces: list[str | _Specifier] = []
    place = ordinary = last = 0
    while (start := text.find("%", place)) >= 0:
        found = _SPECIFIER.match(text, start)
        if found is None:
            raise _refused(text[start : start + 2], "it is not a conversion of Java's")
        kind, argument = found["kind"], None
        if kind not in "n%":
            if found["number"]:
                argument = int(found["number"]) - 1
            elif not found["again"]:
                argument, ordinary = ordinary, ordinary + 1
            else:
                argument = last
            last = argument
        precision = int(found["precision"]) if found["precision"] else None
        pieces += [
            text[place:start],
            _Specifier(kind, found["flags"], int(found["width"] or 0), precision, argument),
        ]
        place = found.end()
    return (*pieces, text[place:])


def _type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    text = literal_of(args[0], "format_string", "format")
    for piece in _parsed(text or ""):
        if isinstance(piece, _Specifier):
            _check(piece, [arg.data_type for arg in args[1:]])
    return t.StringType()


def _check(piece: _Specifier, kinds: list[t.DataType]) -> None:
    name = f"%{piece.kind}"
    if piece.argument is None:
        return
    if piece.argument >= len(kinds):
        raise _refused(name, f"there is no argument number {piece.argument + 1}")
    kind = kinds[piece.argument]
    allowed: tuple[type[t.DataType], ...]
    if piece.kind in "sSbB":
        allowed = (*_PRINTED, *_NUMBERED, t.NullType)
    elif piece.kind in "dxXo":
        allowed = (*_INTEGRAL, *_NUMBERED, t.NullType)
    elif piece.kind in "feE":
        allowed = (*_FLOATING, t.NullType)
    elif piece.kind == "c":
        allowed = (t.ByteType, t.ShortType, t.IntegerType, t.NullType)
    else:
        raise _refused(name, "it is not implemented")
    if not isinstance(kind, allowed):
        raise _refused(name, f"it does not print values of type {kind.simpleString()}")
    if (piece.kind in "xXo" and set(piece.flags) & set("+ ,(")) or "#" in piece.flags:
        raise _refused(name, f"the flags {piece.flags} are not implemented")


def _grouped(digits: str, flags: str) -> str:
    whole, point, fraction = digits.partition(".")
    return f"{int(whole):,}{point}{fraction}" if "," in flags and whole.isdigit() else digits


def _signed(piece: _Specifier, negative: bool, digits: str) -> str:
    """A number with its sign as the flags want it, filled with zeros if they do."""
    flags = piece.flags
    before = "(" if negative and "(" in flags else "-" if negative else "+" if "+" in flags else ""
    before = before or (" " if " " in flags else "")
    after = ")" if before == "(" else ""
    if "0" in flags and digits[0].isdigit():
        digits = digits.rjust(piece.width - len(before) - len(after), "0")
    return piece.padded(before + digits + after)


def _integer(piece: _Specifier, value: int, bits: int) -> str:
    if piece.kind == "d":
        return _signed(piece, value < 0, _grouped(str(abs(value)), piece.flags))
    digits = format(value % 2**bits, piece.kind)
    return piece.padded(digits.rjust(piece.width, "0") if "0" in piece.flags else digits)


def _float(piece: _Specifier, value: float, shortest: bool) -> str:
    """Rounded half up from the digits that Java prints, not from the exact binary value."""
    printed = java_double(value, shortest=shortest)
    negative = printed.startswith("-")
    if not printed[-1].isdigit():
        word = printed.lstrip("-").upper() if piece.kind == "E" else printed.lstrip("-")
        if negative and "(" in piece.flags:
            return piece.padded(f"({word})")
        return piece.padded(
            ("-" if negative else "+" if "+" in piece.flags and word.lower() != "nan" else "") + word
        )
    number = abs(decimal.Decimal(printed))
    precision = 6 if piece.precision is None else piece.precision
    if piece.kind == "f":
        rounded = number.quantize(decimal.Decimal(1).scaleb(-precision), decimal.ROUND_HALF_UP, _WIDE)
        return _signed(piece, negative, _grouped(f"{rounded:f}", piece.flags))
    exponent = number.adjusted() if number else 0
    figures = number.scaleb(-exponent, _WIDE)
    figures = figures.quantize(decimal.Decimal(1).scaleb(-precision), decimal.ROUND_HALF_UP, _WIDE)
    if figures >= 10:
        figures, exponent = figures.scaleb(-1), exponent + 1
        figures = figures.quantize(decimal.Decimal(1).scaleb(-precision), context=_WIDE)
    mark = "e" if piece.kind == "e" else "E"
    return _signed(piece, negative, f"{figures:f}{mark}{'-' if exponent < 0 else '+'}{abs(exponent):02d}")


def _shown(piece: _Specifier, value: Any, bits: int, shortest: bool) -> str:
    if piece.kind == "n":
        return "\n"
    if piece.kind == "%":
        return piece.padded("%")
    if piece.kind in "bB":
        text = "false" if value is None else str(value).lower() if isinstance(value, bool) else "true"
    elif value is None or piece.kind in "sS":
        text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    elif piece.kind == "c":
        text = chr(value)
    elif piece.kind in "feE":
        return _float(piece, value, shortest)
    else:
        return _integer(piece, value, bits)
    if piece.precision is not None:
        units = text.encode("utf-16-le", "surrogatepass")[: 2 * piece.precision]
        text = units.decode("utf-16-le", "replace").replace("\ufffd", "?")
    return piece.padded(text.upper() if piece.kind.isupper() else text)


def _handed(value: Value, length: int, expr: Expr, kinds: set[str], call: Call) -> Value:
    """The argument as the printing functions take it: as text if it is only printed as such."""
    array = as_array(value, length)
    if isinstance(expr.data_type, _NUMBERED):
        vector, valid = unpack(array)
        array = build(vector.astype("i8"), valid, pa.int64())
        return array.cast(pa.string()) if kinds <= set("sS") else array
    if kinds <= set("sS") and not isinstance(expr.data_type, (t.BooleanType, t.NullType)):
        return cast_value(array, Conversion(call, expr.data_type, t.StringType(), LEGACY, "UTC"))
    return array


@function("FormatString", result=_type, strict=False, printed=True)
def format_string(call: Call, args: list[Value], length: int) -> Value:
    """NULL arguments print as ``null``; only a NULL format gives NULL."""
    text = literal_of(call.args[0], "format_string", "format")
    if text is None:
        return pa.scalar(None, pa.string())
    pieces = _parsed(text)
    specifiers = [piece for piece in pieces if isinstance(piece, _Specifier)]
    widths = [
        64 if isinstance(arg.data_type, t.LongType) else 32 if isinstance(arg.data_type, t.IntegerType) else 8
        for arg in call.args[1:]
    ]
    kinds = [
        {piece.kind for piece in specifiers if piece.argument == number} for number in range(len(args) - 1)
    ]
    values = [
        _handed(arg, length, expr, used, call)
        for arg, expr, used in zip(args[1:], call.args[1:], kinds, strict=True)
    ]

    shortest = bool(call.option("shortest"))

    def one(*row: Any) -> str:
        def show(piece: str | _Specifier) -> str:
            if isinstance(piece, str):
                return piece
            number = piece.argument
            value, bits = (None, 0) if number is None else (row[number], widths[number])
            return _shown(piece, value, bits, shortest)

        return "".join(map(show, pieces))

    printer: Callable[..., str] = one
    return map_distinct(printer, values, length, pa.string(), nulls=True)
