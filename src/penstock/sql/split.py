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
from penstock.expr.depth import DEEPEST

__all__ = ["Piece", "closing_parenthesis", "skip_blanks", "split_script"]

_TOKEN = re.compile(
    r"""
      (?P<raw>\b[rR]'[^']*'|\b[rR]"[^"]*")
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<identifier>`(?:[^`]|``)*`)
    | (?P<line>--[^\n]*)
    | (?P<comment>/\*)
    | (?P<dollar>\$\$.*?\$\$)
    | (?P<end>;)
    | (?P<parenthesis>[()])
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
    """The statements of ``script``; a string, identifier or comment left open is a SqlError.

    So are parentheses nested so deep that Spark's parser, whose time grows with the square of the depth,
    would read for minutes what is refused afterwards."""
    pieces: list[Piece] = []
    start = at = depth = 0
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
            start, depth = at, 0
        elif token.lastgroup == "parenthesis":
            depth += 1 if token.group() == "(" else -1
            if depth > DEEPEST:
                raise SqlError(
                    f"line {line_of(script, token.start())}: parentheses are nested more than {DEEPEST} "
                    "levels deep; split the query into several views"
                )
    return tuple(pieces + _piece(script, start, len(script)))


def closing_parenthesis(text: str, start: int) -> int:
    """The place behind the parenthesis that closes the one at ``start``; a SqlError if none does."""
    depth, at = 0, start
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token.lastgroup == "comment":
            at = _comment_end(text, token.start())
        elif token.lastgroup == "parenthesis":
            depth += 1 if token.group() == "(" else -1
            if depth == 0:
                return at
    raise SqlError("the parenthesis of the column list is not closed")


def line_of(text: str, index: int) -> int:
    """The number of the line that holds ``index``, from 1."""
    return text.count("\n", 0, index) + 1


def _piece(script: str, start: int, end: int) -> list[Piece]:
    """The statement between two semicolons, or nothing if there are only blanks and comments."""
    begin = skip_blanks(script, start, end)
    if begin >= end:
        return []
    column = begin - (script.rfind("\n", 0, begin) + 1)
    return [Piece(script[begin:end].rstrip(), line_of(script, begin), column)]


def skip_blanks(script: str, at: int, end: int) -> int:
    """The place of the first character from ``at`` on that is neither blank nor in a comment, or ``end``."""
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
