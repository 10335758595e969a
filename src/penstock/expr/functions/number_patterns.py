"""to_number, try_to_number and to_char of numbers: patterns of digits, as in Oracle and PostgreSQL.

``9`` is a digit that may be missing, a row of digits that begins with ``0`` must be complete; ``,`` or ``G``
separates groups, ``.`` or ``D`` is the point, ``$`` the currency, ``S`` and ``MI`` a sign, ``PR`` angle
brackets around negative numbers. Spark checks the pattern when the query is planned, so it is known to be one
here. Values are read and printed once per distinct value.
"""

from __future__ import annotations

import decimal
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.vectors import as_array, map_distinct
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []

_TOKEN = re.compile(r"0[09]*|9[09]*|[,G]|[.D]|\$|S|MI|PR")


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The tokens of a pattern, with ``PR`` as the brackets it stands for."""

    tokens: tuple[str, ...]
    whole: int
    fraction: int


@functools.cache
def _pattern(text: str) -> _Pattern:
    spelled = {"G": ",", "D": ".", "PR": ">"}
    tokens = [spelled.get(token, token) for token in _TOKEN.findall(text.upper())]
    if ">" in tokens:
        tokens.insert(0, "<")
    point = tokens.index(".") if "." in tokens else len(tokens)
    digits = [
        sum(len(token) for token in part if token[0] in "09") for part in (tokens[:point], tokens[point:])
    ]
    return _Pattern(tuple(tokens), digits[0], digits[1])


class _Reading:
    """One text, read token by token."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0
        self._before: list[str] = []
        self._after: list[str] = []
        self._behind_point = self._negative = False

    def number(self, pattern: _Pattern) -> decimal.Decimal | None:
        """The number, or None if the text is not of the pattern."""
        groups: list[str] = []
        fraction = False
        for token in (*pattern.tokens, ""):
            if token and (token == "," or token[0] in "09"):
                groups.append(token)
                continue
            if groups and not self._digits([group for group in groups if group != ","], fraction):
                return None
            groups, fraction = [], fraction or token == "."
            if token and not self._sign(token):
                return None
        digits = "".join(self._before) + "." + "".join(self._after)
        if self._place < len(self._text) or len(digits) == 1:
            return None
        value = decimal.Decimal(digits.rstrip(".") if self._before else digits)
        return -value if self._negative else value

    def _next_is(self, letter: str) -> bool:
        if self._text[self._place : self._place + 1] != letter:
            return False
        self._place += 1
        return True

    def _sign(self, token: str) -> bool:
        match token:
            case ".":
                self._behind_point = self._next_is(".")
            case "$":
                return self._next_is("$")
            case "S" if self._next_is("+"):
                pass
            case "S" | "MI":
                self._negative ^= self._next_is("-")
            case "<":
                self._negative ^= self._next_is("<")
            case ">" if self._negative:
                return self._next_is(">")
        return True

    def _digits(self, expected: list[str], fraction: bool) -> bool:
        """Reads digits, commas and blanks, and compares the sizes of groups from the last one on.

        Only before the point are there digits that must not be missing."""
        sizes = [0]
        while self._place < len(self._text):
            letter = self._text[self._place]
            if letter == ",":
                sizes.append(0)
            elif letter in "0123456789":
                sizes[-1] += 1
                (self._after if self._behind_point else self._before).append(letter)
            elif not letter.isspace():
                break
            self._place += 1
        if len(sizes) > len(expected):
            return False
        sizes = sizes[::-1] + [0] * (len(expected) - len(sizes))
        return all(
            size == len(token) if token[0] == "0" and not fraction else size <= len(token)
            for size, token in zip(sizes, reversed(expected), strict=True)
        )


def _number_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    text = literal_of(args[1], "to_number", "pattern")
    if text is None:
        return t.DecimalType(38, 0)
    pattern = _pattern(text)
    return t.DecimalType(pattern.whole + pattern.fraction, pattern.fraction)


@function("ToNumber", "TryToNumber", result=_number_type, nullable=True, raises=True)
def to_number(call: Call, args: list[Value], length: int) -> Value:
    fails = call.function == "ToNumber"

    def one(text: str, pattern: str) -> decimal.Decimal | None:
        value = _Reading(text).number(_pattern(pattern))
        if value is None and fails:
            message = f"the text {text!r} does not match the pattern {pattern}"
            raise EvaluationError("INVALID_FORMAT.MISMATCH_INPUT", message, expression=str(call))
        return value

    return map_distinct(one, args, length, to_arrow(call.data_type))


def _text_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    literal_of(args[1], "to_char", "pattern")
    return t.StringType()


@function("ToCharacter", result=_text_type)
def to_char(call: Call, args: list[Value], length: int) -> Value:
    """A number with more digits than the pattern has is printed as marks."""

    def one(number: decimal.Decimal, pattern: str) -> str:
        return _printed(number, _pattern(pattern))

    return map_distinct(one, [as_array(args[0], length), args[1]], length, pa.string())


def _printed(number: decimal.Decimal, pattern: _Pattern) -> str:
    whole, _, fraction = f"{number.copy_abs():f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    fits = len(whole) <= pattern.whole and len(fraction) <= pattern.fraction
    out: list[str] = []
    behind_point = False
    left = pattern.whole if fits else 0
    for token in pattern.tokens:
        if token[0] in "09" and not fits:
            out += "#" * len(token)
        elif token[0] in "09" and behind_point:
            out += fraction[: len(token)].ljust(len(token), "0")
            fraction = fraction[len(token) :]
        elif token[0] in "09":
            for _ in token:
                known = left <= len(whole)
                _add(out, whole[len(whole) - left] if known else "0" if token[0] == "0" else " ")
                left -= 1
        elif token == ",":
            _add(out, "," if out and out[-1].isdigit() and fits else " ")
        elif token == ".":
            if out and out[-1] == " ":
                out[-1] = "0"
            out.append(".")
            behind_point = True
        else:
            _add_sign(out, token, number < 0)
    return "".join(out)


def _add(out: list[str], letter: str) -> None:
    """A blank goes in front of a sign that was just written, so that signs stand next to digits."""
    if letter == " " and out and out[-1] in "+-<":
        out.insert(len(out) - 1, letter)
    else:
        out.append(letter)


def _add_sign(out: list[str], token: str, negative: bool) -> None:
    match token:
        case "$":
            out.append("$")
        case "S":
            _behind_digits(out, "-" if negative else "+")
        case "MI" if negative:
            _behind_digits(out, "-")
        case "MI":
            out.append(" ")
        case "<" if negative:
            out.append("<")
        case ">":
            out += [">"] if negative else [" ", " "]


def _behind_digits(out: list[str], sign: str) -> None:
    blanks = len(out) - len("".join(out).rstrip(" "))
    out.insert(len(out) - blanks, sign)
