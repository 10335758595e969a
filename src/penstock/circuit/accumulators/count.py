"""COUNT: the number of rows in which no argument is NULL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.circuit.accumulators.base import LinearAccumulator, Weights, weights_of_present

__all__ = ["Count"]


@dataclass(frozen=True)
class Count(LinearAccumulator):
    """Without arguments that can be NULL and without a filter, the group's own weight is the answer."""

    @property
    def _is_count_of_rows(self) -> bool:
        return self.filter is None and not any(argument.nullable for argument in self.args)

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        if self._is_count_of_rows:
            return {}
        for argument in arguments:
            weights = weights_of_present(argument, weights)
        return {"n": weights}

    def result(self, rows: Weights, sums: Mapping[str, Weights]) -> pa.Array:
        total = rows if self._is_count_of_rows else sums.get("n", 0 * rows)
        return pa.array(total, pa.int64())
