"""Aggregates: partial sums before the exchange, one operator for all functions of a GROUP BY after it.

The calls are assigned to feeds (:mod:`penstock.circuit.feeds`), as few as possible: all plain linear
functions share one, DISTINCT ones of the same arguments share one, and so do functions of all values in the
same order.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
from pyspark.sql.types import BooleanType

from penstock.circuit import operators as op
from penstock.circuit.accumulators import Grouped, Linear
from penstock.circuit.feeds import Feed, GroupFeed, OrderedFeed, SumsFeed, totals_of
from penstock.circuit.ordering import OrderBy, Ordering
from penstock.expr.nodes import Call, Column, Expr
from penstock.expr.types import arrow_schema
from penstock.sql import plan as p
from penstock.sql.imported import conjunction
from penstock.sql.planning.functions import GroupSpec, OrderedSpec, is_distinct, linear, specified
from penstock.sql.planning.sessions import in_parts
from penstock.sql.planning.stream import (
    PlannerScope,
    Stream,
    column,
    distinct_rows,
    is_partitioned_by,
    schema_of,
)

__all__ = ["aggregate"]


def aggregate(scope: PlannerScope, plan: p.Aggregate) -> Stream:
    """GROUP BY with all its functions."""
    plan = in_parts(scope, plan)
    feeds = _Feeds(scope, plan)
    positions = [feeds.assign(call) for call in plan.calls]
    width = len(plan.keys)
    inputs = feeds.inputs()
    operator = op.Aggregate(
        schema_of(plan),
        width,
        tuple(feed for feed, _, _ in inputs),
        tuple((feeds.number(key), position) for key, position in positions),
    )
    node = scope.builder.add(
        operator, tuple(node for _, node, _ in inputs), tuple(exchange for _, _, exchange in inputs)
    )
    return Stream(node, tuple(range(width)) if width else None)


@dataclass(frozen=True)
class _Distinct:
    """The key by which DISTINCT functions share a feed: their arguments and their filter."""

    args: tuple[Expr, ...]
    filter: Expr | None


_PLAIN = _Distinct((), None)  # stands for the feed of all other linear functions


class _Feeds:
    """The feeds of one aggregate, each under a key that determines what may share it."""

    def __init__(self, scope: PlannerScope, plan: p.Aggregate) -> None:
        self._scope, self._plan = scope, plan
        self._child = scope.compile(plan.child)
        self._exchange = not is_partitioned_by(self._child, plan.keys)
        self._key_fields = plan.schema[: len(plan.keys)]
        self._keys = tuple(column(i, field) for i, field in enumerate(self._key_fields))
        self._sums: dict[_Distinct, list[Linear]] = {_PLAIN: []}
        self._ordered: dict[Hashable, tuple[OrderedSpec, Expr | None]] = {}
        self._groups: dict[Hashable, tuple[GroupSpec, Expr | None, list[Grouped]]] = {}

    def assign(self, call: p.AggregateCall) -> tuple[Hashable, int]:
        """Adds a call; returns its feed's key and its position among the functions there."""
        function = linear(call)
        if function is not None and is_distinct(call):
            shared = _Distinct(call.args, call.filter)
            return shared, _position(self._sums.setdefault(shared, []), self._over_distinct(call))
        if function is not None:
            return _PLAIN, _position(self._sums[_PLAIN], function)
        spec = specified(call)
        if isinstance(spec, OrderedSpec):
            self._ordered[spec, call.filter] = spec, call.filter
            return (spec, call.filter), 0
        key = (spec.columns, spec.present, spec.order, call.filter)
        functions = self._groups.setdefault(key, (spec, call.filter, []))[2]
        return key, _position(functions, spec.function)

    def _over_distinct(self, call: p.AggregateCall) -> Linear:
        """The function over distinct rows, which hold the keys and the arguments, no NULL among these."""
        width = len(self._keys)
        args = tuple(Column(arg.data_type, False, width + i, str(arg)) for i, arg in enumerate(call.args))
        function = linear(replace(call, args=args, filter=None))
        assert function is not None
        return function

    def number(self, key: Hashable) -> int:
        """The number of a feed among all."""
        return [*self._sums, *self._ordered, *self._groups].index(key)

    def inputs(self) -> list[tuple[Feed, int, bool]]:
        """The feeds, their input nodes, and whether rows have to be exchanged."""
        found: list[tuple[Feed, int, bool]] = []
        for shared, functions in self._sums.items():
            feed = SumsFeed(tuple(functions))
            if shared is _PLAIN:
                found.append(
                    (feed, self._partial(self._child.node, self._plan.keys, functions), self._exchange)
                )
            else:
                rows = self._distinct_rows(shared)
                found.append((feed, self._partial(rows, self._keys, functions), True))
        for spec, filter in self._ordered.values():
            rows, schema = self._selected(spec.columns, (0,), filter)
            node = self._indexed(rows, schema)
            if self._scope.builder.is_insert_only(node):
                ordering = Ordering((OrderBy(len(self._keys), spec.function.descending),))
                node = self._scope.builder.add(op.PartialTopK(schema, ordering, 1), (node,))
            found.append((OrderedFeed(spec.function), node, self._exchange))
        for group, filter, grouped in self._groups.values():
            node = self._indexed(*self._selected(group.columns, group.present, filter))
            found.append((GroupFeed(len(group.columns), group.order, tuple(grouped)), node, self._exchange))
        return found

    def _partial(self, node: int, keys: tuple[Expr, ...], functions: list[Linear]) -> int:
        schema = arrow_schema([(field.name, field.data_type) for field in self._key_fields])
        return self._scope.builder.add(op.PartialAggregate(schema, keys, totals_of(functions)), (node,))

    def _distinct_rows(self, shared: _Distinct) -> int:
        """The distinct rows of keys and arguments, partitioned by all of these: no worker gets a whole
        group."""
        node, schema = self._selected(shared.args, tuple(range(len(shared.args))), shared.filter)
        exprs = (*self._plan.keys, *shared.args)
        columns = tuple(Column(expr.data_type, True, i, str(expr)) for i, expr in enumerate(exprs))
        return distinct_rows(self._scope, Stream(node, None), schema, columns)

    def _selected(
        self, columns: tuple[Expr, ...], present: tuple[int, ...], filter: Expr | None
    ) -> tuple[int, pa.Schema]:
        """Keys and ``columns`` of the rows that pass ``filter``, if no ``present`` column is NULL."""
        tests: list[Expr] = [
            Call(BooleanType(), False, "IsNotNull", (columns[i],)) for i in present if columns[i].nullable
        ]
        wanted = conjunction(([] if filter is None else [filter]) + tests)
        node = self._child.node
        if wanted is not None:
            node = self._scope.builder.add(op.Filter(schema_of(self._plan.child), wanted), (node,))
        fields = [(field.name, field.data_type) for field in self._key_fields]
        fields += [(f"value{i}", expr.data_type) for i, expr in enumerate(columns)]
        schema = arrow_schema(fields)
        return self._scope.builder.add(op.Project(schema, (*self._plan.keys, *columns)), (node,)), schema

    def _indexed(self, node: int, schema: pa.Schema) -> int:
        return self._scope.builder.add(op.Index(schema, self._keys, (False,) * len(self._keys)), (node,))


_Function = TypeVar("_Function")


def _position(functions: list[_Function], function: _Function) -> int:
    """The position of a function, added if it is not there."""
    if function not in functions:
        functions.append(function)
    return functions.index(function)
