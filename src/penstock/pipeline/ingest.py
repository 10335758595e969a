"""Converts what a user pushes into one Arrow batch of exactly the table's schema, or rejects it.

All pushed rows come through here (files come through :mod:`penstock.schedule.files`, with the same
conversions and checks). The resulting batch has the declared columns in the declared order with the declared
types, no NULL in NOT NULL columns, no -0.0 and one NaN, and valid memory; no later stage checks again.
Whatever does not fit raises an :class:`~penstock.errors.InputError` that names the table, the first bad row
(counted from 0) and the column, and nothing is pushed.

Rows come as Python dicts or Spark ``Row`` objects, a pandas or Spark DataFrame, or anything Arrow (tables,
batches, and libraries with Arrow's stream interface). Names are matched as Spark matches them, in any order.
A missing column is an error and not a NULL: a misspelt optional column would otherwise silently lose data. In
pandas a missing value (NaN, NaT, NA) is NULL, as Spark reads it.

Arrow data is checked and cast column by column without a Python loop over rows; Python rows cost a dictionary
look-up per value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame as SparkDataFrame
from pyspark.sql import Row
from pyspark.sql.types import StructField, YearMonthIntervalType

from penstock.circuit.operation import Operation
from penstock.errors import InputError
from penstock.intake.arrow_values import from_arrow
from penstock.intake.columns import checked_column, contiguous
from penstock.intake.python_values import from_python
from penstock.intake.refusal import RefusedError, shown
from penstock.pipeline.tables import TableSchema
from penstock.sql.lost_jvm import with_jvm

__all__ = ["to_batch", "to_deletes", "to_keys"]

Convert = Callable[[StructField], pa.Array]


def to_batch(
    table: TableSchema, rows: object, *, timezone: str = "UTC", case_sensitive: bool = False
) -> pa.RecordBatch:
    """``rows`` as one batch of ``table.arrow_schema``; raises :class:`InputError`.

    ``timezone`` is the session's: local times pushed into TIMESTAMP columns are interpreted in it.
    """
    return _Door(table, table.schema.names, timezone, case_sensitive).take(rows)


def to_keys(
    table: TableSchema, rows: object, *, timezone: str = "UTC", case_sensitive: bool = False
) -> pa.RecordBatch:
    """The keys in ``rows``, as one batch of the key columns in key order; raises :class:`InputError`.

    Rows may be whole rows or only their key columns. A key may also be given alone: as the bare value if the
    key is one column, as a tuple in key order otherwise.
    """
    if not table.keyed:
        raise InputError(table.name, "the table has no primary key; delete whole rows")
    door = _Door(table.key_table, table.schema.names, timezone, case_sensitive)
    return door.take(_named_keys(table, rows))


def to_deletes(
    table: TableSchema, rows: object, *, timezone: str = "UTC"
) -> tuple[pa.RecordBatch, Operation]:
    """The rows to delete (of a keyed table their keys, and NULL in the other columns), and the operation that
    deletes them; raises :class:`InputError`."""
    if table.append_only:
        raise InputError(table.name, "the table is append-only: nothing can be deleted from it")
    if not table.keyed:
        return to_batch(table, rows, timezone=timezone), Operation.DELETE
    keys = to_keys(table, rows, timezone=timezone)
    place = {name: i for i, name in enumerate(table.primary_key)}
    columns = [
        keys.column(place[field.name]) if field.name in place else pa.nulls(keys.num_rows, field.type)
        for field in table.arrow_schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=table.arrow_schema), Operation.DELETE


def _named_keys(table: TableSchema, rows: object) -> object:
    """Bare keys with column names added; everything else unchanged."""
    key = table.primary_key
    if isinstance(rows, (pa.Array, pa.ChunkedArray)) and len(key) == 1:
        return pa.table({key[0]: rows})
    if isinstance(rows, (pd.Series, np.ndarray)) and len(key) == 1:
        return pd.DataFrame({key[0]: np.asarray(rows) if isinstance(rows, np.ndarray) else rows.array})
    if _is_frame(rows) or isinstance(rows, (Mapping, str, bytes)) or not isinstance(rows, Iterable):
        return rows
    listed = list(rows)
    if any(isinstance(row, (Mapping, Row)) for row in listed):
        return listed
    if len(key) == 1:
        return [{key[0]: value} for value in listed]
    for number, value in enumerate(listed):
        if not isinstance(value, (tuple, list)) or len(value) != len(key):
            reason = f"a key is a dict or a tuple of ({', '.join(key)}), got {shown(value)}"
            raise InputError(table.name, reason, row=number)
    return [dict(zip(key, value, strict=True)) for value in listed]


def _is_frame(rows: object) -> bool:
    return isinstance(rows, (pd.DataFrame, pa.Table, pa.RecordBatch, SparkDataFrame)) or hasattr(
        rows, "__arrow_c_stream__"
    )


class _Door:
    """The conversion of one push: ``table`` gives the wanted columns, ``known`` other names that are
    allowed."""

    def __init__(self, table: TableSchema, known: Sequence[str], timezone: str, case_sensitive: bool) -> None:
        self.table, self.known = table, known
        self.timezone, self.case_sensitive = timezone, case_sensitive

    def take(self, rows: object) -> pa.RecordBatch:
        if isinstance(rows, pd.DataFrame):
            return self._pandas(rows)
        if isinstance(rows, SparkDataFrame):
            return self._spark(rows)
        if isinstance(rows, (pa.Table, pa.RecordBatch)):
            return self._arrow(rows)
        if hasattr(rows, "__arrow_c_stream__"):
            return self._arrow(pa.table(rows))
        if isinstance(rows, (Mapping, Row, str, bytes)) or not isinstance(rows, Iterable):
            kind = type(rows).__name__
            raise self._error(f"rows come as a list of dicts, a DataFrame or an Arrow table, got {kind}")
        return self._python(list(rows))

    def _error(self, reason: str, row: int | None = None, column: str | None = None) -> InputError:
        return InputError(self.table.name, reason, row=row, column=column)

    def _columns(self, names: Sequence[Any], row: int | None = None) -> dict[str, int]:
        """The position of each wanted column in ``names``; rejects unknown, missing and duplicate names."""
        fold = str if self.case_sensitive else str.lower
        declared = {fold(name): name for name in self.known}
        found: dict[str, int] = {}
        for position, name in enumerate(names):
            column = declared.get(fold(name)) if isinstance(name, str) else None
            if column is None:
                raise self._error(
                    f"there is no such column; columns are {', '.join(self.known)}", row, str(name)
                )
            if column in found:
                raise self._error("the column is given twice", row, column)
            found[column] = position
        for field in self.table.fields:
            if field.name not in found:
                raise self._error("the column is missing (a NULL must be given as NULL)", row, field.name)
        return found

    def _batch(self, convert: Convert, length: int) -> pa.RecordBatch:
        arrays = []
        for field in self.table.fields:
            try:
                array = checked_column(convert(field), field, in_key=field.name in self.table.primary_key)
            except RefusedError as refused:
                path = ".".join((field.name, *refused.path))
                raise self._error(refused.reason, refused.index, path) from None
            except pa.ArrowInvalid as problem:
                raise self._error(f"the Arrow data is not valid: {problem}", column=field.name) from None
            assert len(array) == length
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.table.arrow_schema)

    def _python(self, rows: list[Any]) -> pa.RecordBatch:
        # by the column names of a row, of which there is nearly always one set
        positions: dict[tuple[Any, ...], dict[str, int]] = {}
        wanted = [field.name for field in self.table.fields]
        columns: dict[str, list[Any]] = {name: [] for name in wanted}
        for number, row in enumerate(rows):
            names, values = self._named(row, number)
            where = positions.get(names)
            if where is None:
                where = positions[names] = self._columns(names, number)
            for name in wanted:
                columns[name].append(values[where[name]])
        return self._batch(lambda f: from_python(columns[f.name], f.dataType, self.timezone), len(rows))

    def _named(self, row: object, number: int) -> tuple[tuple[Any, ...], Sequence[Any]]:
        if isinstance(row, Mapping):
            return tuple(row), tuple(row.values())
        if isinstance(row, Row) and hasattr(row, "__fields__"):
            return tuple(row.__fields__), row
        raise self._error(f"a row is a dict or a Row with names, got {shown(row)}", number)

    def _pandas(self, frame: pd.DataFrame) -> pa.RecordBatch:
        where = self._columns(list(frame.columns))

        def convert(field: StructField) -> pa.Array:
            series = frame.iloc[:, where[field.name]]
            if series.dtype == object:
                return from_python(_without_missing(series), field.dataType, self.timezone)
            array = contiguous(pa.array(series, from_pandas=True))
            return from_arrow(array, field.dataType, self.timezone, whole_floats=True)

        return self._batch(convert, len(frame))

    def _arrow(self, data: pa.Table | pa.RecordBatch) -> pa.RecordBatch:
        where = self._columns(data.schema.names)

        def convert(field: StructField) -> pa.Array:
            column = data.column(where[field.name])
            column.validate(full=True)
            return from_arrow(contiguous(column), field.dataType, self.timezone)

        return self._batch(convert, data.num_rows)

    @with_jvm()
    def _spark(self, frame: SparkDataFrame) -> pa.RecordBatch:
        self._columns(frame.columns)
        months = {f.name for f in frame.schema.fields if isinstance(f.dataType, YearMonthIntervalType)}
        if months:  # Spark cannot convert these to Arrow, but can convert their number of months
            frame = frame.selectExpr(
                *(
                    f"CAST(CAST(`{name}` AS INTERVAL MONTH) AS INT) AS `{name}`"
                    if name in months
                    else f"`{name}`"
                    for name in frame.columns
                )
            )
        return self._arrow(frame.toArrow())


def _without_missing(series: pd.Series[Any]) -> list[Any]:
    """The values of an object column, pandas' several missing values all as None."""
    values, missing = series.to_numpy(dtype=object).tolist(), series.isna().tolist()
    return [None if absent else value for value, absent in zip(values, missing, strict=True)]
