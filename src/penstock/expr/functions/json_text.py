"""JSON as Spark's parser (Jackson) reads and writes it, one text at a time.

A text becomes a tree of Python values: objects are lists of pairs inside :class:`Object`, because a key may
stand twice, and numbers keep their spelling in :class:`Number`. Reading is done by Python's own scanner;
where Jackson is laxer (single quotes) or stricter (what follows a number) it is helped.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from penstock.expr.functions.float_text import java_double

__all__ = ["Number", "Object", "parse", "quoted", "written"]


class Number(str):
    """A number as it is spelled."""

    __slots__ = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is spelled as an integer."""
        return not set(self) & set(".eEnNI")


class Object(list[tuple[str, Any]]):
    """The pairs of an object, in order."""

    __slots__ = ()


def _not_a_number(text: str) -> Any:
    raise ValueError(text)


_SPACE = " \t\n\r"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', re.DOTALL)


def _decoder(strict: bool, words: bool) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=Object,
        parse_float=Number,
        parse_int=Number,
        parse_constant=Number if words else _not_a_number,
        strict=strict,
    )


_DECODERS = {(strict, words): _decoder(strict, words) for strict in (True, False) for words in (True, False)}


def parse(text: str, *, strict: bool, words: bool) -> Any:
    """The first value in a text; raises ValueError if there is none.

    ``strict`` texts have no control characters in strings, ``words`` (NaN and Infinity) may be numbers.
    """
    decoder = _DECODERS[strict, words]
    try:
        return _first(decoder, text)
    except (ValueError, RecursionError):
        if "'" not in text:
            raise ValueError(text) from None
    return _first(decoder, _STRING.sub(_double_quoted, text))


def _first(decoder: json.JSONDecoder, text: str) -> Any:
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    bare = isinstance(value, (Number, bool)) or value is None
    if bare and end < len(text) and text[end] not in _SPACE:
        raise ValueError(text)
    return value


def _double_quoted(match: re.Match[str]) -> str:
    text = match[0]
    if text[0] == '"':
        return text
    return '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPED_WIDE = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')


def _escape(match: re.Match[str]) -> str:
    letter = match[0]
    if letter in _SHORT:
        return _SHORT[letter]
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))


def quoted(text: str, *, wide: bool = False) -> str:
    """A string in quotes. ``wide`` characters, beyond 16 bits, are escaped where bytes are written."""
    return f'"{(_ESCAPED_WIDE if wide else _ESCAPED).sub(_escape, text)}"'


def written(value: Any, *, shortest: bool) -> str:
    """A tree as text, with numbers as Java's doubles and integers print."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Number):
        return _number(value, shortest)
    if isinstance(value, str):
        return quoted(value, wide=True)
    if isinstance(value, Object):
        pairs = (f"{quoted(key, wide=True)}:{written(item, shortest=shortest)}" for key, item in value)
        return "{" + ",".join(pairs) + "}"
    return "[" + ",".join(written(item, shortest=shortest) for item in value) + "]"


def _number(number: Number, shortest: bool) -> str:
    if number.is_whole:
        return str(int(number))
    value = float(number)
    text = java_double(value, shortest=shortest)
    return text if math.isfinite(value) else f'"{text}"'
