"""Finding text in text: positions, prefixes, LIKE.

Patterns that are constants, nearly all of them, become one pass of Arrow's matchers (RE2: linear in the
text). Where the pattern is a column, the rows of each distinct pattern are matched together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import EvaluationError, UnsupportedQuery
from penstock.expr.functions.logic import scatter
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, same_as_first
from penstock.expr.functions.text_search import contains
from penstock.expr.functions.text_slices import Characters
from penstock.expr.functions.vectors import as_array, build, constant, is_scalar, map_distinct, valid_mask
from penstock.expr.nodes import Call, Expr, Literal

__all__ = ["by_pattern", "like_to_regex"]

_BOOLEAN = always(t.BooleanType())
_INTEGER = always(t.IntegerType())
_STRING = always(t.StringType())


def by_pattern(
    text: Value, pattern: Value, length: int, match: Callable[[pa.Array, str], pa.Array]
) -> pa.Array:
    """``match`` applied to the rows of each distinct pattern."""
    subject = as_array(text, length)
    if is_scalar(pattern):
        return match(subject, constant(pattern))
    encoded = pc.dictionary_encode(pattern)
    codes = np.asarray(encoded.indices.fill_null(-1))
    result: pa.Array | None = None
    for code, one in enumerate(encoded.dictionary.to_pylist()):
        rows = np.flatnonzero(codes == code)
        part = scatter(match(subject.take(pa.array(rows)), one), rows, length)
        result = part if result is None else pc.coalesce(result, part)
    return pa.nulls(length, pa.bool_()) if result is None else result


def _contains(text: pa.Array, wanted: str | bytes) -> pa.Array:
    found = contains(text, wanted) if wanted else np.ones(len(text), np.bool_)
    return build(found, valid_mask(text), pa.bool_())


_SIMPLE: dict[str, Callable[[pa.Array, Any], pa.Array]] = {
    "StartsWith": pc.starts_with,
    "EndsWith": pc.ends_with,
    "Contains": _contains,
}


@function(*_SIMPLE, result=_BOOLEAN)
def find(call: Call, args: list[Value], length: int) -> Value:
    return by_pattern(args[0], args[1], length, _SIMPLE[call.function])


@lru_cache(maxsize=1024)
def like_to_regex(pattern: str, escape: str) -> str:
    """LIKE's pattern as a regular expression for the whole text."""
    result, position = [], 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == escape:
            position += 1
            following = pattern[position : position + 1]
            if following not in ("_", "%", escape) or not following:
                condition = (
                    "INVALID_FORMAT.ESC_IN_THE_MIDDLE" if following else "INVALID_FORMAT.ESC_AT_THE_END"
                )
                text = f"in the pattern {pattern!r} the character {escape!r} must stand before _, % or itself"
                raise EvaluationError(condition, text)
            result.append(re.escape(following))
        elif letter == "_":
            result.append("(?s:.)")
        elif letter == "%":
            result.append("(?s:.*)")
        else:
            result.append(re.escape(letter))
        position += 1
    return f"^(?:{''.join(result)})$"


def _escape_of(call: Call) -> str:
    return str(call.option("escapeChar") or "\\")


def _like_raises(call: Call) -> bool:
    """A pattern that is known and well formed never fails."""
    pattern = call.args[1]
    if not isinstance(pattern, Literal):
        return True
    try:
        like_to_regex(pattern.value or "", _escape_of(call))
    except EvaluationError:
        return True
    return False


@function("Like", result=_BOOLEAN, options=("escapeChar",), raises=_like_raises)
def like(call: Call, args: list[Value], length: int) -> Value:
    escape = _escape_of(call)
    return by_pattern(
        args[0], args[1], length, lambda text, p: pc.match_substring_regex(text, like_to_regex(p, escape))
    )


def _list_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if options["patterns"] is None:
        raise UnsupportedQuery("LIKE ALL or LIKE ANY", reason="the plan does not show its patterns")
    return t.BooleanType()


@function(
    "LikeAll", "LikeAny", "NotLikeAll", "NotLikeAny", result=_list_type, options=("patterns",), nullable=True
)
def like_several(call: Call, args: list[Value], length: int) -> Value:
    text = as_array(args[0], length)
    result: Value = pa.scalar(call.function.endswith("All"))
    for pattern in call.option("patterns"):
        if pattern is None:
            one: Value = pa.scalar(None, pa.bool_())
        else:
            one = pc.match_substring_regex(text, like_to_regex(pattern, "\\"))
        one = pc.invert(one) if call.function.startswith("Not") else one
        result = (pc.and_kleene if call.function.endswith("All") else pc.or_kleene)(result, one)
    return pc.if_else(pc.is_valid(text), result, pa.scalar(None, pa.bool_()))


