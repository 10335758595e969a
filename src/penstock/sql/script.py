"""Scripts: the statements a pipeline understands, parsed by Spark's own parser.

Spark parses; what it cannot parse but a pipeline needs (``DROP MATERIALIZED VIEW``) is ours. Nothing is
executed: a statement is a frozen description, and everything a pipeline has no meaning for (INSERT, SET,
table options, constraints other than the primary key) is refused by name and line rather than ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    CharType,
    MapType,
    NullType,
    StructField,
    StructType,
    VarcharType,
    _parse_datatype_json_string,
)

from penstock.errors import SqlError
from penstock.sql.schemas import check_columns, plain_type
from penstock.sql.session import PlanningSession
from penstock.sql.split import Piece, split_script

__all__ = ["CreateTable", "CreateView", "Drop", "Statement", "parse_script"]


@dataclass(frozen=True)
class CreateTable:
    """``CREATE TABLE``; key columns are NOT NULL. ``notes`` say where the table differs from its text."""

    name: str
    schema: StructType
    primary_key: tuple[str, ...]
    properties: tuple[tuple[str, str], ...] = ()
    if_not_exists: bool = False
    comment: str = ""
    notes: tuple[str, ...] = ()
    line: int = field(default=1, compare=False)


@dataclass(frozen=True)
class CreateView:
    """``CREATE [MATERIALIZED | TEMPORARY] VIEW``; ``query`` is the text as written.

    ``keeps_rows`` is the property ``keepRows`` of a materialised view: without its rows it can be followed,
    not read. ``query_line`` and ``query_column`` say where the query begins in the script.
    """

    name: str
    query: str
    materialized: bool
    keeps_rows: bool = True
    comment: str = ""
    columns: tuple[str, ...] = ()
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
    padded = "\n" * (piece.line - 1) + " " * piece.column + (text if dropped else piece.text)
    plan = planning.parse(padded)
    kind = plan.getClass().getSimpleName()
    if kind == "CreateTable":
        return _create_table(plan, piece)
    if kind == "CreateMaterializedViewAsSelect":
        return _create_materialized_view(plan, piece)
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
    fields, notes = [], []
    for column in _items(plan.columns()):
        name = column.name()
        for option, words in (("defaultValue", "DEFAULT"), ("generationExpression", "GENERATED ALWAYS AS")):
            if getattr(column, option)().isDefined():
                raise SqlError(f"column {name}: {words} is not supported; push the value with the row")
        if column.identityColumnSpec().isDefined():
            raise SqlError(f"column {name}: IDENTITY is not supported; push the value with the row")
        written = _parse_datatype_json_string(column.dataType().json())
        if isinstance(written, (VarcharType, CharType)):
            notes.append(f"column {name}: {_spelled(written)} is kept as STRING; length is not enforced")
        if isinstance(written, NullType):
            raise SqlError(f"column {name}: the type VOID is not supported")
        metadata = {"comment": column.comment().get()} if column.comment().isDefined() else None
        fields.append(StructField(name, plain_type(written, name), column.nullable(), metadata))
    table = _name(plan.name())
    schema, key = _with_key(table, StructType(fields), key)
    comment = spec.comment()
    return CreateTable(
        table,
        schema,
        key,
        _properties(spec.properties()),
        bool(plan.ignoreIfExists()),
        comment.get() if comment.isDefined() else "",
        tuple(notes),
        piece.line,
    )


def _spelled(data_type: VarcharType | CharType) -> str:
    return data_type.simpleString().upper()


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
    check_columns(schema, f"table {table}")
    by_name = {column.name.lower(): column for column in schema.fields}
    spelled: list[str] = []
    for name in key:
        column = by_name.get(name.lower())
        if column is None:
            raise SqlError(f"the PRIMARY KEY names {name}, which is not a column")
        if isinstance(column.dataType, (ArrayType, MapType, StructType)):
            raise SqlError(f"column {name}: {column.dataType.simpleString()} cannot be a key")
        if column.name in spelled:
            raise SqlError(f"the PRIMARY KEY names {name} twice")
        column.nullable = False
        spelled.append(column.name)
    return schema, tuple(spelled)


def _create_materialized_view(plan: Any, piece: Piece) -> CreateView:
    if not plan.columns().isEmpty():
        raise SqlError("a column list is not supported here; give the columns aliases in the query")
    if not plan.partitioning().isEmpty():
        raise SqlError("PARTITIONED BY has no meaning for a view of a pipeline; leave it out")
    comment = plan.tableSpec().comment()
    properties = {name.lower(): value.lower() for name, value in _properties(plan.tableSpec().properties())}
    return _located(
        piece,
        _name(plan.name()),
        plan.originalText(),
        materialized=True,
        keeps_rows=properties.get("keeprows", "true") != "false",
        comment=comment.get() if comment.isDefined() else "",
        if_not_exists=bool(plan.ifNotExists()),
    )


def _create_view(plan: Any, name: str, piece: Piece) -> CreateView:
    comment = plan.comment()
    return _located(
        piece,
        name,
        plan.originalText().get(),
        materialized=False,
        comment=comment.get() if comment.isDefined() else "",
        columns=tuple(column._1() for column in _items(plan.userSpecifiedColumns())),
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
    return str(parts[0])


def _properties(mapping: Any) -> tuple[tuple[str, str], ...]:
    pairs = (pair for pair in _items(mapping.toSeq()))
    return tuple(sorted((str(pair._1()), str(pair._2())) for pair in pairs))


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
