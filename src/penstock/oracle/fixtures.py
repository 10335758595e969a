"""Tables and queries written down in SQL files, as the oracle reads them.

A file of tables holds ``CREATE TABLE name (columns, PRIMARY KEY (columns));`` statements, or with
``TBLPROPERTIES ('appendOnly' = 'true')`` for a table that takes no deletes. A column's
COMMENT is a hint to the generator of rows: ``tame`` (no extreme numbers or dates, so that arithmetic cannot
overflow), ``finite`` (tame, and no NaN or infinity either), ``of: a|b|c`` (only these values). A file of
queries holds queries, each under a line ``-- name: identifier``, ended by the next such line. ``-- set: key =
value`` turns on a setting without which Spark refuses the query (for all queries of a run: only for settings
that change nothing else). A line ``-- spark`` ends the query; what follows is what Spark is asked in its
place, where the query leaves open what Spark may answer and Penstock says which of the answers it gives
(docs/row-order.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pyspark.sql.types import StructType

from penstock.intake.refusal import sql_name
from penstock.pipeline.tables import TableSchema

__all__ = [
    "Query",
    "as_queries",
    "closed",
    "create_table",
    "dependencies",
    "read_queries",
    "read_tables",
    "reads",
    "table",
]

_CREATE = re.compile(
    r"CREATE\s+TABLE\s+(\w+)\s*\((.*?)\)\s*(?:TBLPROPERTIES\s*\(([^)]*)\)\s*)?;",
    re.IGNORECASE | re.DOTALL,
)
_KEY = re.compile(r",\s*PRIMARY\s+KEY\s*\(([^)]*)\)\s*$", re.IGNORECASE)
_TRUE = re.compile(r"'(\w+)'\s*=\s*'true'", re.IGNORECASE)
_HEADER = re.compile(r"^--\s*(name|set|spark)\b:?\s*(.*)$")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Query:
    """A query under a name. ``settings``: what the session must have for Spark to accept it. ``stated``: the
    same question with one possible answer, which Spark is asked instead; empty if it has one itself."""

    name: str
    sql: str
    settings: tuple[tuple[str, str], ...] = ()
    stated: str = ""

    @property
    def asked(self) -> str:
        """What Spark is asked."""
        return self.stated or self.sql

    @cached_property
    def words(self) -> frozenset[str]:
        """The names and other words in the text."""
        return frozenset(_WORD.findall(self.sql))


def table(
    name: str, columns: str, key: Iterable[str] = (), *, append_only: bool = False, static: bool = False
) -> TableSchema:
    """A table from Spark DDL: ``table("t", "id BIGINT, name STRING", key=["id"])``."""
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)
    return TableSchema(name, schema, tuple(key), append_only, static=static)


def read_tables(text: str) -> list[TableSchema]:
    """The tables of a file's CREATE TABLE statements, in order."""
    found = []
    for name, body, listed in _CREATE.findall(_without_comments(text)):
        key = _KEY.search(body)
        names = [part.strip() for part in key.group(1).split(",")] if key else []
        properties = {each.lower() for each in _TRUE.findall(listed)}
        unknown = properties - {"appendonly", "static"}
        if unknown:
            raise ValueError(f"table {name}: the oracle does not know the properties {', '.join(unknown)}")
        columns = body[: key.start()] if key else body
        found.append(
            table(
                name,
                columns,
                names,
                append_only="appendonly" in properties,
                static="static" in properties,
            )
        )
    if not found:
        raise ValueError("no CREATE TABLE name (…); in the file of tables")
    return found


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))


def create_table(schema: TableSchema) -> str:
    """The CREATE TABLE statement of a table."""
    columns = [
        f"{f.name} {sql_name(f.dataType)}" + ("" if f.nullable else " NOT NULL") for f in schema.schema.fields
    ]
    if schema.keyed:
        columns.append(f"PRIMARY KEY ({', '.join(schema.primary_key)})")
    properties = ["'appendOnly' = 'true'"] if schema.append_only else []
    properties += [] if schema.keeps_rows else ["'keepRows' = 'false'"]
    properties += ["'static' = 'true'"] if schema.static else []
    listed = f" TBLPROPERTIES ({', '.join(properties)})" if properties else ""
    return f"CREATE TABLE {schema.name} ({', '.join(columns)}){listed};"


def read_queries(paths: Iterable[Path]) -> list[Query]:
    """All queries of the given files, in the order of the files; names must differ."""
    queries = [query for path in paths for query in _queries(path.read_text(encoding="utf-8"))]
    names = [query.name for query in queries]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(f"queries of the same name: {', '.join(double)}")
    return queries


def _queries(text: str) -> list[Query]:
    queries: list[Query] = []
    query, texts = Query("", ""), [list[str]()]
    for line in [*text.splitlines(), "-- name: end"]:
        header = _HEADER.match(line)
        if header is None:
            texts[-1].append(line)
        elif header[1] == "name":
            if query.name:
                sql, *stated = ("\n".join(lines).strip().rstrip(";") for lines in texts)
                queries.append(replace(query, sql=sql, stated="".join(stated)))
            query, texts = Query(header[2].strip(), ""), [[]]
        elif header[1] == "spark":
            texts.append([])
        else:
            key, _, value = (part.strip() for part in header[2].partition("="))
            query = replace(query, settings=(*query.settings, (key, value)))
    return queries


def as_queries(queries: Mapping[str, str] | Sequence[Query]) -> list[Query]:
    """Queries given as a plain mapping of names to SQL, or as they are."""
    if isinstance(queries, Mapping):
        return [Query(name, sql) for name, sql in queries.items()]
    return list(queries)


def reads(query: Query, relation: str) -> bool:
    """Whether a query may read a table or view: whether its name stands in the text."""
    return relation in query.words


def dependencies(queries: Sequence[Query]) -> dict[str, set[str]]:
    """For each query the earlier queries it reads, directly or through others: views on views."""
    found: dict[str, set[str]] = {}
    for query in queries:
        direct = set(query.words & found.keys())
        found[query.name] = direct.union(*(found[name] for name in direct))
    return found


def closed(queries: Sequence[Query], wanted: Sequence[Query]) -> list[Query]:
    """The wanted queries and the views these read, in the order of all ``queries``."""
    below = dependencies(queries)
    names = {query.name for query in wanted}.union(*(below[query.name] for query in wanted))
    return [query for query in queries if query.name in names]
