"""PERCENTILE, MEDIAN, PERCENTILE_CONT, PERCENTILE_DISC and APPROX_PERCENTILE, all exact.

The rows of all touched groups lie in order, so a running count of them is increasing as a whole, and the
value at a position of a group is found by one search for all groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import ArrayType, DecimalType, DoubleType

from penstock.circuit.accumulators.base import Grouped, GroupRows, Weights
from penstock.errors import EvaluationError
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Call, Column
from penstock.expr.types import to_arrow
from penstock.zset import gather, list_column

__all__ = ["ApproximatePercentile", "DiscretePercentile", "Percentile"]

Positions = NDArray[np.int64]


class _Ranked:
    """The values (first column) of groups, to be asked for by position; NULL where a group has none."""

    def __init__(self, rows: GroupRows, weights: Weights, reverse: bool) -> None:
        self.values, self._reverse = rows.values[0], reverse
        self.total = np.zeros(rows.groups, np.int64)
        np.add.at(self.total, rows.group, weights)
        self._ends = np.cumsum(weights)
        self._start = np.cumsum(self.total) - self.total

    def at(self, position: Positions) -> Positions:
        """The row that holds each group's value at ``position`` (from 0). For groups without values, any."""
        if self._reverse:
            position = self.total - 1 - position
        inside = np.clip(position, 0, np.maximum(self.total - 1, 0))
        row = np.searchsorted(self._ends, self._start + inside, "right")
        return np.minimum(row, max(len(self._ends) - 1, 0))


@dataclass(frozen=True)
class Percentile(Grouped):
    """The value at each of ``percentages`` of the way, between two values by linear interpolation.

    With ``reverse`` the way goes down. With ``frequency`` the second column says how often a row counts.
    """

    percentages: tuple[float, ...]
    reverse: bool = False
    frequency: bool = False

    def result(self, rows: GroupRows) -> pa.Array:
        ranked = _Ranked(rows, self._weights(rows), self.reverse)
        if len(ranked.values) == 0 or not self.percentages:
            return pa.nulls(rows.groups, to_arrow(self.data_type))
        numbers = _as_doubles(ranked.values)
        answers = [self._answer(ranked, numbers, percentage) for percentage in self.percentages]
        return self._typed(np.stack(answers), ranked.total > 0)

    def _weights(self, rows: GroupRows) -> Weights:
        weights = np.ones_like(rows.weights) if self.distinct else rows.weights
        if not self.frequency:
            return weights
        times = rows.values[1].to_numpy(zero_copy_only=False).astype(np.int64)
        if (times < 0).any():
            raise EvaluationError(
                "NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION",
                f"the frequency of a percentile is {times.min()}, but it must not be negative",
            )
        counted: Weights = weights * times
        return counted

    def _answer(
        self, ranked: _Ranked, numbers: NDArray[np.float64], percentage: float
    ) -> NDArray[np.float64]:
        position = (ranked.total - 1) * percentage
        lower, higher = np.floor(position), np.ceil(position)
        low = numbers[ranked.at(lower.astype(np.int64))]
        high = numbers[ranked.at(higher.astype(np.int64))]
        with np.errstate(invalid="ignore"):
            between = low + (position - lower) * (high - low)
        return np.where((lower == higher) | (low == high), low, between)

    def _typed(self, answers: NDArray[np.float64], valid: NDArray[np.bool_]) -> pa.Array:
        """Numbers of shape (percentages, groups) as the answer's type; intervals are cut to whole units."""
        target = to_arrow(self.data_type)
        element = target.value_type if isinstance(self.data_type, ArrayType) else target
        flat = answers.T.reshape(-1)
        if pa.types.is_floating(element):
            values = pa.array(flat, element)
        else:
            whole = np.where(np.repeat(valid, len(answers)), flat, 0.0).astype(np.int64)
            unit = pa.int64() if _is_count(element) else element
            values = pa.array(whole).cast(unit).cast(element)
        return _arrays(values, valid, target, len(answers))

    def __str__(self) -> str:
        return f"percentile({', '.join(map(str, self.percentages))})"


@dataclass(frozen=True)
class DiscretePercentile(Percentile):
    """The first value at which at least the percentage of all values is reached."""

    def _answer(
        self, ranked: _Ranked, numbers: NDArray[np.float64], percentage: float
    ) -> NDArray[np.float64]:
        position = np.ceil(ranked.total * percentage).astype(np.int64)
        return numbers[ranked.at(np.maximum(position - 1, 0))]

    def __str__(self) -> str:
        return f"percentile_disc({', '.join(map(str, self.percentages))})"


@dataclass(frozen=True)
class ApproximatePercentile(Grouped):
    """The value itself at each percentage, of the type it has.

    Spark keeps a summary of about ``accuracy`` values and answers exactly while a group has less than half
    as many; what is beyond, it approximates, and the answer here stays exact.
    """

    percentages: tuple[float, ...]
    accuracy: int

    def result(self, rows: GroupRows) -> pa.Array:
        target = to_arrow(self.data_type)
        weights = np.ones_like(rows.weights) if self.distinct else rows.weights
        ranked = _Ranked(rows, weights, reverse=False)
        if len(ranked.values) == 0 or not self.percentages:
            return pa.nulls(rows.groups, target)
        chosen = np.stack([ranked.at(self._position(ranked.total, p)) for p in self.percentages])
        values = gather(ranked.values, pa.array(chosen.T.reshape(-1)))
        return _arrays(values, ranked.total > 0, target, len(chosen))

    def _position(self, total: Positions, percentage: float) -> Positions:
        error = 1 / self.accuracy
        if percentage <= error or percentage >= 1 - error:
            return np.zeros_like(total) if percentage <= error else total - 1
        position: Positions = np.ceil(total * percentage).astype(np.int64) - 1
        return position

    def __str__(self) -> str:
        return f"approx_percentile({', '.join(map(str, self.percentages))})"


def _arrays(values: pa.Array, valid: NDArray[np.bool_], target: pa.DataType, width: int) -> pa.Array:
    """``width`` values for each group as an array each, or by themselves; NULL where not ``valid``."""
    if pa.types.is_list(target):
        values = list_column(np.arange(len(valid) + 1) * width, values, target)
    if valid.all():
        return values
    return gather(values, pa.array(np.arange(len(valid)), mask=~valid))


def _is_count(kind: pa.DataType) -> bool:
    """Whether values are numbers of a unit of time, which Arrow casts to integers alone."""
    return bool(pa.types.is_duration(kind) or pa.types.is_time64(kind))


def _as_doubles(values: pa.Array) -> NDArray[np.float64]:
    if _is_count(values.type):
        values = values.cast(pa.int64())
    elif pa.types.is_decimal(values.type):
        # Arrow's own cast is off by a bit now and then (3.01); the one of expressions is Spark's.
        kind = DecimalType(values.type.precision, values.type.scale)
        cast = Call(DoubleType(), True, "Cast", (Column(kind, True, 0),), (("mode", "ANSI"),))
        values = evaluate(cast, [values], len(values))
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
