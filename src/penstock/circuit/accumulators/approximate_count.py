"""APPROX_COUNT_DISTINCT: exactly Spark's estimate, from a HyperLogLog++ sketch.

Spark keeps only the largest rank in each register, so nothing could be deleted. Here the group's values are
registers and ranks with the number of rows behind each (see :mod:`penstock.expr.functions.registers`): a few
for each register, however many rows there are. The largest ranks form the sketch; the estimate is then
computed with Spark's arithmetic in Spark's order, and with Spark's bias tables, which come with the plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.circuit.accumulators.base import Grouped, GroupRows
from penstock.expr.functions.registers import RANK_BITS
from penstock.expr.types import to_arrow
from penstock.zset.kernel import INT64S, NEW_INT64S, Number, inlined, kernel

__all__ = ["ApproximateCount", "Bias"]

_NEIGHBOURS = 6
_RANK = (1 << RANK_BITS) - 1
_DOUBLES = types.Array(types.float64, 1, "C")

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Bias:
    """The bias of raw estimates (``biases`` for ``estimates``), and the estimate up to which the number of
    empty registers is more accurate than the sketch. Without estimates there is no correction."""

    estimates: tuple[float, ...] = field(repr=False)
    biases: tuple[float, ...] = field(repr=False)
    threshold: float


@dataclass(frozen=True)
class ApproximateCount(Grouped):
    """The estimate from a group's registers (first column, ascending); 0 for a group without values."""

    precision: int
    bias: Bias

    def result(self, rows: GroupRows) -> pa.Array:
        registers = rows.values[0].to_numpy(zero_copy_only=False).astype(np.int64)
        inverses, empty = np.empty(rows.groups), np.empty(rows.groups)
        count = 1 << self.precision
        _harmonic(registers, np.cumsum(rows.sizes), count, inverses, empty)
        found = np.empty(rows.groups, np.int64)
        estimates, biases = np.array(self.bias.estimates, np.float64), np.array(self.bias.biases, np.float64)
        scale = _alpha(self.precision) * count * count
        _estimated(scale / inverses, empty, float(count), estimates, biases, self.bias.threshold, found)
        return pa.array(found, to_arrow(self.data_type))

    def __str__(self) -> str:
        return f"approx_count_distinct in {1 << self.precision} registers"


def _alpha(precision: int) -> float:
    known = {4: 0.673, 5: 0.697, 6: 0.709}
    return known.get(precision, 0.7213 / (1.0 + 1.079 / (1 << precision)))


@kernel(types.void(INT64S, INT64S, types.int64, _DOUBLES, _DOUBLES))
def _harmonic(registers: Integers, ends: Integers, count: int, inverses: Doubles, empty: Doubles) -> None:
    """The sum of 2^-rank over all registers of each group, added from the first to the last, and how many are
    empty. Registers are sorted, each with its ranks in ascending order."""
    at = 0
    for group in range(len(ends)):
        inverse, zeros, register = 0.0, 0.0, 0
        while at < ends[group]:
            here = registers[at] >> RANK_BITS
            while at + 1 < ends[group] and registers[at + 1] >> RANK_BITS == here:
                at += 1
            while register < here:
                inverse += 1.0
                zeros += 1.0
                register += 1
            inverse += 1.0 / (1 << (registers[at] & _RANK))
            register += 1
            at += 1
        while register < count:
            inverse += 1.0
            zeros += 1.0
            register += 1
        inverses[group], empty[group] = inverse, zeros


@inlined
def _bias_of(raw: Number, estimates: Number, biases: Number) -> Number:
    """The mean bias of the six estimates in the table that are nearest."""
    size = len(estimates)
    low: Number = max(np.searchsorted(estimates, raw) - _NEIGHBOURS + 1, 0)
    high: Number = min(low + _NEIGHBOURS, size)
    while high < size:
        above, below = raw - estimates[high], raw - estimates[low]
        if above * above >= below * below:
            break
        low += 1
        high += 1
    total = 0.0
    for place in range(low, high):
        total += biases[place]
    return total / (high - low)


@kernel(types.void(_DOUBLES, _DOUBLES, types.float64, _DOUBLES, _DOUBLES, types.float64, NEW_INT64S))
def _estimated(
    raws: Doubles,
    empty: Doubles,
    count: float,
    estimates: Doubles,
    biases: Doubles,
    threshold: float,
    found: Integers,
) -> None:
    """The number of distinct values by raw estimate and number of empty registers, halves rounded up."""
    corrected = len(estimates) > 0
    for group in range(len(raws)):
        estimate = raws[group]
        by_empty = count * math.log(count / empty[group]) if empty[group] > 0 else 0.0
        if empty[group] > 0 and ((corrected and by_empty <= threshold) or estimate <= 2.5 * count):
            estimate = by_empty
        elif corrected and estimate < 5.0 * count:
            estimate -= _bias_of(estimate, estimates, biases)
        found[group] = math.floor(estimate + 0.5)
