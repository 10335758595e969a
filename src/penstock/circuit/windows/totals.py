"""Totals of the rows of a partition before a stretch, from running totals cached with the batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.circuit.accumulators import Total
from penstock.circuit.windows.aggregated import contributions
from penstock.circuit.windows.clusters import Bounds, Clusters
from penstock.trace import Batch

__all__ = ["balanced", "sums_before"]

Indices = NDArray[np.int64]


def sums_before(
    before: Sequence[Batch],
    starts: Sequence[Indices],
    bounds: Sequence[Bounds],
    whole: NDArray[np.bool_],
    totals: Sequence[Total],
) -> dict[Total, dict[str, Indices]]:
    """For each stretch the totals of the rows of its partition before position ``starts`` of every batch."""
    found: dict[Total, dict[str, Indices]] = {total: {} for total in totals}
    for batch, at, bound in zip(before, starts, bounds, strict=True):
        for total in totals:
            for name, running in _running(batch, total).items():
                part = np.where(whole, 0, running[at] - running[bound.start])
                sums = found[total]
                sums[name] = sums[name] + part if name in sums else part
    return found


def _running(batch: Batch, total: Total) -> dict[str, Indices]:
    """The running totals of all columns of a total, computed once for each batch."""
    if total not in batch.memo:
        whole = batch.whole()
        columns = contributions(total, whole.values[1:], whole.weights)
        batch.memo[total] = {
            name: np.concatenate(([0], np.cumsum(column))) for name, column in columns.items()
        }
    running: dict[str, Indices] = batch.memo[total]
    return running


def balanced(batch: Batch, clusters: Clusters, totals: Sequence[Total]) -> NDArray[np.bool_]:
    """The clusters whose changes leave the number of rows and all totals unchanged."""
    size = len(clusters)
    even: NDArray[np.bool_] = _sums(clusters.of_row, batch.weights, size) == 0
    for total in totals:
        for column in contributions(total, batch.values[1:], batch.weights).values():
            even &= _sums(clusters.of_row, column, size) == 0
    return even


def _sums(owner: Indices, numbers: Indices, size: int) -> Indices:
    total = np.zeros(size, np.int64)
    np.add.at(total, owner, numbers)
    return total
