"""Date patterns (``yyyy-MM-dd HH:mm:ss``) as lists of fields, for printing and for reading.

The letters are those of Java's formatter as Spark restricts them. A letter without an implementation is
refused when the view is created.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from penstock.errors import UnsupportedQuery

__all__ = ["Field", "date_pattern"]

_LETTERS = frozenset("GyMLdDQqEahHkKmsSXxZOV")
_LONGEST = {
    "G": 3,
    "y": 6,
    "M": 4,
    "L": 4,
    "d": 2,
    "D": 3,
    "Q": 4,
    "q": 4,
    "E": 4,
    "a": 1,
    "h": 2,
    "H": 2,
    "k": 2,
    "K": 2,
    "m": 2,
    "s": 2,
    "S": 9,
    "X": 5,
    "x": 5,
    "Z": 5,
    "O": 1,
    "V": 2,
}


@dataclass(frozen=True, slots=True)
class Field:
    """A letter and how often it stands there, or (without a letter) plain text.

    ``optional`` is the depth of brackets around it: what is in brackets may be missing when reading.
    """

    letter: str
    count: int
    text: str = ""
    optional: int = 0


@lru_cache(maxsize=1024)
def date_pattern(pattern: str) -> tuple[Field, ...]:
    """The fields of a pattern; refuses letters that are not known here."""
    fields: list[Field] = []
    place = depth = 0
    while place < len(pattern):
        letter = pattern[place]
        if letter == "'":
            text, place = _quoted(pattern, place)
            fields.append(Field("", 0, text, depth))
            continue
        if letter in "[]":
            depth += 1 if letter == "[" else -1
            place += 1
            if depth < 0:
                raise _refused(pattern, "a bracket is closed that was not opened")
            continue
        count = 1
        if letter.isascii() and letter.isalpha():
            while pattern[place + count : place + count + 1] == letter:
                count += 1
            if letter not in _LETTERS or count > _LONGEST[letter] or (letter == "V" and count != 2):
                raise _refused(pattern, f"{letter * count} is not implemented")
            fields.append(Field(letter, count, "", depth))
        elif letter in "#{}":
            raise _refused(pattern, f"{letter} is reserved")
        else:
            fields.append(Field("", 0, letter, depth))
        place += count
    return tuple(fields)


def _quoted(pattern: str, place: int) -> tuple[str, int]:
    """The text in quotes from ``place`` on and where it ends; two quotes are one."""
    if pattern[place + 1 : place + 2] == "'":
        return "'", place + 2
    text, place = "", place + 1
    while place < len(pattern):
        if pattern[place] == "'":
            if pattern[place + 1 : place + 2] != "'":
                return text, place + 1
            place += 1
        text += pattern[place]
        place += 1
    raise _refused(pattern, "a quote is not closed")


def _refused(pattern: str, reason: str) -> UnsupportedQuery:
    return UnsupportedQuery(f"the date pattern {pattern!r}", reason=reason)
