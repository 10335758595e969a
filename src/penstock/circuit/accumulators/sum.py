"""SUM, exact for every numeric type and for intervals.

The result is rounded (double) or checked for overflow (the others) once, at the end: a total that fits is the
result even if adding row by row would have overflowed in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import DayTimeIntervalType, YearMonthIntervalType

from penstock.circuit.accumulators.base import Linear, Sums, Weights, number
from penstock.circuit.accumulators.totals import ExactSum, Total, counted
from penstock.errors import EvaluationError
from penstock.expr.types import to_arrow
from penstock.zset import join_doubles, join_integers

__all__ = ["Sum", "exact_total", "overflow_error", "total_as_doubles", "with_nulls"]

INTERVALS = (DayTimeIntervalType, YearMonthIntervalType)


@dataclass(frozen=True)
class Sum(Linear):
    """NULL for a group without a single argument that is not NULL.

    ``mode`` is Spark's: beyond the type ``ANSI`` is an error, ``TRY`` gives NULL, and ``LEGACY`` wraps
    integers around, gives NULL for decimals, and is still an error for intervals.
    """

    mode: str = "ANSI"

    @property
    def totals(self) -> tuple[Total, ...]:
        return ExactSum(self.args, self.filter), *counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        total, overflow = exact_total(totals[0], len(rows), to_arrow(self.data_type))
        if overflow.any():
            if self.mode == "ANSI" or (self.mode == "LEGACY" and isinstance(self.data_type, INTERVALS)):
                raise overflow_error(self)
            if self.mode == "LEGACY" and pa.types.is_int64(total.type):
                total = pa.array(_low_words(totals[0], len(rows)))
        return with_nulls(total, number(rows, totals[1] if len(totals) > 1 else None))


def overflow_error(function: Linear) -> EvaluationError:
    """The error for a total that does not fit the function's type."""
    interval = isinstance(function.data_type, INTERVALS)
    condition = "INTERVAL_ARITHMETIC_OVERFLOW" if interval else "ARITHMETIC_OVERFLOW"
    return EvaluationError(condition, f"{function} exceeds {function.data_type.simpleString()}")


def _low_words(sums: Sums, length: int) -> Weights:
    """The lowest 64 bits of each total, as a signed number. (All sums of 64-bit integers fit a decimal.)"""
    total, _ = join_integers(sums, length, pa.decimal128(38, 0))
    return np.frombuffer(total.buffers()[1], np.int64, 2 * length)[::2].copy()


def with_nulls(total: pa.Array, count: Weights) -> pa.Array:
    """``total``, NULL where nothing was counted."""
    empty = count == 0
    if not empty.any():
        return total
    return total.take(pa.array(np.arange(len(total)), mask=empty))


def exact_total(sums: Sums, length: int, target: pa.DataType) -> tuple[pa.Array, NDArray[np.bool_]]:
    """The total of each group as ``target``, and where it does not fit."""
    if pa.types.is_floating(target):
        return pa.array(join_doubles(sums, length), target), np.zeros(length, bool)
    if pa.types.is_duration(target):
        total, overflow = join_integers(sums, length, pa.int64())
        return total.cast(target), overflow
    return join_integers(sums, length, target)


def total_as_doubles(sums: Sums, length: int, *, floating: bool) -> NDArray[np.float64]:
    """The total of doubles, or of integers, as doubles."""
    if floating:
        return join_doubles(sums, length)
    total, overflow = join_integers(sums, length, pa.int64())
    if overflow.any():
        total, _ = join_integers(sums, length, pa.decimal128(38, 0))
        total = total.cast(pa.float64())
    return np.asarray(total.to_numpy(zero_copy_only=False), np.float64)
