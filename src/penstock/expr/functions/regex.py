"""Functions of regular expressions: RLIKE, regexp_replace, regexp_extract and split.

A constant pattern is translated when the view is created, so a pattern that cannot be is refused there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import EvaluationError, UnsupportedQuery
from penstock.expr.functions.java_regex import java_regex
from penstock.expr.functions.registry import TypeRule, Value, function
from penstock.expr.functions.rules import literal_of
from penstock.expr.functions.search import by_pattern
from penstock.expr.functions.text_behind import behind
from penstock.expr.functions.vectors import as_array, constant, is_scalar, map_distinct
from penstock.expr.nodes import Call, Expr, Literal

__all__ = ["is_plain", "java_split"]

_TEXTS = t.ArrayType(t.StringType(), True)
_WANTED = "wanted"
# What may hold a parenthesis that opens no group, or one that does.
_GROUPING = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(?P<opens>\((?:\?P<\w+>|(?!\?)))", re.DOTALL)


def _with_pattern(data_type: t.DataType) -> TypeRule:
    """The rule of a function whose second argument is a pattern that must be known and translatable."""

    def rule(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
        pattern = literal_of(args[1], "a regular expression", "pattern")
        if pattern is not None:
            java_regex(pattern)
        return data_type

    return rule


@function("RLike", result=_with_pattern(t.BooleanType()))
def matches(call: Call, args: list[Value], length: int) -> Value:
    def one(text: pa.Array, pattern: str) -> pa.Array:
        regex = java_regex(pattern)
        if regex.re2 is not None:
            return pc.match_substring_regex(text, regex.re2)
        search = regex.python.search
        return map_distinct(lambda s: search(s) is not None, [text], len(text), pa.bool_())

    return by_pattern(args[0], args[1], length, one)


@lru_cache(maxsize=1024)
def java_replacement(replacement: str, groups: int) -> tuple[str | int, ...]:
    """A replacement as pieces: texts, and numbers of groups. ``$12`` is group 12 only if there is one."""
    pieces: list[str | int] = []
    place = 0
    while place < len(replacement):
        letter = replacement[place]
        place += 1
        if letter == "\\":
            pieces.append(replacement[place : place + 1])
            place += 1
        elif letter == "$":
            match = re.compile(r"\d").match(replacement, place)
            if match is None:
                raise UnsupportedQuery(
                    f"the replacement {replacement!r}", reason="$ must be followed by a number"
                )
            number = int(match[0])
            place += 1
            while (more := re.compile(r"\d").match(replacement, place)) and number * 10 + int(
                more[0]
            ) <= groups:
                number = number * 10 + int(more[0])
                place += 1
            if number > groups:
                raise UnsupportedQuery(
                    f"the replacement {replacement!r}", reason=f"there is no group {number}"
                )
            pieces.append(number)
        else:
            pieces.append(letter)
    return tuple(pieces)


def _replace_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    pattern = literal_of(args[1], "regexp_replace", "pattern")
    replacement = literal_of(args[2], "regexp_replace", "replacement")
    if pattern is not None and replacement is not None:
        java_replacement(replacement, java_regex(pattern).python.groups)
    return t.StringType()


@function("RegExpReplace", result=_replace_type)
def replace(call: Call, args: list[Value], length: int) -> Value:
    """Replaces every match from a character on."""
    pattern = java_regex(constant(args[1] if is_scalar(args[1]) else args[1][0])).python
    pieces = java_replacement(constant(args[2] if is_scalar(args[2]) else args[2][0]), pattern.groups)

    def expand(match: Any) -> str:
        return "".join((match[p] or "") if isinstance(p, int) else p for p in pieces)

    def one(text: str, position: int) -> str:
        start = position - 1
        if start and start >= len(text):
            return text
        return text[:start] + pattern.sub(expand, text[start:])

    return map_distinct(one, [args[0], args[3]], length, pa.string())


def _group_checked(call: Call, groups: int, wanted: int) -> None:
    if not 0 <= wanted <= groups:
        text = f"the pattern has {groups} groups, not {wanted}"
        raise EvaluationError("INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX", text, expression=str(call))


def _finder(call: Call, compute: Callable[[Any, str, int], Any]) -> Callable[..., Any]:
    def one(text: str, pattern: str, group: int) -> Any:
        regex = java_regex(pattern).python
        _group_checked(call, regex.groups, group)
        return compute(regex, text, group)

    return one


def _first(regex: Any, text: str, group: int) -> str:
    match = regex.search(text)
    return "" if match is None else match[group] or ""


def _group_raises(call: Call) -> bool:
    """Only a group that is not known, or not there, is an error."""
    group = call.args[2]
    pattern = literal_of(call.args[1], "a regular expression", "pattern")
    if not isinstance(group, Literal) or pattern is None or group.value is None:
        return True
    return not 0 <= group.value <= java_regex(pattern).python.groups


@function("RegExpExtract", result=_with_pattern(t.StringType()), raises=_group_raises)
def extract(call: Call, args: list[Value], length: int) -> Value:
    if is_scalar(args[1]) and is_scalar(args[2]) and not is_scalar(args[0]):
        pattern, group = constant(args[1]), constant(args[2])
        plain = None if pattern is None or group is None else behind(pattern, group)
        if plain is not None:
            return plain.found(as_array(args[0], length))
        wanted = None if pattern is None or group is None else re2_group(pattern, group)
        if wanted is not None:
            text = as_array(args[0], length)
            found = pc.struct_field(pc.extract_regex(text, wanted), _WANTED)
            return pc.if_else(pc.is_valid(text), pc.fill_null(found, ""), pa.scalar(None, pa.string()))
    return map_distinct(_finder(call, _first), args, length, pa.string())


@lru_cache(maxsize=1024)
def re2_group(pattern: str, group: int) -> str | None:
    """RE2's pattern in which one group, the wanted one, is named; None where RE2 may find another match or
    group than Java does: it cannot express the pattern, or groups are repeated."""
    regex = java_regex(pattern)
    if regex.re2 is None or not 0 <= group <= regex.python.groups or re.search(r"\)[*+?{]", regex.re2):
        return None
    if group == 0:
        return None if pattern.endswith(("$", "\\Z")) else f"(?P<{_WANTED}>{_renamed(regex.re2, 0)})"
    return _renamed(regex.re2, group)


def _renamed(re2: str, group: int) -> str:
    """Groups keep nothing, except one."""
    out, number, place = [], 0, 0
    for part in _GROUPING.finditer(re2):
        out.append(re2[place : part.start()])
        place = part.end()
        if part["opens"] is None:
            out.append(part[0])
            continue
        number += 1
        out.append(f"(?P<{_WANTED}>" if number == group else "(?:")
    return "".join([*out, re2[place:]])


@function("RegExpExtractAll", result=_with_pattern(_TEXTS), raises=_group_raises)
def extract_all(call: Call, args: list[Value], length: int) -> Value:
    def every(regex: Any, text: str, group: int) -> list[str]:
        return [match[group] or "" for match in regex.finditer(text)]

    return map_distinct(_finder(call, every), args, length, pa.list_(pa.field("element", pa.string())))


@function("RegExpInStr", result=_with_pattern(t.IntegerType()))
def position(call: Call, args: list[Value], length: int) -> Value:
    def one(text: str, pattern: str, group: int) -> int:
        match = java_regex(pattern).python.search(text)
        return 0 if match is None else match.start() + 1

    return map_distinct(one, args, length, pa.int32())


_PLAIN = frozenset(",;: /_-#@!%&=<>~'\"")


def is_plain(pattern: str) -> bool:
    """Whether a pattern matches itself only."""
    return bool(pattern) and all(letter.isalnum() or letter in _PLAIN for letter in pattern)


@function("StringSplit", result=_with_pattern(t.ArrayType(t.StringType(), False)))
def split(call: Call, args: list[Value], length: int) -> Value:
    pattern = constant(args[1] if is_scalar(args[1]) else args[1][0])
    kind = pa.list_(pa.field("element", pa.string()))
    if is_plain(pattern) and is_scalar(args[2]):
        limit = constant(args[2])
        parts = pc.split_pattern(
            as_array(args[0], length), pattern, max_splits=limit - 1 if limit > 0 else None
        )
        return parts.cast(kind)
    regex = java_regex(pattern).python
    return map_distinct(lambda text, limit: _split(regex, text, limit), [args[0], args[2]], length, kind)


def java_split(pattern: str, text: str, limit: int) -> list[str]:
    """A text split at a regular expression, into at most ``limit`` parts if that is positive."""
    return _split(java_regex(pattern).python, text, limit)


def _split(regex: Any, text: str, limit: int) -> list[str]:
    """Java's split: an empty match at the start makes no empty first part."""
    if not regex.pattern and text:
        letters = list(text)
        return (
            letters
            if limit <= 0 or limit >= len(letters)
            else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
        )
    parts: list[str] = []
    place = 0
    for match in regex.finditer(text):
        if 0 < limit <= len(parts) + 1:
            break
        if match.end() == 0:
            continue
        parts.append(text[place : match.start()])
        place = match.end()
    return [*parts, text[place:]]
