"""The column list of a view: ``CREATE MATERIALIZED VIEW v (id, total COMMENT 'in euros') AS …``.

Spark's parser takes such a list for a plain view; for a materialised one it wants a type beside every name.
Here both forms are good for both. So the list is cut out of the text of a materialised view (blanks keep its
place, so that lines and columns in messages stay right) and parsed as that of a plain view; only if types are
given is it parsed as that of a materialised one, and the types must then be those of the query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.types import DataType, StructField, StructType, _parse_datatype_json_string

from penstock.errors import SqlError
from penstock.sql.schemas import same_types
from penstock.sql.session import PlanningSession
from penstock.sql.split import closing_parenthesis, skip_blanks

__all__ = [
    "ViewColumn",
    "described",
    "plain_columns",
    "typed_columns",
    "without_column_list",
    "without_types",
]

_MATERIALIZED = re.compile(r"CREATE\s+MATERIALIZED\s+VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?", re.IGNORECASE)
_NAME = re.compile(r"(?:`(?:[^`]|``)*`|\w+)(?:\s*\.\s*(?:`(?:[^`]|``)*`|\w+))*")


@dataclass(frozen=True)
class ViewColumn:
    """One item of a column list; ``data_type`` is None where the list has only a name."""

    name: str
    comment: str = ""
    data_type: DataType | None = None


def without_column_list(text: str) -> tuple[str, str]:
    """A CREATE MATERIALIZED VIEW statement without its column list, and the list with its parentheses (empty
    if there is none). Any other statement is as it was."""
    start = _MATERIALIZED.match(text)
    name = _NAME.match(text, start.end()) if start else None
    if name is None:
        return text, ""
    opening = skip_blanks(text, name.end(), len(text))
    if not text.startswith("(", opening):
        return text, ""
    end = closing_parenthesis(text, opening)
    blank = re.sub(r"[^\n]", " ", text[opening:end])
    return text[:opening] + blank + text[end:], text[opening:end]


def typed_columns(planning: PlanningSession, listed: str) -> tuple[ViewColumn, ...]:
    """The columns of a materialised view's list, as :func:`without_column_list` found it."""
    if not listed:
        return ()
    try:
        plan = planning.parse(f"CREATE VIEW v {listed} AS SELECT 1")
    except SqlError:
        with_types = planning.parse(f"CREATE MATERIALIZED VIEW v {listed} AS SELECT 1").columns()
        if with_types.isEmpty():
            raise SqlError("the column list is empty; leave it out or name the columns") from None
        return tuple(_typed(with_types.apply(i)) for i in range(with_types.size()))
    return plain_columns(plan.userSpecifiedColumns())


def plain_columns(columns: Any) -> tuple[ViewColumn, ...]:
    """The columns of Spark's ``CreateView``: pairs of a name and perhaps a comment."""
    pairs = [columns.apply(i) for i in range(columns.size())]
    return tuple(
        ViewColumn(str(pair._1()), str(pair._2().get()) if pair._2().isDefined() else "") for pair in pairs
    )


def _typed(column: Any) -> ViewColumn:
    name = str(column.name())
    if not column.nullable():
        raise SqlError(f"column {name}: NOT NULL has no meaning for a view; leave it out")
    for option, words in (("defaultValue", "DEFAULT"), ("generationExpression", "GENERATED ALWAYS AS")):
        if getattr(column, option)().isDefined():
            raise SqlError(f"column {name}: {words} has no meaning for a view; leave it out")
    comment = column.comment()
    return ViewColumn(
        name,
        str(comment.get()) if comment.isDefined() else "",
        _parse_datatype_json_string(column.dataType().json()),
    )


def without_types(columns: tuple[ViewColumn, ...]) -> tuple[ViewColumn, ...]:
    """The columns as a planned view has them: its types are those of its schema."""
    return tuple(replace(column, data_type=None) for column in columns)


def described(schema: StructType, columns: tuple[ViewColumn, ...]) -> StructType:
    """The schema of a view's renamed output with the comments of its column list; raises SqlError where the
    list has another type than the query."""
    if not columns:
        return schema
    fields = []
    for field, column in zip(schema.fields, columns, strict=True):
        if column.data_type is not None and not same_types(column.data_type, field.dataType):
            declared, found = (kind.simpleString().upper() for kind in (column.data_type, field.dataType))
            raise SqlError(
                f"column {column.name} is declared {declared}, but the query gives {found}; "
                f"write CAST(… AS {declared}) in the query, or leave the type out"
            )
        metadata = {**field.metadata, "comment": column.comment} if column.comment else field.metadata
        fields.append(StructField(field.name, field.dataType, field.nullable, metadata))
    return StructType(fields)
