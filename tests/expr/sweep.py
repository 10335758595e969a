"""Calls of every supported function with arguments of every type, made from the calls in the other tests.

Each test text that calls a function is a *sample*: a call that works. The sweep puts a column of every type
into each argument of a sample in turn and leaves the others as they are. What Spark's analyser lets through
must then be refused when the view is created, or give Spark's values, or fail with Spark's own error. A
function that is added with a test is swept without further work.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.types import to_arrow
from scripts.sql_coverage.document import PATH, read
from scripts.sql_coverage.evidence import fixtures

__all__ = ["DDL", "Call", "calls", "columns", "rows", "schema", "supported"]

DDL = """
    bo BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INT, i8 BIGINT, f4 FLOAT, f8 DOUBLE, de DECIMAL(12,2),
    nu STRING, da STRING, te STRING, bi BINARY, dt DATE, tm TIME, ts TIMESTAMP, nz TIMESTAMP_NTZ,
    ds INTERVAL DAY TO SECOND, ym INTERVAL YEAR TO MONTH, ai ARRAY<INT>, at ARRAY<STRING>,
    ma MAP<STRING, INT>, st STRUCT<a: INT, b: STRING>
"""
"""One column per type, and three of text: numbers, dates, and neither."""

_OPERATORS = """
    {} + {}; {} - {}; {} * {}; {} / {}; {} % {}; {} DIV {}; {} = {}; {} <=> {}; {} < {}; {} >= {}; {} || {};
    {} & {}; {} | {}; {} ^ {}; {} << {}; {} >> {}; {} >>> {}; {} AND {}; {} OR {}; {} LIKE {}; {} ILIKE {};
    {} RLIKE {}; {} IN ({}); {} BETWEEN {} AND {}; NOT {}; ~{}; -{}; {} IS NULL; {} IS TRUE;
    {} IS DISTINCT FROM {};
    {}[{}]; CASE WHEN {} THEN {} ELSE {} END; CASE {} WHEN {} THEN {} END
