"""AVG: the exact sum divided by the number of values, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import DecimalType

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.sum import (
    INTERVALS,
    exact_total,
    overflow_error,
    total_as_doubles,
    with_nulls,
)
from penstock.circuit.accumulators.totals import ExactSum, Total, counted
from penstock.expr.functions.decimals import divide
from penstock.expr.types import to_arrow

__all__ = ["Average"]


@dataclass(frozen=True)
class Average(Linear):
    """Double for numbers; decimals and intervals are rounded half away from zero. NULL without values."""

    mode: str = "ANSI"

    @property
    def totals(self) -> tuple[Total, ...]:
        return ExactSum(self.args, self.filter), *counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        count = number(rows, totals[1] if len(totals) > 1 else None)
        divisor = np.where(count == 0, 1, count)
        kind = self.args[0].data_type
        if isinstance(kind, DecimalType):
            return self._of_decimals(kind, totals[0], count, divisor)
        if isinstance(kind, INTERVALS):
            return self._of_intervals(totals[0], count, divisor)
        floating = pa.types.is_floating(to_arrow(kind))
        total = total_as_doubles(totals[0], len(rows), floating=floating)
        return masked(total / divisor, count != 0, pa.float64())

    def _of_decimals(self, kind: DecimalType, sums: Sums, count: Weights, divisor: Weights) -> pa.Array:
        target = to_arrow(self.data_type)
        sum_type = pa.decimal128(min(38, kind.precision + 10), kind.scale)
        total, overflow = exact_total(sums, len(count), sum_type)
        mean, too_big = divide(total, pa.array(divisor).cast(pa.decimal128(19, 0)), len(count), target)
        if self.mode == "ANSI" and (overflow.any() or (too_big is not None and too_big.any())):
            raise overflow_error(self)
        return with_nulls(mean, count)

    def _of_intervals(self, sums: Sums, count: Weights, divisor: Weights) -> pa.Array:
        target = to_arrow(self.data_type)
        total, overflow = exact_total(sums, len(count), target)
        if overflow.any() and self.mode != "TRY":
            raise overflow_error(self)
        unit = pa.int64() if pa.types.is_duration(target) else target
        whole = total.cast(unit)
        known = whole.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        mean = masked(_half_up(known, divisor), ~overflow, pa.int64()).cast(unit).cast(target)
        return with_nulls(mean, count)


def _half_up(total: NDArray[np.int64], divisor: NDArray[np.int64]) -> NDArray[np.int64]:
    """The quotient rounded to the nearest integer, halves away from zero."""
    size = np.abs(total)
    quotient, rest = size // divisor, size % divisor
    quotient += rest >= divisor - rest
    return np.where(total < 0, -quotient, quotient)
