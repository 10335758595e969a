"""Rows of partitions in order, as window functions see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.accumulators import Total
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr

__all__ = ["Run", "holds"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """Stretches of partitions, each row once per copy. ``stretch`` numbers them and is sorted; ``peer`` is
    equal for neighbours that are equal under the ORDER BY.

    Only the results of ``altered`` rows are needed: those of the others may depend on frames that were not
    read completely, and must not cause an error.

    ``before`` is the number of rows of the partition before each stretch, ``sums_before`` their totals (a
    missing column is zero).
    """

    columns: tuple[pa.Array, ...]
    stretch: Indices
    peer: Indices
    altered: NDArray[np.bool_]
    before: Indices
    sums_before: Mapping[Total, Mapping[str, Indices]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.stretch)

    @cached_property
    def place(self) -> Indices:
        """0, 1, 2 …"""
        return np.arange(len(self))

    @cached_property
    def first(self) -> Indices:
        """The first row of each row's stretch."""
        return np.searchsorted(self.stretch, self.stretch, "left")

    @cached_property
    def last(self) -> Indices:
        """One past the last row of each row's stretch."""
        return np.searchsorted(self.stretch, self.stretch, "right")

    @cached_property
    def begins_peers(self) -> NDArray[np.bool_]:
        """Whether each row is the first of its peers."""
        same = (self.stretch[1:] == self.stretch[:-1]) & (self.peer[1:] == self.peer[:-1])
        return np.concatenate((np.ones(min(1, len(self)), bool), ~same))

    @cached_property
    def first_peer(self) -> Indices:
        """The first of each row's peers."""
        return np.maximum.accumulate(np.where(self.begins_peers, self.place, 0))

    @cached_property
    def past_peers(self) -> Indices:
        """One past the last of each row's peers."""
        starts = np.append(np.flatnonzero(self.begins_peers), len(self))
        return starts[np.searchsorted(starts, self.place, "right")]

    def value(self, expr: Expr) -> pa.Array:
        """An expression on every row."""
        return evaluate(expr, self.columns, len(self))


def holds(condition: pa.Array) -> NDArray[np.bool_]:
    """Where a condition is true (neither false nor NULL)."""
    true: NDArray[np.bool_] = pc.fill_null(condition, False).to_numpy(zero_copy_only=False)
    return true
