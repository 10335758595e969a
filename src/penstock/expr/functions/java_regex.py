"""Java's regular expressions, rewritten for Python's ``re`` and for RE2.

The three dialects agree on most of what people write and differ in details that change results: what a
dot does not match, what ``$`` sees before a final line break, quoting, the syntax of names. A construct
whose meaning cannot be kept (nested classes, flags in the middle) is refused when the view is created.
RE2 runs over whole columns but has no look-around and no back references; ``re`` has them and is called
once per distinct text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from penstock.errors import UnsupportedQuery

__all__ = ["JavaRegex", "java_regex"]

_BREAKS = "\\n\\r\\u0085\\u2028\\u2029"
_DOT = f"[^{_BREAKS}]"
_END = "(?=(?:\\r\\n|(?<!\\r)\\n|[\\r\\u0085\\u2028\\u2029])?\\Z)"
_RE2_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_RE2_END = r"(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"
_SPACE = r"\t-\r "
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "A-Za-z",
    "Digit": "0-9",
    "Alnum": "A-Za-z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9A-Fa-f",
    "Space": r"\t-\r ",
    "ASCII": r"\x00-\x7f",
}
_SHORTHAND = {
    "d": "0-9",
    "w": "A-Za-z0-9_",
    "s": _SPACE,
    "h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
}
_COMPLEMENTS = {
    "D": r"\x00-/:-\U0010ffff",
    "W": r"\x00-/:-@\[-\^`{-\U0010ffff",
    "S": r"\x00-\x08\x0e-\x1f!-\U0010ffff",
}
_CATEGORY = re.compile(r"(?:Is)?([LMNPSZC][a-z]?)")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


@dataclass(frozen=True, slots=True)
class JavaRegex:
    """A pattern for ``re``, and for RE2 where that can express it."""

    python: re.Pattern[str]
    re2: str | None


@lru_cache(maxsize=1024)
def java_regex(pattern: str) -> JavaRegex:
    """Translates a Java pattern; refuses what would not mean the same."""
    reader = _Reader(pattern)
    reader.read()
    try:
        compiled = re.compile("".join(reader.python), reader.flags | re.ASCII)
    except (re.error, OverflowError) as error:
        raise _refused(pattern, str(error)) from error
    re2 = "".join(reader.re2) if reader.linear else None
    if re2 is not None and reader.flags & re.IGNORECASE:
        # RE2 folds all of Unicode where Java folds ASCII only.
        re2 = None
    return JavaRegex(compiled, re2)


def _refused(pattern: str, reason: str) -> UnsupportedQuery:
    return UnsupportedQuery(f"the regular expression {pattern!r}", reason=reason)


class _Reader:
    """Reads a pattern from left to right and writes both translations."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.python: list[str] = []
        self.re2: list[str] = []
        self.linear = True
        self.flags = re.RegexFlag(0)

    def read(self) -> None:
        if match := re.match(r"\(\?([a-zA-Z]+)\)", self.pattern):
            for flag in match[1]:
                if flag not in "is":
                    raise _refused(self.pattern, f"the flag {flag} is not implemented")
                self.flags |= {"i": re.IGNORECASE, "s": re.DOTALL}[flag]
            self.place = match.end()
        while self.place < len(self.pattern):
            self._step()

    def _write(self, python: str, re2: str | None = None) -> None:
        self.python.append(python)
        self.re2.append(python if re2 is None else re2)

    def _literal(self, letter: str) -> None:
        self._write(re.escape(letter), re.escape(letter))

    def _step(self) -> None:
        letter = self.pattern[self.place]
        self.place += 1
        if letter == "\\":
            self._escape()
        elif letter == "[":
            self._set()
        elif letter == ".":
            everything = bool(self.flags & re.DOTALL)
            self._write("(?s:.)" if everything else _DOT, "(?s:.)" if everything else _RE2_DOT)
        elif letter == "$":
            self._end()
        elif letter == "(":
            self._group()
        elif letter in "*+?}" and self.pattern[self.place : self.place + 1] == "+":
            self.linear = False
            self._write(letter)
        elif letter in "*+?|)^{}":
            self._write(letter)
        else:
            self._literal(letter)

    def _end(self) -> None:
        """At the end of the text, or before its last line break; RE2 may consume that, being last anyway."""
        if self.place < len(self.pattern):
            self.linear = False
        self._write(_END, _RE2_END)

    def _group(self) -> None:
        rest = self.pattern[self.place :]
        if not rest.startswith("?"):
            self._write("(")
        elif match := re.match(r"\?(<?[=!]|>)", rest):
            self.linear = False
            self._write(f"(?{match[1]}")
            self.place += match.end()
        elif match := re.match(r"\?<([A-Za-z][A-Za-z0-9]*)>", rest):
            self._write(f"(?P<{match[1]}>")
            self.place += match.end()
        elif rest.startswith("?:"):
            self._write("(?:")
            self.place += 2
        elif rest.startswith("?i:"):
            # RE2 folds all of Unicode where Java folds ASCII only.
            self.linear = False
            self._write("(?i:")
            self.place += 3
        else:
            raise _refused(self.pattern, "flags within the pattern are not implemented")

    def _escape(self) -> None:
        letter = self.pattern[self.place : self.place + 1]
        self.place += 1
        if letter == "Q":
            stop = self.pattern.find("\\E", self.place)
            text = self.pattern[self.place :] if stop < 0 else self.pattern[self.place : stop]
            self.place = len(self.pattern) if stop < 0 else stop + 2
            for one in text:
                self._literal(one)
        elif letter.lower() in _SHORTHAND and letter:
            body = _SHORTHAND[letter.lower()]
            self._set_of(("^" if letter.isupper() else "") + body)
        elif letter in ("p", "P"):
            self._property(letter)
        elif letter in ("b", "B", "A"):
            self._write(f"\\{letter}")
        elif letter == "z":
            self._write("\\Z", "\\z")
        elif letter == "Z":
            self._end()
        elif letter in "123456789" and letter:
            self.linear = False
            self._write(f"\\{letter}")
        elif letter == "k":
            match = re.compile(r"<([A-Za-z][A-Za-z0-9]*)>").match(self.pattern, self.place)
            if match is None:
                raise _refused(self.pattern, "\\k must be followed by a name")
            self.linear, self.place = False, match.end()
            self._write(f"(?P={match[1]})")
        else:
            self.place -= 1
            self._literal(self._character())

    def _set_of(self, body: str) -> None:
        wide = re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", body)
        self._write(f"[{body}]", f"[{wide}]")

    def _property(self, letter: str) -> None:
        self._set_of(("^" if letter == "P" else "") + self._property_members())

    def _property_members(self) -> str:
        """The characters of ``{Name}``: an ASCII class of POSIX, or a general category of Unicode."""
        match = re.compile(r"\{(\w+)\}|([LMNPSZC])").match(self.pattern, self.place)
        name = match[1] or match[2] if match is not None else ""
        category = _CATEGORY.fullmatch(name)
        if match is None or (name not in _CLASSES and category is None):
            raise _refused(self.pattern, "only POSIX classes and Unicode's categories are implemented")
        self.place = match.end()
        if name in _CLASSES:
            return _CLASSES[name]
        assert category is not None
        self.linear = False
        return _category_members(category[1])

    def _character(self) -> str:
        """The character written after a backslash."""
        letter = self.pattern[self.place : self.place + 1]
        self.place += 1
        forms = {"x": r"\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2})", "u": r"([0-9a-fA-F]{4})"}
        if letter in forms:
            match = re.compile(forms[letter]).match(self.pattern, self.place)
            if match is None:
                raise _refused(self.pattern, f"\\{letter} must be followed by a number")
            self.place = match.end()
            return chr(int(next(filter(None, match.groups())), 16))
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if not letter or letter.isalnum():
            raise _refused(self.pattern, f"\\{letter} is not implemented")
        return letter

    def _set(self) -> None:
        """A class in brackets, member by member."""
        members = []
        if self.pattern[self.place : self.place + 1] == "^":
            members.append("^")
            self.place += 1
        first = True
        while True:
            letter = self.pattern[self.place : self.place + 1]
            if not letter:
                raise _refused(self.pattern, "a class is not closed")
            if letter == "]" and not first:
                self.place += 1
                break
            first = False
            if letter == "[" or self.pattern.startswith("&&", self.place):
                raise _refused(self.pattern, "classes within classes are not implemented")
            self.place += 1
            members.append(self._member(letter))
        self._write(f"[{''.join(members)}]", f"[{''.join(members)}]")

    def _member(self, letter: str) -> str:
        if letter == "-":
            return "-"
        if letter != "\\":
            return re.escape(letter)
        following = self.pattern[self.place : self.place + 1]
        if following in _SHORTHAND and following != "h":
            self.place += 1
            return _SHORTHAND[following]
        if following == "p":
            self.place += 1
            return self._property_members()
        if following in _COMPLEMENTS:
            self.place += 1
            self.linear = False
            return _COMPLEMENTS[following]
        if following.upper() in ("H", "P") and following.isupper():
            raise _refused(self.pattern, f"\\{following} within a class is not implemented")
        return re.escape(self._character())


@lru_cache(maxsize=32)
def _category_members(category: str) -> str:
    """The characters of a category (``L``) or of one of its parts (``Lu``), as members of a class."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(category):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
