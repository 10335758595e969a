"""AVG: the exact sum divided by the number of values, rounded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DecimalType

from penstock.circuit.accumulators.base import LinearAccumulator, Weights
from penstock.circuit.accumulators.sum import exact_total, sum_contributions
from penstock.errors import EvaluationError
from penstock.expr.functions.decimals import divide
from penstock.expr.types import to_arrow

__all__ = ["Average"]


@dataclass(frozen=True)
class Average(LinearAccumulator):
    """Double for numbers, decimal (rounded half up) for decimals; NULL for a group without values."""

    ansi: bool = True

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        values = arguments[0]
        if not pa.types.is_decimal(values.type):
            values = values.cast(pa.float64(), safe=False)
        return sum_contributions(values, weights)

    def result(self, rows: Weights, sums: Mapping[str, Weights]) -> pa.Array:
        target = to_arrow(self.data_type)
        present = sums.get("n", 0 * rows)
        empty = present == 0
        if not pa.types.is_decimal(target):
            total, _ = exact_total(sums, len(rows), pa.float64())
            mean = total.to_numpy() / np.where(empty, 1, present)
            return pa.array(mean, mask=empty)
        kind = self.args[0].data_type
        assert isinstance(kind, DecimalType)
        total, overflow = exact_total(
            sums, len(rows), pa.decimal128(min(38, kind.precision + 10), kind.scale)
        )
        count = pa.array(np.where(empty, 1, present)).cast(pa.decimal128(19, 0))
        mean, too_big = divide(total, count, len(rows), target)
        if self.ansi and (overflow.any() or (too_big is not None and too_big.any())):
            raise EvaluationError("ARITHMETIC_OVERFLOW", f"{self} exceeds {self.data_type.simpleString()}")
        return pc.if_else(pa.array(~empty), mean, pa.scalar(None, target))
