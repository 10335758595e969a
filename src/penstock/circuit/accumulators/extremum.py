"""MIN and MAX: the first value of a group whose weight is positive, in ascending or descending order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.circuit.accumulators.base import OrderedAccumulator
from penstock.circuit.delta import Delta
from penstock.expr.types import to_arrow
from penstock.trace import Batch, build_batch, lookup_first
from penstock.trace.batch import HIGH
from penstock.trace.order import Ordered, order_image
from penstock.zset import Hashes, HashSeed, hash_columns

__all__ = ["Extremum"]


@dataclass(frozen=True)
class Extremum(OrderedAccumulator):
    """The smallest value, or with ``descending`` the largest. Its input holds no NULLs."""

    descending: bool = False

    def batch(self, delta: Delta, seed: HashSeed) -> Batch:
        assert delta.keys is not None
        value = delta.zset.columns[-1]
        if pa.types.is_floating(value.type):
            # 0.0 and -0.0 are one value: keep the same one whichever comes first.
            value = pc.add(value, pa.scalar(0.0, value.type))
        order = (delta.keys.hi & HIGH) | order_image(value, descending=self.descending)
        row = hash_columns([value], len(value), seed)
        direction: Ordered = "descending" if self.descending else "ascending"
        return build_batch(order, delta.keys.lo, row.lo, delta.zset.weights, (value,), ordered=direction)

    def result(self, batches: Sequence[Batch], groups: Hashes) -> pa.Array:
        probe, values = lookup_first(batches, groups)
        if values is None:
            return pa.nulls(len(groups), to_arrow(self.data_type))
        place = np.zeros(len(groups), np.int64)
        missing = np.ones(len(groups), bool)
        place[probe] = np.arange(len(probe))
        missing[probe] = False
        return values.take(pa.array(place, mask=missing))

    def __str__(self) -> str:
        return f"{'max' if self.descending else 'min'}({self.args[0]})"
