"""The definition of a table: its name, its Spark schema, and its key if it has one.

A table with a primary key holds at most one row per key and takes upserts and deletes by key. A table without
one is a multiset: it takes inserts, and deletes of whole rows it holds. Key columns are never NULL, whatever
the schema says about them, and the public schema shows that.

A keyless table may be append-only (``TBLPROPERTIES ('appendOnly' = 'true')``): it only takes inserts, which
is cheapest. It may also discard its rows once all views have processed them (``'keepRows' = 'false'``).

A table may be static (``'static' = 'true'``): it is filled before the others and then frozen, so rows joined
with it need not be stored.

Any table may keep its changes (``'keepChanges' = 'true'``), to be read like those of views. This can be
turned on and off later, because it does not affect the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from penstock.errors import SqlError
from penstock.expr.types import arrow_schema
from penstock.sql import TableDefinition

__all__ = ["TableSchema"]


@dataclass(frozen=True)
class TableSchema:
    """Name, columns and primary key (empty for a keyless table) of one input table."""

    name: str
    schema: StructType
    primary_key: tuple[str, ...] = ()
    append_only: bool = False
    keeps_rows: bool = True
    static: bool = False
    keeps_changes: bool = False

    def __post_init__(self) -> None:
        unknown = [name for name in self.primary_key if name not in self.schema.names]
        if unknown:
            raise ValueError(f"table {self.name}: the primary key names no column: {', '.join(unknown)}")
        if len(set(self.primary_key)) != len(self.primary_key):
            raise ValueError(f"table {self.name}: the primary key names a column twice")
        if self.append_only and self.primary_key:
            raise SqlError(
                f"table {self.name}: an append-only table has no primary key (rows are never replaced); "
                "leave out the key or the property appendOnly"
            )
        if self.append_only and self.static:
            raise SqlError(
                f"table {self.name}: a table cannot be both static (frozen after loading) and append-only; "
                "leave out one of the properties static and appendOnly"
            )
        if not self.keeps_rows and not self.append_only:
            raise SqlError(
                f"table {self.name}: only an append-only table can discard its rows (others need the old row "
                "to change it); add the property 'appendOnly' = 'true', or leave out keepRows"
            )

    @staticmethod
    def of(table: TableDefinition) -> TableSchema:
        """The schema of a declared table, with its properties."""
        properties = {name.lower(): value.lower() for name, value in table.properties}
        append_only = properties.get("appendonly", "false") == "true"
        keeps_rows = properties.get("keeprows", "true") != "false"
        static = properties.get("static", "false") == "true"
        keeps_changes = properties.get("keepchanges", "false") == "true"
        return TableSchema(
            table.name, table.schema, table.primary_key, append_only, keeps_rows, static, keeps_changes
        )

    @property
    def keyed(self) -> bool:
        """Whether rows have an identity by key, so that they can be upserted and deleted by key."""
        return bool(self.primary_key)

    @cached_property
    def fields(self) -> tuple[StructField, ...]:
        """The columns, with key columns NOT NULL."""
        return tuple(
            StructField(f.name, f.dataType, f.nullable and f.name not in self.primary_key, f.metadata)
            for f in self.schema.fields
        )

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema every batch of this table has, in the declared column order."""
        return arrow_schema([(f.name, f.dataType) for f in self.fields])

    @cached_property
    def key_table(self) -> TableSchema:
        """The key columns alone, in key order: the schema of a batch of keys."""
        by_name = {f.name: f for f in self.fields}
        return replace(self, schema=StructType([by_name[name] for name in self.primary_key]))
