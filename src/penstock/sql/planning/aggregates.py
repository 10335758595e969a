"""Aggregates: partial sums before the exchange, one operator for all functions of a GROUP BY after it."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import BooleanType

from penstock.circuit import operators as op
from penstock.circuit.accumulators import (
    Average,
    Count,
    Extremum,
    LinearAccumulator,
    OrderedAccumulator,
    Sum,
)
from penstock.errors import PipelineError, UnsupportedQuery
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import arrow_schema
from penstock.sql import plan as p
from penstock.sql.planning.stream import PlannerScope, Stream, column, is_spread_by, schema_of

__all__ = ["aggregate"]


def aggregate(scope: PlannerScope, plan: p.Aggregate) -> Stream:
    """GROUP BY with all its functions."""
    child = scope.compile(plan.child)
    width = len(plan.keys)
    accumulators = tuple(_accumulator(call) for call in plan.calls)
    linear = tuple(a for a in accumulators if isinstance(a, LinearAccumulator))
    key_schema = pa.schema([schema_of(plan).field(i) for i in range(width)])
    inputs = [scope.builder.add(op.PartialAggregate(key_schema, plan.keys, linear), (child.node,))]
    for accumulator, call in zip(accumulators, plan.calls, strict=True):
        if isinstance(accumulator, OrderedAccumulator):
            inputs.append(_ordered_input(scope, plan, call, child))
    exchange = not is_spread_by(child, plan.keys)
    node = scope.builder.add(
        op.Aggregate(schema_of(plan), width, accumulators), tuple(inputs), (exchange,) * len(inputs)
    )
    return Stream(node, tuple(range(width)) if width else None)


def _ordered_input(scope: PlannerScope, plan: p.Aggregate, call: p.AggregateCall, child: Stream) -> int:
    """The group's keys and the (not NULL) value of one min or max, indexed by group."""
    value = call.args[0]
    wanted: Expr = Call(BooleanType(), False, "IsNotNull", (value,))
    if call.filter is not None:
        wanted = Call(BooleanType(), True, "And", (call.filter, wanted))
    node = child.node
    if call.filter is not None or value.nullable:
        node = scope.builder.add(op.Filter(schema_of(plan.child), wanted), (node,))
    fields = [*plan.schema[: len(plan.keys)], p.Field("value", value.data_type, False)]
    schema = arrow_schema([(f.name, f.data_type) for f in fields])
    node = scope.builder.add(op.Project(schema, (*plan.keys, value)), (node,))
    keys = tuple(column(i, field) for i, field in enumerate(fields[:-1]))
    return scope.builder.add(op.Index(schema, keys, (False,) * len(keys)), (node,))


def _accumulator(call: p.AggregateCall) -> LinearAccumulator | OrderedAccumulator:
    ansi = str(dict(call.options).get("evalMode", "ANSI")).upper() == "ANSI"
    if call.function in ("Min", "Max"):
        return Extremum(call.data_type, call.args, call.function == "Max")
    if call.distinct:
        raise UnsupportedQuery(f"{call.function.lower()}(DISTINCT …)", reason="not supported yet")
    if call.function == "Count":
        return Count(call.data_type, call.args, call.filter)
    if call.function == "Sum":
        return Sum(call.data_type, call.args, call.filter, ansi)
    if call.function == "Average":
        return Average(call.data_type, call.args, call.filter, ansi)
    raise PipelineError(f"internal error: no accumulator for {call.function}")