def _position(text: pa.Array, wanted: str) -> pa.Array:
    """The number of the first character of ``wanted``, counted from 1; 0 if it is not there."""
    found = pc.find_substring(text, pattern=wanted)
    byte = np.asarray(found.fill_null(0), np.int64)
    index = Characters.of(text).index_of_byte(np.maximum(byte, 0)) + 1
    return build(np.where(byte < 0, 0, index).astype(np.int32), valid_mask(text), pa.int32())


@function("StringInstr", result=_INTEGER)
def instr(call: Call, args: list[Value], length: int) -> Value:
    if is_scalar(args[1]):
        return _position(as_array(args[0], length), constant(args[1]))
    return map_distinct(lambda text, wanted: text.find(wanted) + 1, args, length, pa.int32())


@function("StringInstrWithOccurrence", result=_INTEGER, raises=True)
def instr_occurrence(call: Call, args: list[Value], length: int) -> Value:
    """The n-th occurrence from a character on; from a negative one, which counts from the end, backwards."""

    def one(text: str, wanted: str, start: int, occurrence: int) -> int:
        if occurrence < 1:
            condition = "INVALID_PARAMETER_VALUE.OCCURRENCE"
            raise EvaluationError(condition, f"there is no occurrence {occurrence}", expression=str(call))
        if start == 0 or not wanted:
            return int(not wanted)
        place = start - 2 if start > 0 else len(text) + start + 1
        for _ in range(occurrence):
            place = text.find(wanted, place + 1) if start > 0 else _rfind(text, wanted, place - 1)
            if place < 0:
                return 0
        return place + 1

    return map_distinct(one, args, length, pa.int32())


_IN_BYTES: dict[str, Callable[[bytes, bytes], bool]] = {
    "contains": lambda data, part: part in data,
    "startsWith": bytes.startswith,
    "endsWith": bytes.endswith,
}


@function(*(f"ByteArrayMethods.{name}" for name in _IN_BYTES), result=_BOOLEAN)
def find_bytes(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(_IN_BYTES[call.function.partition(".")[2]], args, length, pa.bool_())


@function("StringLocate", result=_INTEGER, strict=False)
def locate(call: Call, args: list[Value], length: int) -> Value:
    """Searches from a character on. A NULL start gives 0, whatever the texts are."""
    wanted, text, start = args
    if all(is_scalar(arg) and arg.is_valid for arg in (wanted, start)) and constant(start) == 1:
        return _position(as_array(text, length), constant(wanted))

    def one(needle: str, hay: str, first: int) -> int:
        if first < 1:
            return 0
        return hay.find(needle, first - 1) + 1 if needle else 1

    if any(is_scalar(arg) and not arg.is_valid for arg in (wanted, text)):
        found: Value = pa.nulls(length, pa.int32())
    elif is_scalar(start) and not start.is_valid:
        return pa.scalar(0, pa.int32())
    else:
        found = map_distinct(one, args, length, pa.int32())
    return pc.if_else(pc.is_null(as_array(start, length)), pa.scalar(0, pa.int32()), found)


@function("SubstringIndex", result=same_as_first)
def substring_index(call: Call, args: list[Value], length: int) -> Value:
    """Everything before the n-th delimiter, counted from the end for a negative n."""
    return map_distinct(_substring_index, args, length, pa.string())


def _substring_index(text: str, delimiter: str, count: int) -> str:
    if not delimiter or count == 0:
        return ""
    if count > 0:
        place = -1
        for _ in range(count):
            place = text.find(delimiter, place + 1)
            if place < 0:
                return text
        return text[:place]
    place, end = 0, len(text) - len(delimiter) + 1
    for _ in range(-count):
        place = _rfind(text, delimiter, end - 1)
        if place < 0:
            return text
        end = place
    return text[place + len(delimiter) :]


def _rfind(text: str, delimiter: str, start: int) -> int:
    """The last occurrence that begins at ``start`` or before."""
    return text.rfind(delimiter, 0, start + len(delimiter)) if start >= 0 else -1


@function("FindInSet", result=_INTEGER)
def find_in_set(call: Call, args: list[Value], length: int) -> Value:
    def one(text: str, words: str) -> int:
        return 0 if "," in text or text not in words.split(",") else words.split(",").index(text) + 1

    return map_distinct(one, args, length, pa.int32())


@function("StringSplitSQL", result=always(t.ArrayType(t.StringType(), False)))
def split_literally(call: Call, args: list[Value], length: int) -> Value:
    """Splits at a delimiter that is plain text; an empty one leaves the text whole."""
    delimiter = args[1]
    if is_scalar(delimiter) and constant(delimiter):
        return pc.split_pattern(as_array(args[0], length), constant(delimiter))
    kind = pa.list_(pa.string())
    return map_distinct(lambda s, d: s.split(d) if d else [s], args, length, kind)
