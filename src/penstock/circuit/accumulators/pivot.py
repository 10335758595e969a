"""PIVOT's second half: the rows of a group, one for each pivot value, as an array of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.circuit.accumulators.base import Grouped, GroupRows
from penstock.expr.types import to_arrow
from penstock.zset import HashSeed, concat, gather, hash_columns, list_column

__all__ = ["Pivot"]


@dataclass(frozen=True)
class Pivot(Grouped):
    """For each of ``wanted`` the second column of the row that has it in the first; NULL if none has.

    PIVOT aggregates by group and pivot column first, so there is at most one such row."""

    wanted: tuple[Any, ...]

    def result(self, rows: GroupRows) -> pa.Array:
        column, values = rows.values
        keys = concat([column, pa.array(list(self.wanted), column.type)])
        hashes = hash_columns(
            [keys], len(keys), HashSeed(0, 0)
        )  # NULL equals NULL, structs compare as a whole
        have = len(column)
        place = np.full((rows.groups, len(self.wanted)), -1, np.int64)
        for position in range(len(self.wanted)):
            same = (hashes.hi[:have] == hashes.hi[have + position]) & (
                hashes.lo[:have] == hashes.lo[have + position]
            )
            place[rows.group[same], position] = np.flatnonzero(same)
        flat = place.reshape(-1)
        chosen = gather(values, pa.array(np.maximum(flat, 0), mask=flat < 0))
        offsets = np.arange(rows.groups + 1) * len(self.wanted)
        return list_column(offsets, chosen, to_arrow(self.data_type))

    def __str__(self) -> str:
        return f"pivot({', '.join(map(str, self.wanted))})"
