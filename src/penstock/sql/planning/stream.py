"""What planning functions share: streams, their interface to the planner, and renumbering of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from penstock.circuit import operators as op
from penstock.circuit.circuit import CircuitBuilder
from penstock.expr.nodes import Column, Expr
from penstock.expr.types import arrow_schema
from penstock.sql.imported import rebound
from penstock.sql.plan import Field, Plan

__all__ = [
    "PlannerScope",
    "Stream",
    "column",
    "distinct_rows",
    "is_partitioned_by",
    "moved",
    "renumbered",
    "schema_of",
]


@dataclass(frozen=True)
class Stream:
    """A node's output. Rows are assigned to workers by the hash of the columns ``partitioned_by``, if any."""

    node: int
    partitioned_by: tuple[int, ...] | None


class PlannerScope(Protocol):
    """The interface of a planning function to the planner (:class:`penstock.sql.planner.Planner`)."""

    builder: CircuitBuilder

    def compile(self, plan: Plan) -> Stream:
        """The stream of a plan."""

    def relation(self, name: str) -> Stream:
        """The stream of a table or of a view planned before."""

    def index(
        self, stream: Stream, schema: pa.Schema, keys: tuple[Expr, ...], drop_null: tuple[bool, ...]
    ) -> tuple[int, bool]:
        """The stream indexed by ``keys``, and whether its rows must be exchanged for that."""

    def arranged(
        self, stream: Stream, schema: pa.Schema, keys: tuple[Expr, ...], drop_null: tuple[bool, ...]
    ) -> int:
        """The stream arranged by ``keys``."""


def schema_of(plan: Plan) -> pa.Schema:
    """The Arrow schema of a plan's output."""
    return arrow_schema([(field.name, field.data_type) for field in plan.schema])


def column(ordinal: int, field: Field) -> Column:
    """A reference to the column described by ``field``."""
    return Column(field.data_type, field.nullable, ordinal, field.name)


def renumbered(expr: Expr, positions: Mapping[int, int]) -> Expr:
    """An expression whose columns are all found in ``positions``, with their new numbers."""
    result = rebound(expr, positions)
    assert result is not None
    return result


def moved(partitioned_by: tuple[int, ...] | None, positions: Mapping[int, int]) -> tuple[int, ...] | None:
    """The partitioning in terms of an output's columns, if they all survive."""
    if partitioned_by is None or not all(ordinal in positions for ordinal in partitioned_by):
        return None
    return tuple(positions[ordinal] for ordinal in partitioned_by)


def distinct_rows(scope: PlannerScope, stream: Stream, schema: pa.Schema, columns: tuple[Expr, ...]) -> int:
    """The distinct rows of a stream, ``columns`` being all that it has; equal ones are combined before an
    exchange, if there is one."""
    node, exchange = scope.index(stream, schema, columns, (False,) * len(columns))
    if exchange:
        node = scope.builder.add(op.PartialDistinct(schema), (node,))
    return scope.builder.add(op.Distinct(schema), (node,), (exchange,))


def is_partitioned_by(stream: Stream, keys: tuple[Expr, ...]) -> bool:
    """Whether rows with equal keys are already on one worker."""
    ordinals = tuple(key.ordinal for key in keys if isinstance(key, Column))
    return len(ordinals) == len(keys) and bool(keys) and stream.partitioned_by == ordinals
