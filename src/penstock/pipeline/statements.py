"""INSERT, UPDATE and DELETE statements on a pipeline's tables: a change computed by Spark over the contents
of tables and views.

Spark parses the statement and runs the query in it: the rows to insert, or the matching rows with their new
values. Values are converted to the columns' types as Spark does on writing to a table (its ANSI store
assignment: numbers are cast or overflow, strings are not parsed as numbers). The result is rows to be pushed;
they are checked against the table (NULLs, keys) like all pushed rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.types import CharType, DataType, StringType, StructField, StructType, VarcharType

from penstock.circuit.operation import Operation
from penstock.errors import InputError, PipelineError, SqlError, choice_text
from penstock.pipeline.contents import arrow_of, frame_of
from penstock.pipeline.ingest import to_batch, to_deletes
from penstock.pipeline.relations import Relations
from penstock.pipeline.tables import TableSchema
from penstock.sql import PendingView, TableDefinition, Tables
from penstock.sql.session import quoted, translated_errors
from penstock.sql.split import split_script

__all__ = ["TableChange", "change_of"]

_KINDS = "INSERT INTO, UPDATE and DELETE FROM"


@dataclass(frozen=True)
class TableChange:
    """Rows to push into a table, each batch with its operation, in this order."""

    table: TableSchema
    parts: tuple[tuple[pa.RecordBatch, Operation], ...]


def change_of(
    session: SparkSession,
    relations: Relations,
    read: Callable[[str], pa.Table],
    beside: Path | None,
    text: str,
    timezone: str,
) -> TableChange:
    """The change made by a statement. ``session`` is a fresh one with the pipeline's settings, ``read``
    returns rows of tables and views; large ones are temporarily written into a folder ``beside`` the
    state."""
    pieces = split_script(text)
    if len(pieces) != 1:
        raise SqlError(f"one statement at a time, please; this text has {len(pieces)}")
    with tempfile.TemporaryDirectory(prefix="statement-", dir=beside) as folder:
        statement = _Statement(session, relations, timezone)
        return statement.change(pieces[0].text, read, Path(folder))


class _Statement:
    def __init__(self, session: SparkSession, relations: Relations, timezone: str) -> None:
        self.session, self.relations, self.timezone = session, relations, timezone
        self.jvm: Any = session._jvm

    def change(self, text: str, read: Callable[[str], pa.Table], folder: Path) -> TableChange:
        # The parser goes by the settings of the active session. The caller puts the user's back.
        self.jvm.SparkSession.setActiveSession(self.session._jsparkSession)
        with translated_errors():
            plan = self.session._jsparkSession.sessionState().sqlParser().parsePlan(text)
        kind = plan.getClass().getSimpleName()
        compute = {
            "DeleteFromTable": self._delete,
            "UpdateTable": self._update,
            "InsertIntoStatement": self._insert,
        }.get(kind)
        if compute is None:
            raise SqlError(_advice(kind, text))
        table = self.relations.table(_target(plan.table()))
        if table.append_only and kind != "InsertIntoStatement":
            raise InputError(table.name, "the table is append-only: its rows are neither changed nor deleted")
        known, unreadable = self._register(text.lower(), read, folder)
        try:
            with translated_errors(known):
                return TableChange(table, compute(plan, table))
        except SqlError as error:
            for name in unreadable:
                if f"no table or view {name} " in str(error):
                    self.relations.readable(name)
            raise

    def _register(
        self, text: str, read: Callable[[str], pa.Table], folder: Path
    ) -> tuple[list[str], list[str]]:
        """Registers the relations that the statement can refer to; returns the names of those it may read,
        and of those it may not."""
        catalog = self.relations.catalog
        wanted = {relation.name for relation in catalog.relations if relation.name.lower() in text}
        for relation in reversed(catalog.relations):
            if not isinstance(relation, TableDefinition) and relation.name in wanted:
                wanted.update(() if relation.materialized else relation.uses)
        names: dict[str, str] = {}
        for relation in catalog.relations:
            if relation.name not in wanted or isinstance(relation, PendingView):
                continue
            if isinstance(relation, TableDefinition) or relation.materialized:
                try:
                    self.relations.readable(relation.name)
                except PipelineError:
                    continue
                frame = frame_of(self.session, read(relation.name), relation.schema, folder)
            elif relation.function is not None:
                frame = relation.function(Tables(self.session, dict(names)))
            else:
                assert relation.query is not None
                frame = self.session.sql(relation.query)
                names_of = [column.name for column in relation.columns]
                frame = frame.toDF(*names_of) if names_of else frame
            frame.createOrReplaceTempView(quoted(relation.name))
            names[relation.name.lower()] = relation.name
        known = [relation.name for relation in catalog.relations]
        return known, [name for name in known if name in wanted and name.lower() not in names]

    # ---- the three kinds --------------------------------------------------------------------------

    def _delete(self, plan: Any, table: TableSchema) -> tuple[tuple[pa.RecordBatch, Operation], ...]:
        found = self._frame(plan.table()).where(self._column(plan.condition()))
        columns = table.primary_key or table.schema.names
        rows = arrow_of(found.select(*(F.col(quoted(name)) for name in columns)))
        return (to_deletes(table, rows, timezone=self.timezone),)

    def _update(self, plan: Any, table: TableSchema) -> tuple[tuple[pa.RecordBatch, Operation], ...]:
        """Old rows and new values come from one query, so that they stay together whatever it computes."""
        values = {
            _assigned(item, table, _names(plan.table())): self._column(item.value())
            for item in _items(plan.assignments())
        }
        if len(values) < plan.assignments().size():
            raise SqlError("a column is assigned twice")
        found = self._frame(plan.table())
        if plan.condition().isDefined():
            found = found.where(self._column(plan.condition().get()))
        names = table.schema.names
        old = [F.col(quoted(name)).alias(f"old{i}") for i, name in enumerate(names)]
        new = [value.alias(f"new{names.index(name)}") for name, value in values.items()]
        types = {f"{age}{i}": f.dataType for age in ("old", "new") for i, f in enumerate(table.schema.fields)}
        rows = arrow_of(_stored(found.select(*old, *new), types))
        before = pa.table({name: rows[f"old{i}"] for i, name in enumerate(names)})
        after = pa.table(
            {name: rows[f"new{i}" if name in values else f"old{i}"] for i, name in enumerate(names)}
        )
        added = to_batch(table, after, timezone=self.timezone)
        if table.keyed and values.keys().isdisjoint(table.primary_key):
            return ((added, Operation.UPSERT),)
        return to_deletes(table, before, timezone=self.timezone), (added, Operation.INSERT)

    def _insert(self, plan: Any, table: TableSchema) -> tuple[tuple[pa.RecordBatch, Operation], ...]:
        if plan.overwrite():
            raise SqlError("INSERT OVERWRITE and REPLACE are not supported; DELETE rows first, then INSERT")
        if not plan.partitionSpec().isEmpty() or plan.withSchemaEvolution():
            raise SqlError("PARTITION and SCHEMA EVOLUTION have no meaning for a table of a pipeline")
        found = self._frame(plan.query())
        listed = _items(plan.userSpecifiedCols())
        names = [
            _column_name(name, table) for name in (found.columns if plan.byName() else listed)
        ] or table.schema.names
        if len(names) != len(found.columns):
            raise SqlError(f"{len(names)} columns are to be filled, but the query gives {len(found.columns)}")
        if len(set(names)) < len(names):
            raise SqlError("a column is named twice")
        fields = {field.name: field for field in table.schema.fields}
        stored = _stored(found.toDF(*names), {name: fields[name].dataType for name in names})
        rows = arrow_of(stored)
        for field in table.arrow_schema:
            if field.name not in names:
                rows = rows.append_column(field.name, pa.nulls(rows.num_rows, field.type))
        return ((to_batch(table, rows, timezone=self.timezone), Operation.INSERT),)

    # ---- from Catalyst's plans to DataFrames ------------------------------------------------------

    def _frame(self, plan: Any) -> DataFrame:
        rows = self.jvm.org.apache.spark.sql.classic.Dataset.ofRows(self.session._jsparkSession, plan)
        return DataFrame(rows, self.session)

    def _column(self, expression: Any) -> Column:
        return ClassicColumn(self.jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression))


def _advice(kind: str, text: str) -> str:
    if kind == "UnresolvedWith" and "insert" in text.lower():
        return "write WITH behind the table: INSERT INTO t WITH … SELECT …"
    if kind == "MergeIntoTable":
        return "MERGE is not supported; use run.upsert() to merge rows by key, or UPDATE, DELETE and INSERT"
    if kind == "TruncateTable":
        return "TRUNCATE is not supported; use DELETE FROM without a condition"
    if "Create" in kind or "Drop" in kind:
        return "tables and views are declared with pipe.sql(), while the pipeline is not running"
    return (
        f"only {_KINDS} are for run.sql(); views are read with run.view(), or by spark.sql() after "
        "run.create_temp_views()"
    )


def _stored(frame: DataFrame, types: dict[str, DataType]) -> DataFrame:
    """The columns of a frame cast to the types of a table's columns by Spark's store assignment. NULLs are
    let through: they are rejected later, where the row number is known."""
    text = (CharType, VarcharType)
    fields = [
        StructField(name, StringType() if isinstance(types[name], text) else types[name])
        for name in frame.columns
    ]
    return frame.to(StructType(fields))


def _target(relation: Any) -> str:
    """The name of the statement's target table."""
    if relation.getClass().getSimpleName() == "SubqueryAlias":
        relation = relation.child()
    parts = _items(relation.multipartIdentifier())
    if len(parts) != 1:
        raise SqlError(f"{'.'.join(parts)}: a pipeline has one schema; use a name without dots")
    return str(parts[0])


def _names(relation: Any) -> set[str]:
    """The names under which the statement can refer to its table, in lower case."""
    alias = relation.getClass().getSimpleName() == "SubqueryAlias"
    return {(relation.alias() if alias else _target(relation)).lower()}


def _assigned(assignment: Any, table: TableSchema, called: set[str]) -> str:
    """The column assigned by ``SET column = value``."""
    parts = [str(part) for part in _items(assignment.key().nameParts())]
    if len(parts) == 2 and parts[0].lower() in called:
        parts = parts[1:]
    if len(parts) > 1:
        raise SqlError(f"SET {'.'.join(parts)}: a field cannot be assigned alone; assign the whole column")
    return _column_name(parts[0], table)


def _column_name(name: str, table: TableSchema) -> str:
    for known in table.schema.names:
        if known.lower() == name.lower():
            return str(known)
    raise SqlError(f"table {table.name} has no column {name}; {choice_text(name, table.schema.names)}")


def _items(sequence: Any) -> Sequence[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
