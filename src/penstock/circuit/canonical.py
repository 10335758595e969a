"""Which columns of a stream already hold the one form of every floating-point number that state holds.

Rows are respelled before they are indexed and at the end of a view (:mod:`penstock.circuit.normalise`): state
has no -0.0 and one NaN, while the stream it was made from may have others (``-x`` does, for x = 0). So the
rows of a view or of an arrangement stand for the stream's to the bit only where the stream cannot have them
either. An expression that sees bits (``cast(x AS STRING)``) would otherwise give one answer when it is filled
and another in later steps.

This errs on one side: an operator that is not listed here counts as one that may give any number.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from penstock.circuit.accumulators import Average, Extremum, Sum
from penstock.circuit.circuit import Circuit, Node
from penstock.circuit.feeds import OrderedFeed, SumsFeed
from penstock.circuit.operators import (
    Aggregate,
    Arrange,
    Copy,
    Distinct,
    Filter,
    Index,
    Join,
    LookupJoin,
    PartialAggregate,
    PartialDistinct,
    PartialTopK,
    PassingTable,
    Project,
    Scatter,
    SemiJoin,
    SingleRow,
    Table,
    TopK,
    Union,
    View,
    Window,
)
from penstock.expr.nodes import Column, Expr
from penstock.expr.types import to_arrow

__all__ = ["canonical_nodes"]

Canonical = tuple[bool, ...]
"""One flag for each column of a node's output."""


def canonical_nodes(circuit: Circuit) -> frozenset[int]:
    """The nodes whose output is the same to the bit once it was stored and read back."""
    known: list[Canonical] = []
    for node in circuit.nodes:
        found = _columns(circuit, node, known)
        types = node.operator.schema.types
        known.append(
            tuple((i < len(found) and found[i]) or not _has_floats(kind) for i, kind in enumerate(types))
        )
    return frozenset(node for node, columns in enumerate(known) if all(columns))


def _columns(circuit: Circuit, node: Node, known: Sequence[Canonical]) -> Canonical:
    """The columns known to be canonical because of where they come from; what is missing at the end is not
    known to be."""
    inputs = [known[source] for source in node.inputs]
    match node.operator:
        case Table() | PassingTable() | Index() | View():
            return (True,) * len(node.operator.schema)
        case Filter() | Arrange() | Scatter() | Copy() | Distinct() | PartialDistinct() | PartialTopK():
            return inputs[0]
        case TopK() | Window() | SingleRow():
            return inputs[0]  # what they add stands behind
        case Union():
            return tuple(map(all, zip(*inputs, strict=True)))
        case Project(exprs=exprs) | PartialAggregate(keys=exprs):
            return tuple(map(partial(_is_canonical, inputs[0]), exprs))
        case Join(keep=keep) | LookupJoin(keep=keep):
            both = inputs[0] + inputs[1]
            return tuple(both[i] for i in keep)
        case SemiJoin(keep=keep):
            return tuple(i >= len(inputs[0]) or inputs[0][i] for i in keep)
        case Aggregate(width=width) as aggregate:
            answers = [_is_canonical_answer(aggregate, *output) for output in aggregate.outputs]
            return (*inputs[0][:width], *answers)
    return ()


def _is_canonical(below: Canonical, expr: Expr) -> bool:
    return isinstance(expr, Column) and below[expr.ordinal]


def _is_canonical_answer(aggregate: Aggregate, feed: int, position: int) -> bool:
    """Sums are rounded from whole numbers and extremes are stored values; an average of doubles can vanish
    below the smallest of them with its sign left."""
    match aggregate.feeds[feed]:
        case SumsFeed(functions=functions):
            function = functions[position]
            if isinstance(function, Average):
                return not _has_floats(to_arrow(function.args[0].data_type))
            return isinstance(function, Sum)
        case OrderedFeed(function=first):
            return isinstance(first, Extremum)
    return False


def _has_floats(kind: pa.DataType) -> bool:
    if pa.types.is_floating(kind):
        return True
    return any(_has_floats(kind.field(i).type) for i in range(kind.num_fields))
