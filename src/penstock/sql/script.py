"""Scripts: the statements a pipeline understands, parsed by Spark's own parser.

Spark parses; what it cannot parse but a pipeline needs (``DROP MATERIALIZED VIEW``) is ours. Nothing is
executed: a statement is a frozen description, and everything a pipeline has no meaning for (INSERT, SET,
table options, constraints other than the primary key) is refused by name and line rather than ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    MapType,
    NullType,
    StructField,
    StructType,
    _parse_datatype_json_string,
)

from penstock.errors import SqlError, choice_text
from penstock.sql.column_list import ViewColumn, plain_columns, typed_columns, without_column_list
from penstock.sql.schemas import check_columns, check_type
from penstock.sql.session import PlanningSession
from penstock.sql.split import Piece, split_script

__all__ = ["CreateTable", "CreateView", "Drop", "Statement", "parse_script"]


@dataclass(frozen=True)
class CreateTable:
    """``CREATE TABLE``; key columns are NOT NULL."""

    name: str
    schema: StructType
    primary_key: tuple[str, ...]
    properties: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    comment: str = ""
    line: int = field(default=1, compare=False)


@dataclass(frozen=True)
class CreateView:
    """``CREATE [MATERIALIZED | TEMPORARY] VIEW``; ``query`` is the text as written.

    ``keeps_rows`` is the property ``keepRows`` of a materialised view: without its rows it can be followed,
    not read. ``columns`` names the output. ``query_line`` and ``query_column`` say where the query begins in
    the script.
    """

    name: str
    query: str
    materialized: bool
    keeps_rows: bool = True
    comment: str = ""
    columns: tuple[ViewColumn, ...] = ()
    or_replace: bool = False
    if_not_exists: bool = False
    line: int = field(default=1, compare=False)
    query_line: int = field(default=1, compare=False)
    query_column: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Drop:
    """``DROP TABLE``, ``DROP VIEW`` or ``DROP MATERIALIZED VIEW`` (``kind`` is those words)."""

    kind: str
    name: str
    if_exists: bool = False
    line: int = field(default=1, compare=False)


Statement = CreateTable | CreateView | Drop

TABLE_PROPERTIES = ("appendOnly", "keepChanges", "keepRows", "static")
VIEW_PROPERTIES = ("keepRows",)

_DROP_MATERIALIZED = re.compile(r"DROP\s+MATERIALIZED(?=\s+VIEW\b)", re.IGNORECASE)
_REPLACE_MATERIALIZED = re.compile(r"CREATE\s+OR\s+REPLACE\s+MATERIALIZED\s+VIEW\b", re.IGNORECASE)
_COMPOUND = re.compile(r"(?:\w+\s*:\s*)?BEGIN\b", re.IGNORECASE)
_CONSTRAINTS = {
    "UniqueConstraint": "UNIQUE",
    "CheckConstraint": "CHECK",
    "ForeignKeyConstraint": "FOREIGN KEY",
}


def parse_script(planning: PlanningSession, text: str) -> tuple[Statement, ...]:
    """The statements of a script, in order; SqlError names the statement and its line."""
    return tuple(_parse(planning, piece) for piece in split_script(text))


def _parse(planning: PlanningSession, piece: Piece) -> Statement:
    try:
        return _statement(planning, piece)
    except SqlError as error:
        raise SqlError(f"line {piece.line}, {_beginning(piece.text)}: {error}") from None


def _beginning(text: str) -> str:
    """Enough of a statement to know it by: ``CREATE TABLE orders``."""
    words = text.partition("(")[0].split()
    shown = words[: 5 if "MATERIALIZED" in text[:30].upper() else 3]
    return " ".join(shown) + (" …" if len(words) > len(shown) or "(" in text else "")


def _statement(planning: PlanningSession, piece: Piece) -> Statement:
    if _REPLACE_MATERIALIZED.match(piece.text):
        raise SqlError("a stored view is not replaced in place; DROP MATERIALIZED VIEW it, then create it")
    if _COMPOUND.match(piece.text):
        raise SqlError("compound statements (BEGIN … END) are not supported in a script")
    text, dropped = _DROP_MATERIALIZED.subn("DROP", piece.text, count=1)
    text, listed = without_column_list(text)
    padded = "\n" * (piece.line - 1) + " " * piece.column + text
    plan = planning.parse(padded)
    kind = plan.getClass().getSimpleName()
    if kind == "CreateTable":
        return _create_table(plan, piece)
    if kind == "CreateMaterializedViewAsSelect":
        return _create_materialized_view(plan, typed_columns(planning, listed), piece)
    if kind == "CreateView":
        return _create_view(plan, _name(plan.child()), piece)
    if kind == "CreateViewCommand":
        return _create_temporary_view(plan, piece)
    if kind in ("DropTable", "DropTempView") or kind.startswith("DropView"):
        return _drop(plan, kind, bool(dropped), piece)
    raise SqlError(
        "a script may only CREATE or DROP tables and views; rows are pushed with upsert and delete, "
        "and queries become views"
    )


def _create_table(plan: Any, piece: Piece) -> CreateTable:
    spec = plan.tableSpec()
    _refuse_options(plan, spec)
    key = _primary_key(spec.constraints())
    fields = []
    for column in _items(plan.columns()):
        name = column.name()
        for option, words in (("defaultValue", "DEFAULT"), ("generationExpression", "GENERATED ALWAYS AS")):
            if getattr(column, option)().isDefined():
                raise SqlError(f"column {name}: {words} is not supported; push the value with the row")
        if column.identityColumnSpec().isDefined():
            raise SqlError(f"column {name}: IDENTITY is not supported; push the value with the row")
        written = _parse_datatype_json_string(column.dataType().json())
        check_type(written, name)
        metadata = {"comment": column.comment().get()} if column.comment().isDefined() else None
        fields.append(StructField(name, written, column.nullable(), metadata))
    table = _name(plan.name())
    schema, key = _with_key(table, StructType(fields), key)
    comment = spec.comment()
    return CreateTable(
        table,
        schema,
        key,
        _checked(_properties(spec.properties()), TABLE_PROPERTIES, "table"),
        bool(plan.ignoreIfExists()),
        comment.get() if comment.isDefined() else "",
        piece.line,
    )


def _refuse_options(plan: Any, spec: Any) -> None:
    present = {
        "USING": spec.provider().isDefined(),
        "LOCATION": spec.location().isDefined(),
        "OPTIONS": hasattr(spec, "optionExpression") and not spec.optionExpression().options().isEmpty(),
        "ROW FORMAT or STORED AS": spec.serde().isDefined(),
        "EXTERNAL": bool(spec.external()),
        "PARTITIONED BY or CLUSTERED BY": not plan.partitioning().isEmpty(),
    }
    for words, there in present.items():
        if there:
            raise SqlError(f"{words} has no meaning for a table of a pipeline; leave it out")


def _primary_key(constraints: Any) -> tuple[str, ...]:
    key: tuple[str, ...] = ()
    for constraint in _items(constraints):
        kind = constraint.getClass().getSimpleName()
        if kind != "PrimaryKeyConstraint":
            raise SqlError(f"{_CONSTRAINTS.get(kind, kind)} is not supported; PRIMARY KEY and NOT NULL are")
        if key:
            raise SqlError("there is more than one PRIMARY KEY")
        key = tuple(_items(constraint.columns()))
    return key


def _with_key(table: str, schema: StructType, key: tuple[str, ...]) -> tuple[StructType, tuple[str, ...]]:
    """The schema with its key columns NOT NULL, and the key in the spelling of the columns."""
    check_columns(schema, f"table {table}", "give each its own name")
    by_name = {column.name.lower(): column for column in schema.fields}
    spelled: list[str] = []
    for name in key:
        column = by_name.get(name.lower())
        if column is None:
            raise SqlError(f"the PRIMARY KEY names {name}, which is not a column")
        if isinstance(column.dataType, (ArrayType, MapType, NullType, StructType)):
            raise SqlError(f"column {name}: {column.dataType.simpleString()} cannot be a key")
        if column.name in spelled:
            raise SqlError(f"the PRIMARY KEY names {name} twice")
        column.nullable = False
        spelled.append(column.name)
    return schema, tuple(spelled)


def _create_materialized_view(plan: Any, columns: tuple[ViewColumn, ...], piece: Piece) -> CreateView:
    if not plan.partitioning().isEmpty():
        raise SqlError("PARTITIONED BY has no meaning for a view of a pipeline; leave it out")
    comment = plan.tableSpec().comment()
    written = _checked(_properties(plan.tableSpec().properties()), VIEW_PROPERTIES, "materialised view")
    properties = {name.lower(): value.lower() for name, value in written}
    return _located(
        piece,
        _name(plan.name()),
        plan.originalText(),
        materialized=True,
        keeps_rows=properties.get("keeprows", "true") != "false",
        comment=comment.get() if comment.isDefined() else "",
        columns=columns,
        if_not_exists=bool(plan.ifNotExists()),
    )


def _create_view(plan: Any, name: str, piece: Piece) -> CreateView:
    _checked(_properties(plan.properties()), (), "view that is not stored")
    comment = plan.comment()
    return _located(
        piece,
        name,
        plan.originalText().get(),
        materialized=False,
        comment=comment.get() if comment.isDefined() else "",
        columns=plain_columns(plan.userSpecifiedColumns()),
        or_replace=bool(plan.replace()),
        if_not_exists=bool(plan.allowExisting()),
    )


def _create_temporary_view(plan: Any, piece: Piece) -> CreateView:
    if "Global" in plan.viewType().toString():
        raise SqlError("GLOBAL TEMPORARY VIEW is not supported; CREATE VIEW is not stored either")
    return _create_view(plan, plan.name().table(), piece)


def _located(piece: Piece, name: str, query: str, **options: Any) -> CreateView:
    index = piece.text.rfind(query)
    before = piece.text[: max(index, 0)]
    newlines = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1) + (0 if newlines else piece.column)
    return CreateView(
        name, query, line=piece.line, query_line=piece.line + newlines, query_column=column, **options
    )


def _drop(plan: Any, kind: str, materialized: bool, piece: Piece) -> Drop:
    if kind == "DropTable":
        if plan.purge():
            raise SqlError("PURGE has no meaning for a table of a pipeline; leave it out")
        words = "TABLE"
    else:
        words = "MATERIALIZED VIEW" if materialized else "VIEW"
    return Drop(words, _name(plan.child()), bool(plan.ifExists()), piece.line)


def _name(identifier: Any) -> str:
    parts = list(_items(identifier.nameParts()))
    if len(parts) != 1:
        raise SqlError(f"{'.'.join(parts)}: a pipeline has one schema; use a name without dots")
    if not str(parts[0]).strip():
        raise SqlError("the name is empty")
    return str(parts[0])


def _properties(mapping: Any) -> tuple[tuple[str, str], ...]:
    pairs = (pair for pair in _items(mapping.toSeq()))
    return tuple(sorted((str(pair._1()), str(pair._2())) for pair in pairs))


def _checked(
    properties: tuple[tuple[str, str], ...], known: Sequence[str], owner: str
) -> tuple[tuple[str, str], ...]:
    """The properties, all of which must be ``known`` (in any case) and true or false: one that is misspelt
    would otherwise be ignored."""
    for name, value in properties:
        if name.lower() not in map(str.lower, known):
            some = choice_text(name, known) if known else "it has none"
            raise SqlError(f"TBLPROPERTIES: a {owner} has no property '{name}'; {some}")
        if value.lower() not in ("true", "false"):
            raise SqlError(f"TBLPROPERTIES: '{name}' is 'true' or 'false', not '{value}'")
    return properties


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
