"""From relational plans to the circuit of a pipeline.

Each class of plan node has one function, listed in :data:`COMPILERS`, that adds its operators. A stream knows
by which of its columns its rows are partitioned over the workers, so an exchange is made only if rows are in
the wrong place: an aggregate over the key of a keyed table, or a join on the columns just grouped by, needs
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from penstock.circuit import operators as op
from penstock.circuit.circuit import Circuit, CircuitBuilder
from penstock.circuit.undo import shortened_on_error
from penstock.expr.depth import room_for
from penstock.expr.nodes import Column, Expr
from penstock.sql import plan as p
from penstock.sql.optimizer import optimised
from penstock.sql.plan import depth_of
from penstock.sql.planning import aggregates, generators, joins, limits, relational, sessions, windows
from penstock.sql.planning.stream import PlannerScope, Stream, is_partitioned_by, schema_of

__all__ = ["COMPILERS", "Planner"]

COMPILERS: Mapping[type[p.Plan], Callable[[PlannerScope, Any], Stream]] = {
    p.Scan: relational.scan,
    p.Values: relational.values,
    p.Project: relational.project,
    p.Filter: relational.filter_,
    p.Union: relational.union,
    p.Distinct: relational.distinct,
    p.Join: joins.join,
    p.SingleRow: joins.single_row,
    p.Aggregate: aggregates.aggregate,
    p.TopK: limits.top_k,
    p.Generate: generators.generate,
    p.Repeat: generators.repeat,
    p.Window: windows.window,
    p.Sessions: sessions.sessions,
    p.SessionParts: sessions.session_parts,
}


class Planner:
    """Builds one circuit for all tables and views of a pipeline, sharing equal parts."""

    def __init__(self) -> None:
        self.builder = CircuitBuilder()
        self._relations: dict[str, Stream] = {}
        self._streams: dict[p.Plan, Stream] = {}

    def add_append_table(
        self, name: str, schema: pa.Schema, incarnation: int = 0, *, keeps_rows: bool = True
    ) -> None:
        """A table that takes inserts only."""
        table = op.AppendTable(schema, name) if keeps_rows else op.PassingTable(schema, name)
        node = self.builder.add_table(name, table, incarnation)
        self._relations[name] = Stream(node, None)

    def add_table(
        self,
        name: str,
        schema: pa.Schema,
        key: tuple[int, ...],
        incarnation: int = 0,
        *,
        static: bool = False,
    ) -> None:
        """An input table; ``key`` are the positions of its primary key."""
        table = op.StaticTable if static else op.Table
        node = self.builder.add_table(name, table(schema, name, key), incarnation)
        self._relations[name] = Stream(node, key or tuple(range(len(schema))))

    def add_view(self, name: str, plan: p.Plan, *, keeps_rows: bool = True) -> None:
        """A stored view over tables and the views added before."""
        with room_for(depth_of(plan)):
            stream = self.compile(optimised(plan))
        self._relations[name] = stream
        view = op.AppendView if self.builder.is_insert_only(stream.node) else op.View
        view = view if keeps_rows else op.PassingView
        self.builder.add_view(name, view(schema_of(plan), name), stream.node)

    def add_changes(self, name: str, schema: pa.Schema) -> None:
        """The changes of a table that was added before are kept, like those of a view of the same name."""
        self.builder.add_view(name, op.PassingView(schema, name), self._relations[name].node)

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Removes what was added inside if the block fails."""
        with self.builder.undone_on_error(), shortened_on_error(self._relations, self._streams):
            yield

    def build(self) -> Circuit:
        """The circuit of everything added so far."""
        return self.builder.build()

    def compile(self, plan: p.Plan) -> Stream:
        """The stream of a plan; equal plans are compiled once."""
        if plan not in self._streams:
            self._streams[plan] = COMPILERS[type(plan)](self, plan)
        return self._streams[plan]

    def relation(self, name: str) -> Stream:
        """The stream of a table or of a view added before."""
        return self._relations[name]

    def index(
        self, stream: Stream, schema: pa.Schema, keys: tuple[Expr, ...], drop_null: tuple[bool, ...]
    ) -> tuple[int, bool]:
        """The stream indexed by ``keys``, and whether its rows must be exchanged for that."""
        node = self.builder.add(op.Index(schema, keys, drop_null), (stream.node,))
        return node, not is_partitioned_by(stream, keys)

    def arranged(
        self, stream: Stream, schema: pa.Schema, keys: tuple[Expr, ...], drop_null: tuple[bool, ...]
    ) -> int:
        """The stream arranged by ``keys``; a keyed table already is, by its primary key."""
        table = self.builder.operator(stream.node)
        ordinals = tuple(key.ordinal for key in keys if isinstance(key, Column))
        if isinstance(table, op.Table) and len(ordinals) == len(keys) and ordinals and ordinals == table.key:
            return stream.node
        index, exchange = self.index(stream, schema, keys, drop_null)
        arrange = op.AppendArrange if self.builder.is_insert_only(index) else op.Arrange
        return self.builder.add(arrange(schema), (index,), (exchange,))
