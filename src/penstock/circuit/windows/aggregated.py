"""Aggregate functions over frames.

A linear function needs totals of its frame, and the total of a frame is a difference of two running totals,
whatever the frame: exact, because totals are. MIN and MAX take the better of two overlapping power-of-two
ranges. The others read all rows of all frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.accumulators import Grouped, GroupRows, Linear, Total
from penstock.circuit.windows.base import WHOLE, Reach, WindowFunction
from penstock.circuit.windows.frame import Frame
from penstock.circuit.windows.run import Run, holds
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.trace.order import dense_rank
from penstock.trace.search import expand
from penstock.trace.sort_key import Direction, sort_key
from penstock.zset import gather

__all__ = ["Aggregated", "Extreme", "Gathered", "contributions"]

Indices = NDArray[np.int64]


def contributions(total: Total, columns: Sequence[pa.Array], weights: Indices) -> dict[str, Indices]:
    """What each row adds to a total, times its weight."""
    size = len(weights)
    if total.filter is not None:
        weights = weights * holds(evaluate(total.filter, columns, size))
    return total.contributions([evaluate(arg, columns, size) for arg in total.args], weights)


@dataclass(frozen=True)
class Aggregated(WindowFunction):
    """A linear function of the frame's rows."""

    function: Linear
    frame: Frame

    @property
    def reach(self) -> Reach:
        return self.frame.reach

    @property
    def totals(self) -> tuple[Total, ...]:
        return self.function.totals if self.frame.lower is None else ()

    def result(self, run: Run) -> pa.Array:
        low, high = self.frame.bounds(run)
        high = np.where(run.altered, high, low)
        rows = high - low
        if self.frame.lower is None:
            rows = rows + run.before[run.stretch] * run.altered
        return self.function.result(
            rows, [self._sums(run, total, low, high) for total in self.function.totals]
        )

    def _sums(self, run: Run, total: Total, low: Indices, high: Indices) -> dict[str, Indices]:
        sums: dict[str, Indices] = {}
        for name, column in contributions(total, run.columns, np.ones(len(run), np.int64)).items():
            running = np.concatenate(([0], np.cumsum(column)))
            sums[name] = running[high] - running[low]
        if self.frame.lower is None:
            for name, before in run.sums_before.get(total, {}).items():
                there = before[run.stretch] * run.altered
                sums[name] = sums[name] + there if name in sums else there
        return sums

    def __str__(self) -> str:
        return f"{self.function} over {self.frame}"


@dataclass(frozen=True)
class Extreme(WindowFunction):
    """The smallest value of ``input`` in the frame, or the largest, of the rows for which ``filter``
    holds; or the ``beside`` of that row, and of several such rows the smallest (or largest) of theirs."""

    input: Expr
    largest: bool
    filter: Expr | None
    frame: Frame
    beside: Expr | None = None

    @property
    def reach(self) -> Reach:
        return self.frame.reach if self.frame.local else WHOLE

    def result(self, run: Run) -> pa.Array:
        values = ranked = run.value(self.input)
        if self.beside is not None:
            beside = run.value(self.beside)
            ranked = pa.StructArray.from_arrays([values, beside], names=["input", "beside"])
        counts = pc.is_valid(values).to_numpy(zero_copy_only=False)
        if self.filter is not None:
            counts = counts & holds(run.value(self.filter))
        rank = dense_rank(ranked, descending=self.largest)
        nothing = rank.max(initial=0) + 1
        best = _smallest(np.where(counts, rank, nothing), *self.frame.bounds(run), nothing)
        row = np.zeros(nothing + 1, np.int64)
        row[rank[counts]] = run.place[counts]
        found = values if self.beside is None else beside
        return gather(found, pa.array(row[best], mask=best == nothing))

    def __str__(self) -> str:
        return f"{'max' if self.largest else 'min'}({self.input}) over {self.frame}"


def _smallest(numbers: Indices, low: Indices, high: Indices, nothing: int) -> Indices:
    """The smallest of each range, in as many passes as the longest range has bits."""
    length = high - low
    level = np.frexp(np.maximum(length, 1).astype(np.float64))[1] - 1
    found = np.full(len(low), nothing, np.int64)
    for current in range(int(level.max(initial=0)) + 1):
        width = 1 << current
        here = np.flatnonzero((level == current) & (length > 0))
        found[here] = np.minimum(numbers[low[here]], numbers[high[here] - width])
        numbers = np.minimum(numbers[:-width], numbers[width:]) if len(numbers) > width else numbers[:0]
    return found


@dataclass(frozen=True)
class Gathered(WindowFunction):
    """A function of all rows of the frame in which ``inputs`` at ``present`` are not NULL and ``filter``
    holds.

    With ``sorted`` it is given them by value, equal ones as one; otherwise in the order of the window."""

    function: Grouped
    inputs: tuple[Expr, ...]
    present: tuple[int, ...]
    sorted: tuple[tuple[int, Direction], ...]
    filter: Expr | None
    frame: Frame

    @property
    def reach(self) -> Reach:
        return self.frame.reach if self.frame.local else WHOLE

    def result(self, run: Run) -> pa.Array:
        values = [run.value(item) for item in self.inputs]
        counts = np.ones(len(run), bool)
        for position in self.present:
            counts &= pc.is_valid(values[position]).to_numpy(zero_copy_only=False)
        if self.filter is not None:
            counts &= holds(run.value(self.filter))
        rows = np.flatnonzero(counts)
        low, high = (np.searchsorted(rows, bound) for bound in self.frame.bounds(run))
        group, member = expand(low, high - low)
        member, weights = rows[member], np.ones(len(member), np.int64)
        if self.sorted:
            group, member, weights = self._by_value(values, group, member)
        taken = tuple(gather(column, pa.array(member)) for column in values)
        return self.function.result(GroupRows(len(run), group, weights, taken))

    def _by_value(
        self, values: list[pa.Array], group: Indices, member: Indices
    ) -> tuple[Indices, Indices, Indices]:
        keys = [(values[position], direction) for position, direction in self.sorted]
        keys += [(column, Direction()) for column in values]
        rank = dense_rank(sort_key(keys, len(values[0])), descending=False)[member]
        perm = np.lexsort((rank, group))
        group, rank, member = group[perm], rank[perm], member[perm]
        differs = (group[1:] != group[:-1]) | (rank[1:] != rank[:-1])
        starts = np.flatnonzero(np.concatenate((np.ones(min(1, len(group)), bool), differs)))
        weights = np.diff(np.append(starts, len(group)))
        return group[starts], member[starts], weights

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.inputs))}) over {self.frame}"
