"""Windows: all rows of a partition on one worker, in order, with the results as additional columns."""

from __future__ import annotations

from typing import Any

from penstock.circuit import operators as op
from penstock.circuit.accumulators import Collect
from penstock.circuit.windows import (
    RANKINGS,
    Aggregated,
    Extreme,
    Frame,
    Gathered,
    NTile,
    Picked,
    Ranking,
    Shifted,
    WindowFunction,
)
from penstock.expr.nodes import Column
from penstock.expr.types import arrow_schema
from penstock.sql import plan as p
from penstock.sql.planning.functions import GroupSpec, linear, specified
from penstock.sql.planning.limits import Extended, chosen, key_partitioning
from penstock.sql.planning.stream import PlannerScope, Stream
from penstock.trace.sort_key import Direction

__all__ = ["window"]


def window(scope: PlannerScope, plan: p.Window) -> Stream:
    """Window functions over one partitioning and order."""
    extended = Extended(scope, plan.child)
    ordering = extended.ordering(plan.order)
    order_column = extended.columns[ordering.items[0].ordinal] if ordering.items else None
    functions = []
    for call in plan.calls:
        key = Column(order_column.data_type, True, ordering.items[0].ordinal) if order_column else None
        direction = ordering.items[0].direction if ordering.items else Direction()
        frame = Frame(call.frame.rows, call.frame.lower, call.frame.upper, key, direction)
        functions.append(_function(call, frame))
    width = len(plan.child.schema)
    stream, below = extended.stream(), extended.fields
    index, exchange = scope.index(stream, arrow_schema(below), plan.keys, (False,) * len(plan.keys))
    results = [(field.name, field.data_type) for field in plan.schema[width:]]
    operator = op.Window(arrow_schema([*below, *results]), ordering, tuple(functions))
    node = scope.builder.add(operator, (index,), (exchange,))
    if len(below) > width:
        kept = [*range(width), *range(len(below), len(below) + len(results))]
        node = scope.builder.add(chosen(plan.schema, kept), (node,))
    return Stream(node, key_partitioning(plan.keys))


def _function(call: p.WindowCall, frame: Frame) -> WindowFunction:
    options: dict[str, Any] = dict(call.options)
    if call.function in RANKINGS:
        return Ranking(call.data_type, call.function)
    if call.function == "NTile":
        return NTile(call.data_type, options["buckets"])
    if call.function == "Shift":
        value, default = call.args
        return Shifted(call.data_type, value, options["offset"], default, options["ignoreNulls"])
    if call.function == "NthValue":
        number, ignore_nulls = options["number"], options["ignoreNulls"]
        return Picked(call.data_type, call.args[0], number, frame, ignore_nulls, call.filter)
    return _aggregate(call, frame)


def _aggregate(call: p.WindowCall, frame: Frame) -> WindowFunction:
    plain = p.AggregateCall(
        call.function, call.args, call.data_type, call.nullable, False, call.filter, call.options
    )
    function = linear(plain)
    if function is not None:
        return Aggregated(call.data_type, function, frame)
    if call.function in ("Min", "Max"):
        return Extreme(call.data_type, call.args[0], call.function == "Max", call.filter, frame)
    if call.function in ("MinBy", "MaxBy"):
        value, by = call.args
        return Extreme(call.data_type, by, call.function == "MaxBy", call.filter, frame, value)
    spec = specified(plain)
    assert isinstance(spec, GroupSpec)
    in_window_order = isinstance(spec.function, Collect) and not spec.function.distinct
    order = () if in_window_order else spec.order
    by_value = tuple((item.ordinal, Direction(item.descending, item.nulls_first)) for item in order)
    return Gathered(call.data_type, spec.function, spec.columns, spec.present, by_value, call.filter, frame)
