"""Sessions: all rows of a key on one worker, by time.

Over insert-only input, if a GROUP BY asks only for the number of rows and extremes of its sessions, rows of
one step are combined before the exchange (:class:`~penstock.circuit.operators.PartialSessions`).
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import DateType, IntegralType, TimestampNTZType, TimestampType

from penstock.circuit import operators as op
from penstock.expr.nodes import Column, Expr, Literal, columns_read
from penstock.sql import plan as p
from penstock.sql.planning.limits import key_partitioning
from penstock.sql.planning.stream import PlannerScope, Stream, column, schema_of

__all__ = ["in_parts", "session_parts", "sessions"]

_WHOLE = (IntegralType, DateType, TimestampType, TimestampNTZType)  # types that are whole numbers in memory
_EXTREMES = {"Max": True, "Min": False}


def sessions(scope: PlannerScope, plan: p.Sessions) -> Stream:
    """Rows with the start of their session as an additional column."""
    child = scope.compile(plan.child)
    index, exchange = scope.index(child, schema_of(plan.child), plan.keys, (False,) * len(plan.keys))
    operator = op.Sessions(schema_of(plan), plan.start, plan.end)
    return Stream(scope.builder.add(operator, (index,), (exchange,)), key_partitioning(plan.keys))


def session_parts(scope: PlannerScope, plan: p.SessionParts) -> Stream:
    """Rows that touch and arrive in the same step, combined."""
    child = scope.compile(plan.child)
    index, _ = scope.index(child, schema_of(plan.child), plan.keys, (False,) * len(plan.keys))
    extremes = tuple(op.Extreme(expr, largest) for expr, largest in plan.extremes)
    operator = op.PartialSessions(schema_of(plan), plan.keys, plan.start, plan.end, extremes)
    return Stream(scope.builder.add(operator, (index,)), None)


def in_parts(scope: PlannerScope, plan: p.Aggregate) -> p.Aggregate:
    """A GROUP BY of sessions over combined rows, if possible; otherwise the plan unchanged."""
    child = plan.child
    if not isinstance(child, p.Sessions):
        return plan
    extremes = _extremes(plan, child)
    session = len(child.child.schema)
    known = all(key in child.keys or _is_column(key, session) for key in plan.keys)
    if extremes is None or not known or not scope.builder.is_insert_only(scope.compile(child.child).node):
        return plan
    parts = _parts(child, extremes)
    keys = tuple(column(i, field) for i, field in enumerate(parts.schema[: len(child.keys)]))
    start, end, *found = (column(i, field) for i, field in enumerate(parts.schema) if i >= len(keys))
    above = p.Sessions((*parts.schema, child.schema[-1]), parts, keys, start, end)
    of_session = column(len(parts.schema), above.schema[-1])
    return p.Aggregate(
        plan.schema,
        above,
        tuple(of_session if _is_column(key, session) else keys[child.keys.index(key)] for key in plan.keys),
        tuple(
            replace(call, args=(found[extremes.index(_extreme(call))],))
            if call.function in _EXTREMES
            else call
            for call in plan.calls
        ),
    )


def _extremes(plan: p.Aggregate, child: p.Sessions) -> list[tuple[Expr, bool]] | None:
    """The extremes that the calls need, each once; None if they need something that combined rows do not
    have."""
    found: dict[tuple[Expr, bool], None] = {}
    for call in plan.calls:
        if call.filter is not None or call.distinct:
            return None
        if call.function == "Count" and all(
            isinstance(arg, Literal) and not arg.nullable for arg in call.args
        ):
            continue
        if call.function not in _EXTREMES:
            return None
        (expr,) = call.args
        own = all(ordinal < len(child.child.schema) for ordinal in columns_read(expr))
        known = expr in (child.start, child.end) or not expr.nullable
        if not own or not known or not isinstance(expr.data_type, _WHOLE):
            return None
        found[_extreme(call)] = None
    return list(found)


def _extreme(call: p.AggregateCall) -> tuple[Expr, bool]:
    return call.args[0], _EXTREMES[call.function]


def _parts(child: p.Sessions, extremes: list[tuple[Expr, bool]]) -> p.SessionParts:
    fields = [p.Field(f"key{i}", key.data_type, key.nullable) for i, key in enumerate(child.keys)]
    fields += [
        p.Field(name, expr.data_type, False) for name, expr in (("start", child.start), ("end", child.end))
    ]
    fields += [p.Field(f"value{i}", expr.data_type, False) for i, (expr, _) in enumerate(extremes)]
    return p.SessionParts(tuple(fields), child.child, child.keys, child.start, child.end, tuple(extremes))


def _is_column(expr: Expr, ordinal: int) -> bool:
    return isinstance(expr, Column) and expr.ordinal == ordinal
