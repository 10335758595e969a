"""Cutting a script into statements at its semicolons.

A semicolon inside a string, a quoted identifier or a comment is text. Quotes follow Spark: a backslash
escapes inside ``'…'`` and ``"…"`` but not in raw strings (``r'…'``), a doubled backtick stands for itself
inside `` `…` ``, ``/* … */`` nests, ``--`` ends with its line. One pass over the text, tokens by one
regular expression; only nested comments need a counter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import SqlError

__all__ = ["Piece", "split_script"]

_TOKEN = re.compile(
    r"""
      (?P<raw>\b[rR]'[^']*'|\b[rR]"[^"]*")
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<identifier>`(?:[^`]|``)*`)
    | (?P<line>--[^\n]*)
    | (?P<comment>/\*)
    | (?P<dollar>\$\$.*?\$\$)
    | (?P<end>;)
    | (?P<open>['"`])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_OPEN = {"'": "string", '"': "string", "`": "quoted identifier"}


@dataclass(frozen=True)
class Piece:
    """One statement's text, without blanks and comments around it, and where it begins in the script."""

    text: str
    line: int
    column: int


def split_script(script: str) -> tuple[Piece, ...]:
    """The statements of ``script``; a string, identifier or comment left open is a SqlError."""
    pieces: list[Piece] = []
    start = at = 0
    while token := _TOKEN.search(script, at):
        at = token.end()
        if token.lastgroup == "comment":
            at = _comment_end(script, token.start())
        elif token.lastgroup == "open":
            raise SqlError(
                f"line {line_of(script, token.start())}: this {_OPEN[token.group()]} is not closed"
            )
        elif token.lastgroup == "end":
            pieces += _piece(script, start, token.start())
            start = at
    return tuple(pieces + _piece(script, start, len(script)))


def line_of(text: str, index: int) -> int:
    """The number of the line that holds ``index``, from 1."""
    return text.count("\n", 0, index) + 1


def _piece(script: str, start: int, end: int) -> list[Piece]:
    """The statement between two semicolons, or nothing if there are only blanks and comments."""
    begin = _skip_blanks(script, start, end)
    if begin >= end:
        return []
    column = begin - (script.rfind("\n", 0, begin) + 1)
    return [Piece(script[begin:end].rstrip(), line_of(script, begin), column)]


def _skip_blanks(script: str, at: int, end: int) -> int:
    while at < end:
        if script[at].isspace():
            at += 1
        elif script.startswith("--", at):
            newline = script.find("\n", at, end)
            at = end if newline < 0 else newline
        elif script.startswith("/*", at):
            at = _comment_end(script, at)
        else:
            break
    return at


def _comment_end(script: str, start: int) -> int:
    depth, at = 1, start + 2
    while depth:
        edge = _COMMENT_EDGE.search(script, at)
        if edge is None:
            raise SqlError(f"line {line_of(script, start)}: this comment is not closed")
        depth += 1 if edge.group() == "/*" else -1
        at = edge.end()
    return at
