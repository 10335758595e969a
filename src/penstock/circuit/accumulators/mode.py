"""MODE: the value that occurs most often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.circuit.accumulators.base import Grouped, GroupRows
from penstock.expr.types import to_arrow
from penstock.zset import gather

__all__ = ["Mode"]


@dataclass(frozen=True)
class Mode(Grouped):
    """Of several such values the smallest, or with ``largest`` the largest. NULL without values."""

    largest: bool = False

    def result(self, rows: GroupRows) -> pa.Array:
        sizes = rows.sizes
        present = sizes > 0
        if not present.any():
            return pa.nulls(rows.groups, to_arrow(self.data_type))
        starts = (np.cumsum(sizes) - sizes)[present]
        most = np.repeat(np.maximum.reduceat(rows.weights, starts), sizes[present])
        position = np.arange(len(rows.weights))
        if self.largest:
            chosen = np.maximum.reduceat(np.where(rows.weights == most, position, -1), starts)
        else:
            chosen = np.minimum.reduceat(np.where(rows.weights == most, position, len(position)), starts)
        place = np.zeros(rows.groups, np.int64)
        place[present] = chosen
        return gather(rows.values[0], pa.array(place, mask=~present))

    def __str__(self) -> str:
        return "mode"
