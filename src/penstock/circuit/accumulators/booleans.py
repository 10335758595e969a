"""MIN and MAX of conditions, which BOOL_AND and BOOL_OR are: counting is enough, no order is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.totals import Total, Truths, counted

__all__ = ["AllOrAny"]


@dataclass(frozen=True)
class AllOrAny(Linear):
    """Whether the argument is true in all rows in which it is not NULL, or with ``any`` in at least one."""

    any: bool = False

    @property
    def totals(self) -> tuple[Total, ...]:
        return Truths(self.args, self.filter), *counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        count = number(rows, totals[1] if len(totals) > 1 else None)
        true = number(rows, totals[0])
        return masked(np.asarray(true > 0 if self.any else true == count), count > 0, pa.bool_())

    @property
    def title(self) -> str:
        return "bool_or" if self.any else "bool_and"