"""
_CASTS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12,2)", "STRING"),
    *(
        "BINARY",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMP_NTZ",
        "INTERVAL DAY TO SECOND",
        "INTERVAL YEAR TO MONTH",
    ),
    *("INTERVAL HOUR", "ARRAY<STRING>", "ARRAY<INT>", "MAP<STRING, STRING>", "STRUCT<a: STRING, b: STRING>"),
)


@dataclass(frozen=True, order=True)
class Call:
    """An expression over the columns of the sweep, and the function it is about."""

    function: str
    text: str


def columns() -> list[str]:
    """Their names."""
    return [field.name for field in schema().fields]


def schema() -> t.StructType:
    """The columns of the sweep."""
    parsed = t.StructType.fromDDL(DDL)
    assert isinstance(parsed, t.StructType)
    return parsed


def rows() -> pa.Table:
    """A few ordinary rows, of which one is NULL throughout: the edges are for the other tests."""
    day = datetime.date(2024, 2, 28)
    columns: dict[str, list[object]] = {
        "bo": [True, False, True],
        "i1": [1, 2, 3],
        "i2": [1, 3, 2],
        "i4": [2, 1, 3],
        "i8": [3, 1, 2],
        "f4": [0.5, 1.5, 2.0],
        "f8": [0.25, 2.0, 1.0],
        "de": [Decimal("1.50"), Decimal("2.00"), Decimal("0.25")],
        "nu": ["1", "12", "3"],
        "da": ["2024-02-28", "2023-12-31", "1999-01-02"],
        "te": ["abc", "", "x,Y"],
        "bi": [b"ab", b"", b"\x00\x01"],
        "dt": [day, datetime.date(2023, 12, 31), datetime.date(1969, 1, 1)],
        "tm": [datetime.time(1, 2, 3, 4000), datetime.time(0), datetime.time(23, 59, 59, 999999)],
        "ts": [datetime.datetime(2024, 2, 28, 1, 2, 3, 4000, datetime.UTC)] * 3,
        "nz": [datetime.datetime(2024, 2, 28, 1, 2, 3, 4000), datetime.datetime(2023, 12, 31), None],
        "ds": [datetime.timedelta(days=1, hours=2), datetime.timedelta(seconds=-1.5), datetime.timedelta(0)],
        "ym": [14, -1, 0],
        "ai": [[1, 2, 3], [], [2, None]],
        "at": [["a", "b"], [], [None, "a"]],
        "ma": [[("a", 1)], [], [("a", None), ("b", 2)]],
        "st": [{"a": 1, "b": "x"}, {"a": None, "b": ""}, {"a": 2, "b": None}],
    }
    return pa.table(
        {f.name: pa.array([*columns[f.name], None], to_arrow(f.dataType)) for f in schema().fields}
    )


def calls() -> list[Call]:
    """The whole sweep, in a fixed order."""
    found = {Call(f"CAST {kind}", f"CAST({column} AS {kind})") for kind in _CASTS for column in columns()}
    found |= {
        Call(f"TRY_CAST {kind}", f"TRY_CAST({column} AS {kind})") for kind in _CASTS for column in columns()
    }
    for template in _OPERATORS.split(";"):
        found |= {Call(template.strip(), text) for text in _operations(template.strip())}
    for name in supported():
        for sample in _samples(name):
            found |= {Call(name, text) for text in _variants(name, sample)}
    return sorted(found)


def _operations(template: str) -> Iterator[str]:
    """An operator with every type on the left, and on the right that type, a number, a text and nothing."""
    count = template.count("{}")
    for column in columns():
        for other in {column, "i4", "te", "NULL"} if count > 1 else {column}:
            yield template.format(*([column] + [other] * (count - 1)))
            yield template.format(*([other] * (count - 1) + [column]))


def supported() -> list[str]:
    """The functions that docs/sql-coverage.md calls supported, which are called by name."""
    entries, _ = read(PATH.read_text(encoding="utf-8"))
    return [e.name for e in entries if e.status == "supported" and re.fullmatch(r"\w+", e.name)]


def _samples(name: str) -> list[tuple[str, ...]]:
    """The arguments of calls in the tests: the first call with fewest arguments, and with most up to five."""
    found: dict[int, tuple[str, ...]] = {}
    for text, start in _CALLS.get(name, ()):
        arguments = _arguments(text, start)
        if arguments is not None:
            found.setdefault(len(arguments), arguments)
    counts = sorted(count for count in found if 0 < count <= 5)
    return [found[count] for count in sorted({*counts[:1], *counts[-1:]})]


def _calls_by_name() -> dict[str, list[tuple[str, int]]]:
    """Where the tests call functions: the text, and the place behind the parenthesis."""
    found: dict[str, list[tuple[str, int]]] = {}
    for fixture in fixtures():
        if not fixture.is_query:
            for match in _CALL.finditer(_without_texts(fixture.sql)):
                found.setdefault(match[1].lower(), []).append((fixture.sql, match.end()))
    return found


def _without_texts(sql: str) -> str:
    """The text with the letters inside quotes gone, and everything else in its place."""
    return re.sub(r"'(?:[^'\\]|\\.)*'", lambda match: "'" + " " * (len(match[0]) - 2) + "'", sql)


_CALL = re.compile(r"(?<![\w.`])(\w+)\s*\(")
_CALLS = _calls_by_name()
_OPENING, _CLOSING = "([", ")]"


def _arguments(text: str, start: int) -> tuple[str, ...] | None:
    """The arguments of a call whose parenthesis opens before ``start``; None if it does not close."""
    depth, begin, quote, found = 0, start, "", []
    for position in range(start, len(text)):
        letter = text[position]
        if quote:
            quote = "" if letter == quote and text[position - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _OPENING:
            depth += 1
        elif letter == "," and not depth:
            found.append(text[begin:position].strip())
            begin = position + 1
        elif letter in _CLOSING:
            if not depth:
                found.append(text[begin:position].strip())
                return tuple(found) if found != [""] else ()
            depth -= 1
    return None


def _variants(name: str, sample: tuple[str, ...]) -> Iterator[str]:
    for place in range(len(sample)):
        if "->" in sample[place]:
            continue  # a lambda function is no value
        for column in [*columns(), "NULL"]:
            yield f"{name}({', '.join([*sample[:place], column, *sample[place + 1 :]])})"
