"""COUNT: the number of rows in which no argument is NULL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.circuit.accumulators.base import Linear, Sums, Weights, number
from penstock.circuit.accumulators.totals import Total, counted

__all__ = ["Count"]


@dataclass(frozen=True)
class Count(Linear):
    """Without arguments that can be NULL and without a filter, the group's own weight is the answer."""

    @property
    def totals(self) -> tuple[Total, ...]:
        return counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        return pa.array(number(rows, totals[0] if totals else None), pa.int64())
