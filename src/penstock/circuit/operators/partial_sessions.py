"""Combines, before the exchange, rows of one step whose intervals touch.

Only for insert-only input: such a row is never deleted, so one row can represent all that touch. That row
covers the time from the first start to the last end, its *weight* is the number of rows it represents, and it
has the requested minima and maxima. Sessions of such rows are the sessions of the rows themselves, because
touching is transitive; counting rows adds weights, and the largest of the largest is the largest.

It runs before the exchange, so few rows of a session are sent and kept, whatever the size of the step.
Stateless. Cost: rows in the order of their starts, as events usually come, take one pass; others are sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.sessions import moments
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.zset import Groups, ZSet, gather, group_rows, numbers
from penstock.zset.kernel import INT32S, INT64S, NEW_INT32S, NEW_INT64S, kernel

__all__ = ["Extreme", "PartialSessions"]

Indices = NDArray[np.int64]
Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class Extreme:
    """The largest or smallest value of an expression: an integer or a timestamp, never NULL."""

    expr: Expr
    largest: bool

    def __str__(self) -> str:
        return f"{'max' if self.largest else 'min'}({self.expr})"


@operator("partial sessions", Incremental.GROUPS)
@dataclass(frozen=True)
class PartialSessions(Operator):
    """The input is indexed by ``keys``. The output holds the keys, the start, the end and the extremes."""

    keys: tuple[Expr, ...]
    start: Expr
    end: Expr
    extremes: tuple[Extreme, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        columns, size = delta.zset.columns, len(delta)
        if size == 0:
            return self.nothing
        start, end = (moments(expr, columns, size) for expr in (self.start, self.end))
        parts, ends = _parts(group_rows(delta.index).of_row, start, end)
        first = numbers(parts.first)
        keys = [gather(evaluate(key, columns, size), first) for key in self.keys]
        bounds = [numbers(start[parts.first]), numbers(ends)]
        bounds += [numbers(_extreme(parts, extreme, columns, size)) for extreme in self.extremes]
        typed = [
            column if column.type == kind else column.cast(_whole(kind)).view(kind)
            for column, kind in zip(bounds, self.schema.types[len(keys) :], strict=True)
        ]
        return Delta(ZSet(self.schema, (*keys, *typed), parts.sums(delta.zset.weights)))

    def describe(self) -> str:
        extremes = "".join(f", {extreme}" for extreme in self.extremes)
        return f"from {self.start} to {self.end}{extremes}"


def _whole(kind: pa.DataType) -> pa.DataType:
    """The integer type that has the same width as a type."""
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bit_width]


def _parts(owner: Numbers, start: Indices, end: Indices) -> tuple[Groups, Indices]:
    """The rows of each owner that touch, in order of time, and when the last of them ends."""
    in_time = bool((start[1:] >= start[:-1]).all())
    order = np.arange(len(start)) if in_time else np.argsort(start, kind="stable")
    part = np.empty(len(start), np.int32)
    first, ends = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    current = np.full(int(owner.max()) + 1, -1, np.int32)
    count = _unite(order, owner, start, end, current, part, first, ends)
    return Groups(part, first[:count]), ends[:count]


@kernel(types.int64(INT64S, INT32S, INT64S, INT64S, NEW_INT32S, NEW_INT32S, NEW_INT64S, NEW_INT64S))
def _unite(
    order: Indices,
    owner: Numbers,
    start: Indices,
    end: Indices,
    current: Numbers,
    part: Numbers,
    first: Indices,
    ends: Indices,
) -> int:
    """Fills the last three; returns how many parts there are. ``current`` is the last part of each owner."""
    count = 0
    for row in order:
        its = current[owner[row]]
        if its < 0 or start[row] > ends[its]:
            its = np.int32(count)
            current[owner[row]] = its
            first[count], ends[count] = row, end[row]
            count += 1
        elif end[row] > ends[its]:
            ends[its] = end[row]
        part[row] = its
    return count


def _extreme(parts: Groups, extreme: Extreme, columns: Sequence[pa.Array], size: int) -> Indices:
    values = evaluate(extreme.expr, columns, size)
    words: Indices = values.view(_whole(values.type)).cast(pa.int64()).to_numpy()
    found = words[parts.first]
    _find_extreme(parts.of_row, words, extreme.largest, found)
    return found


@kernel(types.void(INT32S, INT64S, types.boolean, NEW_INT64S))
def _find_extreme(part: Numbers, values: Indices, largest: bool, found: Indices) -> None:
    for row in range(len(part)):
        its = part[row]
        if (values[row] > found[its]) == largest and values[row] != found[its]:
            found[its] = values[row]
