"""Importing aggregates.

Catalyst's Aggregate computes arbitrary expressions over aggregate functions and grouping keys. It is split in
two: an :class:`~penstock.sql.plan.Aggregate` with keys and plain calls, each distinct call once, and a
projection on top for the rest. Without calls it is a :class:`~penstock.sql.plan.Distinct` of its keys;
without keys as well, it is one row.

Float keys are normalised (one NaN, no -0.0) as Spark does when it plans a grouping, because the key is also
an output value and must not depend on which bit pattern came first.
"""

from __future__ import annotations

import json

from pyspark.sql.types import ArrayType, MapType, StructType, _parse_datatype_json_string

from penstock.expr.nodes import Column, Expr
from penstock.sql.aggregate_functions import (
    AGGREGATES,
    VALUES,
    read_call,
)
from penstock.sql.asof import import_nearest, is_nearest
from penstock.sql.distincts import original_aggregate
from penstock.sql.imported import Imported, ImportScope, column, normalised, own_reference
from penstock.sql.plan import Aggregate, AggregateCall, Distinct, Field, Plan, Values
from penstock.sql.predicates import flags_of_groups
from penstock.sql.relational import projected, unaliased
from penstock.sql.sessions import Session, session_grouping, sessions_below
from penstock.sql.tree import Node
from penstock.sql.unordered import RowOrder, note_tie, row_order

__all__ = ["AGGREGATES", "import_aggregate"]


class _Split:
    """The keys and calls of one Aggregate, and the columns by which its outputs refer to them."""

    def __init__(
        self,
        scope: ImportScope,
        child: Imported,
        groupings: tuple[Node, ...],
        session: Session | None,
    ) -> None:
        self.scope, self.child, self.session = scope, child, session
        self.order = RowOrder((), frozenset())
        self.keys = tuple(normalised(scope.expr(item, child.columns)) for item in groupings)
        names = [str(item.fields.get("name", f"key{i}")) for i, item in enumerate(groupings)]
        self.key_fields = tuple(
            Field(name, key.data_type, key.nullable) for name, key in zip(names, self.keys, strict=True)
        )
        self.calls: list[AggregateCall] = []
        self.columns: dict[int, Column] = {}
        self._computed: dict[str, int] = {}
        for ordinal, (item, field) in enumerate(zip(groupings, self.key_fields, strict=True)):
            if item.kind == "AttributeReference":
                self.columns[item.expression_id] = column(ordinal, field)
            else:
                self._computed[_shape(item)] = ordinal

    def output(self, node: Node) -> Expr:
        """An output expression over the key and call columns."""
        return self.scope.expr(unaliased(node).rewrite(self._as_column), self.columns)

    def _as_column(self, node: Node) -> Node | None:
        if node.kind == "AggregateExpression":
            return self._call_column(node)
        if self.session is not None:
            session = self.session
            referred = session.output(node, lambda: self._result(session.last, node))
            if referred is not None:
                return referred
        ordinal = self._computed.get(_shape(node)) if self._computed else None
        if ordinal is None:
            return None
        return own_reference(ordinal, self.key_fields[ordinal], self.columns, node.twin)

    def _call_column(self, node: Node) -> Node:
        if self.session is not None:
            self.session.check(self.scope, node)
        call = self._call(node)
        if self.session is not None and self.session.is_start(call):
            ordinal = self.columns[self.session.id].ordinal
            return own_reference(ordinal, self.key_fields[ordinal], self.columns, node.twin)
        return self._result(call, node)

    def _result(self, call: AggregateCall, node: Node) -> Node:
        """The column of a call, in the place of ``node``."""
        if call not in self.calls:
            self.calls.append(call)
        index = self.calls.index(call)
        return own_reference(len(self.keys) + index, _call_field(call), self.columns, node.twin)

    def _call(self, node: Node) -> AggregateCall:
        function, args, found, where = read_call(self.scope, node, self.child)
        distinct, kind = bool(node.fields["isDistinct"]), function.kind
        twin = function.twin()
        call = AggregateCall(
            kind,
            tuple(normalised(arg) if distinct or _is_nested(kind, arg) else arg for arg in args),
            _parse_datatype_json_string(twin.dataType().json()),
            bool(twin.nullable()),
            distinct,
            where,
            found,
        )
        note_tie(self.scope, node, call, self.child, self.keys)
        return self.order.ordered(self.scope, node, call)

    def plan(self, child: Imported) -> Plan:
        """The split node itself; its columns are the keys, then the calls."""
        if self.calls:
            schema = self.key_fields + tuple(_call_field(call) for call in self.calls)
            return Aggregate(schema, child.plan, self.keys, tuple(self.calls))
        if not self.keys:
            return Values((), ((),))
        names = tuple(field.name for field in self.key_fields)
        keys = projected(child, self.keys, names, ()).plan
        return Distinct(keys.schema, keys)


def import_aggregate(scope: ImportScope, node: Node) -> Imported:
    """``Aggregate``, with several DISTINCT calls as they were written."""
    if is_nearest(node):
        return import_nearest(scope, node)
    source = original_aggregate(node)
    child, outputs = scope.plan(source.child), source.outputs
    window, session = session_grouping(scope, node, source), None
    if window is not None:
        others = [item for item in source.groupings if item is not window]
        session = sessions_below(scope, child, window, others)
        child = session.child
    split = _Split(scope, child, source.groupings, session)
    flags = flags_of_groups(source.child, source.groupings)
    split.order = row_order(scope, child, split.keys, outputs, flags)
    exprs = tuple(split.output(output) for output in outputs)
    inner = Imported(split.plan(child), ())
    names = tuple(str(output.fields["name"]) for output in outputs)
    return projected(inner, exprs, names, tuple(output.expression_id for output in outputs))


def _is_nested(function: str, arg: Expr) -> bool:
    """Whether a function gives back a value that may hold floats inside. (Plain floats it normalises.)"""
    return function in VALUES and isinstance(arg.data_type, (ArrayType, MapType, StructType))


def _call_field(call: AggregateCall) -> Field:
    args = ", ".join(map(str, call.args))
    name = f"{call.function.lower()}({'DISTINCT ' if call.distinct else ''}{args})"
    return Field(name, call.data_type, call.nullable)


def _shape(node: Node) -> str:
    """Equal for expressions that compute the same over the same attributes."""
    skipped = ("qualifier", "metadata")
    return json.dumps([{k: v for k, v in n.fields.items() if k not in skipped} for n in node.walk()])
