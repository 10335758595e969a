"""Pre-aggregation: sums the totals of an aggregate per group, before the exchange.

Linear, so the partial sums of the workers simply add up. At most one row per group and worker is sent,
whatever the size of the step. An expression that several totals read is evaluated once. Groups are in order
of first appearance: the receiver sorts them anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.accumulators import Total
from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.zset import GatheredColumns, ZSet, carry, gather, group_rows, hash_columns, numbers

__all__ = ["PartialAggregate"]

Sums = dict[str, NDArray[np.int64]]


@operator("partial aggregate", Incremental.LINEAR)
@dataclass(frozen=True)
class PartialAggregate(Operator):
    """Groups by ``keys``. The output holds the key columns, and the columns of each total ``i`` as additional
    sums, under names that start with ``i.``."""

    keys: tuple[Expr, ...]
    totals: tuple[Total, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        size = len(zset)
        columns = [evaluate(key, zset.columns, size) for key in self.keys]
        group = hash_columns(columns, size, state.seed)
        filters, needed = self._needs
        chosen = [_Chosen(zset, filter) for filter in filters]
        parts = [
            chosen[which].contributions(total, args)
            for total, (which, args) in zip(self.totals, needed, strict=True)
        ]
        sums = {f"{i}.{name}": column for i, part in enumerate(parts) for name, column in part.items()}
        groups = group_rows(group)
        first, weights = groups.first, groups.sums(zset.weights)
        totals = {name: groups.sums(column) for name, column in sums.items()}
        alive = weights != 0
        for column in totals.values():
            alive |= column != 0
        if not alive.all():
            first, weights = first[alive], weights[alive]
            totals = {name: column[alive] for name, column in totals.items()}
        if len(first) < size:
            rows = numbers(first)
            columns, group = [gather(column, rows) for column in columns], group.take(first)
        return Delta(ZSet(self.schema, tuple(columns), weights), group, _carried(parts, totals))

    @cached_property
    def _needs(self) -> tuple[list[Expr | None], list[tuple[int, list[tuple[int, Expr]]]]]:
        """The filters, each once, and for each total its filter and its arguments, numbered so that equal
        ones have equal numbers: comparing expressions in every step would cost more than some of them.
        """
        filters = list(dict.fromkeys(total.filter for total in self.totals))
        args = list(dict.fromkeys(arg for total in self.totals for arg in total.args))
        return filters, [
            (filters.index(total.filter), [(args.index(arg), arg) for arg in total.args])
            for total in self.totals
        ]

    def describe(self) -> str:
        totals = ", ".join(
            f"{type(total).__name__.lower()}({', '.join(map(str, total.args))})" for total in self.totals
        )
        return f"by {', '.join(map(str, self.keys)) or 'nothing'}: {totals or 'rows'}"


class _Chosen:
    """The rows that pass a filter, and the values of expressions on them.

    An argument is evaluated on these rows only: on the others it may be an error (``sum(1 / x) FILTER (WHERE
    x <> 0)``).
    """

    def __init__(self, zset: ZSet, filter: Expr | None) -> None:
        self._size = len(zset)
        self._columns: Sequence[pa.Array] = zset.columns
        self._weights = zset.weights
        self._places: NDArray[np.int64] | None = None
        self._values: dict[int, pa.Array] = {}
        if filter is not None:
            holds = pc.fill_null(evaluate(filter, zset.columns, len(zset)), False)
            mask = holds.to_numpy(zero_copy_only=False)
            if not mask.all():
                self._places = np.flatnonzero(mask)
                self._columns = GatheredColumns(zset.columns, self._places)
                self._weights = zset.weights[self._places]

    def contributions(self, total: Total, args: Sequence[tuple[int, Expr]]) -> Sums:
        """What each row adds to a total of numbered arguments; rows that do not pass the filter add
        nothing."""
        parts = total.contributions([self._value(*arg) for arg in args], self._weights)
        if self._places is None:
            return parts
        spread = {name: np.zeros(self._size, np.int64) for name in parts}
        for name, part in parts.items():
            spread[name][self._places] = part
        return spread

    def _value(self, number: int, expr: Expr) -> pa.Array:
        if number not in self._values:
            self._values[number] = evaluate(expr, self._columns, len(self._weights))
        return self._values[number]


def _carried(parts: Sequence[Sums], totals: Sums) -> Sums:
    """The totals with small digits, so that billions of them can be added without overflow; columns that are
    zero throughout are dropped."""
    return {
        f"{i}.{name}": total
        for i, part in enumerate(parts)
        for name, total in carry({name: totals[f"{i}.{name}"] for name in part}).items()
        if total.any()
    }
