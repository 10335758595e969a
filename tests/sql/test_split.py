"""A semicolon ends a statement only where Spark would read one."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.sql.split import Piece, split_script


def texts(script: str) -> list[str]:
    return [piece.text for piece in split_script(script)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT ';'",
        "SELECT 'it''s; fine'",
        r"SELECT 'a\';b'",
        r'SELECT "a\";b"',
        "SELECT `a;``b;`",
        "SELECT 1 -- a; b\n + 2",
        "SELECT /* ; /* ; */ ; */ 1",
        "SELECT r'\\' || ';'",
        "SELECT '--' || ';'",
        "SELECT '/*' || ';' || '*/'",
        "SELECT $$ ; $$",
        "SELECT 1 - -2; ".rstrip("; "),
    ],
)
def test_a_quoted_or_commented_semicolon_does_not_end_the_statement(statement: str) -> None:
    assert texts(f"{statement}; SELECT 2") == [statement, "SELECT 2"]


def test_empty_statements_and_comments_between_are_dropped() -> None:
    assert texts(";; -- nothing; here\n /* nor; here */ ; SELECT 1 ;; ") == ["SELECT 1"]
    assert texts("") == []
    assert texts("-- only a comment") == []


def test_pieces_know_where_they_begin() -> None:
    pieces = split_script("SELECT 1;\n\n  -- why\n  SELECT\n  2; SELECT 3")
    assert pieces == (Piece("SELECT 1", 1, 0), Piece("SELECT\n  2", 4, 2), Piece("SELECT 3", 5, 5))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("SELECT 1;\nSELECT 'x", "line 2: this string is not closed"),
        ("SELECT `x", "line 1: this quoted identifier is not closed"),
        ("SELECT 1;\n\n/* a /* b */ SELECT 2", "line 3: this comment is not closed"),
        ("/* a", "line 1: this comment is not closed"),
    ],
)
def test_what_is_left_open_is_named_with_its_line(script: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        split_script(script)
