"""What the tests say: every SQL text in them that Spark's answer is compared with.

Expressions come from tests/expr (the texts inside each test, at semicolons), queries from the oracle's
collection. Nothing is listed by hand: whoever adds a function adds a test that names it. Needs no Spark.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.oracle import read_queries

__all__ = ["ROOT", "Fixture", "fixtures", "mentions"]

ROOT = Path(__file__).parents[2]
_EXPRESSIONS = ROOT / "tests" / "expr"
_QUERIES = ROOT / "tests" / "oracle" / "queries"
_TEXT = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_WORDS = frozenset(
    {"and", "or", "not", "in", "like", "ilike", "rlike", "regexp", "between", "case", "when", "div"}
)


@dataclass(frozen=True)
class Fixture:
    """A query, or an expression over the table of samples, and the test it stands in."""

    test: str
    sql: str
    is_query: bool


def fixtures() -> list[Fixture]:
    """All of them, expressions first."""
    return [*_expressions(), *_queries()]


def _expressions() -> Iterator[Fixture]:
    for path in sorted(_EXPRESSIONS.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                test = f"{path.relative_to(ROOT)}::{node.name}"
                for text in _strings(node):
                    yield from (
                        Fixture(test, part.strip(), False) for part in text.split(";") if part.strip()
                    )


def _strings(node: ast.FunctionDef) -> Iterator[str]:
    inside = {
        id(part) for joined in ast.walk(node) if isinstance(joined, ast.JoinedStr) for part in joined.values
    }
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in inside:
            yield part.value


def _queries() -> Iterator[Fixture]:
    for path in sorted(_QUERIES.glob("*.sql")):
        for query in read_queries([path]):
            yield Fixture(f"{path.relative_to(ROOT)}: {query.name}", query.sql, True)


def mentions(function: str, sql: str) -> bool:
    """Whether a text uses a function or operator by this name."""
    plain = _TEXT.sub("''", sql)
    if re.fullmatch(r"\w+", function) is None:
        return re.search(rf"(?<![<>=!|]){re.escape(function)}(?![<>=|])", plain) is not None
    behind = r"\b" if function in _WORDS else r"\s*\("
    return re.search(rf"(?<![\w.`]){function}{behind}", plain, re.IGNORECASE) is not None
