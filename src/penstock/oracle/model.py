"""What the tables hold after a change stream: the truth Spark is asked about.

Plain Python dictionaries from a row's identity (its key, or the whole row in a keyless table) to the rows
themselves, slow and obvious on purpose. Identity is Spark's: NULLs are equal, so are all NaN, so are both
zeros; and a table holds one spelling of each, as in a pipeline. Texts are cut to the length of their
VARCHAR(n) or CHAR(n), and the latter are held without spaces at the end: Spark pads them when it reads.
Applying a step also *repairs* it: a delete of a row that a keyless table does not hold or may not lose, or an
insert of a key that is there already, would be refused by a pipeline and is left out, so that any subset of a
valid stream is a valid stream, which is what shrinking needs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.floats import normalise_floats
from penstock.expr.types import has_lengths
from penstock.pipeline.compare import identities
from penstock.pipeline.tables import TableSchema

__all__ = ["Change", "Model", "Operation", "Step"]

Operation = Literal["insert", "upsert", "delete"]


@dataclass(frozen=True)
class Change:
    """Rows pushed into one table at once. Deletes from a keyed table may hold the key columns only."""

    table: str
    operation: Operation
    rows: pa.RecordBatch


Step = tuple[Change, ...]


class _Held:
    """The rows of one table: by identity, as positions in the sequence of all rows ever pushed."""

    def __init__(self, table: TableSchema) -> None:
        self.table = table
        self.columns = table.primary_key or tuple(table.schema.names)
        self.rows: dict[Hashable, list[int]] = {}
        self.batches: list[pa.RecordBatch] = []
        self.pushed = 0

    def apply(self, change: Change) -> Change:
        accept = getattr(self, f"_{change.operation}")
        rows = self._cut(change.rows)
        kept = [i for i, key in enumerate(identities(rows, self.columns)) if accept(key, self.pushed + i)]
        if change.operation != "delete":
            columns = map(normalise_floats, rows.columns)
            self.batches.append(pa.RecordBatch.from_arrays(list(columns), schema=change.rows.schema))
            self.pushed += len(change.rows)
        if len(kept) == len(change.rows):
            return change
        return Change(change.table, change.operation, change.rows.take(pa.array(kept, pa.int64())))

    def _cut(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with texts that fit their columns."""
        types = {field.name: field.dataType for field in self.table.fields}
        columns = [
            pa.array([_cut(value, types[name]) for value in column.to_pylist()], column.type)
            if has_lengths(types[name])
            else column
            for name, column in zip(rows.schema.names, rows.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=rows.schema)

    def _insert(self, key: Hashable, position: int) -> bool:
        if self.table.keyed and key in self.rows:
            return False
        self.rows.setdefault(key, []).append(position)
        return True

    def _upsert(self, key: Hashable, position: int) -> bool:
        self.rows[key] = [position]
        return True

    def _delete(self, key: Hashable, position: int) -> bool:
        held = self.rows.get(key)
        if held is None or self.table.append_only:
            return self.table.keyed  # an absent key is ignored, an absent row refused
        held.pop()
        if not held:
            del self.rows[key]
        return True

    def contents(self) -> pa.Table:
        schema = self.table.arrow_schema
        positions = [position for held in self.rows.values() for position in held]
        return pa.Table.from_batches(self.batches, schema).take(pa.array(positions, pa.int64()))


def _cut(value: Any, data_type: t.DataType) -> Any:
    """A value with every VARCHAR(n) in it cut to n characters, and CHAR(n) without spaces at its end."""
    if value is None:
        return None
    if isinstance(data_type, t.CharType):
        return value[: data_type.length].rstrip(" ")
    if isinstance(data_type, t.VarcharType):
        return value[: data_type.length]
    if isinstance(data_type, t.ArrayType):
        return [_cut(item, data_type.elementType) for item in value]
    if isinstance(data_type, t.MapType):
        return [(_cut(key, data_type.keyType), _cut(item, data_type.valueType)) for key, item in value]
    if isinstance(data_type, t.StructType):
        return {field.name: _cut(value[field.name], field.dataType) for field in data_type.fields}
    return value


class Model:
    """The contents of a set of tables."""

    def __init__(self, tables: Iterable[TableSchema]) -> None:
        self._held = {table.name: _Held(table) for table in tables}

    def apply(self, step: Step) -> Step:
        """Take a step; returns it without what a pipeline would refuse."""
        repaired = (self._held[change.table].apply(change) for change in step)
        return tuple(change for change in repaired if len(change.rows))

    def contents(self, table: str) -> pa.Table:
        """The rows that a table holds."""
        return self._held[table].contents()

    def all_contents(self) -> dict[str, pa.Table]:
        """The rows of every table."""
        return {name: held.contents() for name, held in self._held.items()}

    def size(self, table: str) -> int:
        """How many rows a table holds."""
        return sum(map(len, self._held[table].rows.values()))
