"""Values per group in order, of which only the first is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.accumulators import First
from penstock.circuit.delta import Delta
from penstock.circuit.feeds.base import Answers, Feed, one_zero
from penstock.expr.types import to_arrow
from penstock.trace import Batch, build_batch, lookup_first
from penstock.trace.batch import HIGH
from penstock.trace.order import Ordered, order_image
from penstock.zset import Hashes, HashSeed, gather, hash_columns

__all__ = ["OrderedFeed"]


@dataclass(frozen=True)
class OrderedFeed(Feed):
    """Receives the last ``len(function.args)`` columns of its input; the column to order by is not NULL."""

    function: First

    def batch(self, delta: Delta, seed: HashSeed) -> Batch:
        width = len(self.function.args)
        value = self.function.keyed(tuple(one_zero(column) for column in delta.zset.columns[-width:]))
        order = (delta.index.hi & HIGH) | order_image(value, descending=self.function.descending)
        row = hash_columns([value], len(value), seed)
        direction: Ordered = "descending" if self.function.descending else "ascending"
        return build_batch(order, delta.index.lo, row.lo, delta.zset.weights, (value,), ordered=direction)

    def answers(self, before: Sequence[Batch], batch: Batch, groups: Hashes) -> Answers:
        old = [self._first(before, groups)]
        return Answers(old, [self._first([*before, batch], groups)] if len(batch) else old)

    def _first(self, batches: Sequence[Batch], groups: Hashes) -> pa.Array:
        probe, values = lookup_first(batches, groups)
        if values is None:
            return pa.nulls(len(groups), to_arrow(self.function.data_type))
        place = np.zeros(len(groups), np.int64)
        missing = np.ones(len(groups), bool)
        place[probe] = np.arange(len(probe))
        missing[probe] = False
        return self.function.result(gather(values, pa.array(place, mask=missing)))

    def __str__(self) -> str:
        return str(self.function)
