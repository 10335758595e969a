"""Matching rows of two arrangements: the common part of all joins.

The change of ``L ⋈ R`` is ``ΔL ⋈ R + L ⋈ ΔR + ΔL ⋈ ΔR`` with L and R as they were before the step. Each term
is a lookup of one side's delta in batches sorted by key, so the cost follows the delta and its matches, never
the size of either side. Pairs are index arrays; columns are gathered lazily.

A pair may occur several times with weights that cancel out: a row deleted in the same step in which its match
was inserted, or a deleted row that stays in an old batch until batches merge. Evaluating a condition on such
a pair is harmless unless it fails. So if it fails, pairs are consolidated first and the condition is
evaluated again on those that are left, each of which exists now or did before the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.delta import Arranged
from penstock.errors import EvaluationError
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.trace import Batch, lookup_repeated, lookup_rows
from penstock.trace.batch import HIGH
from penstock.zset import Hashes, gather, numbers

__all__ = ["PairColumns", "Pairs", "changed_pairs", "keys_of", "looked_up", "too_many_rows"]

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Matching rows: ``left_rows[i]`` of ``left`` with ``right_rows[i]`` of ``right``."""

    left: Batch
    left_rows: Indices
    right: Batch
    right_rows: Indices

    def __len__(self) -> int:
        return len(self.left_rows)

    @property
    def weights(self) -> Indices:
        """The weight of each pair: the product of its rows' weights."""
        product: Indices = self.left.weights[self.left_rows] * self.right.weights[self.right_rows]
        return product

    def filter(self, mask: NDArray[np.bool_]) -> Pairs:
        """The pairs for which ``mask`` is true."""
        if mask.all():
            return self
        return Pairs(self.left, self.left_rows[mask], self.right, self.right_rows[mask])


class PairColumns(Sequence[pa.Array]):
    """The columns of pairs, left ones first, each gathered on first use."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._left, self._right = numbers(pairs.left_rows), numbers(pairs.right_rows)
        self._every = _is_every(pairs.left_rows, len(pairs.left))
        self._gathered: dict[int, pa.Array] = {}

    def __len__(self) -> int:
        return len(self._pairs.left.values) + len(self._pairs.right.values)

    def __getitem__(self, ordinal: Any) -> Any:
        if ordinal not in self._gathered:
            width = len(self._pairs.left.values)
            if ordinal < width:
                column = self._pairs.left.values[ordinal]
                column = column if self._every else gather(column, self._left)
            else:
                column = gather(self._pairs.right.values[ordinal - width], self._right)
            self._gathered[ordinal] = column
        return self._gathered[ordinal]


def _is_every(rows: Indices, size: int) -> bool:
    """Whether each of ``size`` rows is there once, in order."""
    return len(rows) == size and size > 0 and bool((rows == np.arange(size)).all())


def changed_pairs(left: Arranged, right: Arranged, condition: Expr | None) -> list[Pairs]:
    """The pairs that are added or removed in this step: equal keys, and ``condition`` holds (left columns
    first)."""
    return _that_hold(lambda _: _products(left, right), condition)


def looked_up(
    left: Batch, keys: Hashes, right: Arranged, condition: Expr | None, apart: Callable[[], Words]
) -> list[Pairs]:
    """The pairs of ``left``, in any order, with everything on the right after this step. ``apart``
    distinguishes rows of one key on the left; it is called only if the condition fails somewhere."""

    def found(to_be_summed: bool) -> Iterator[Pairs]:
        rows = replace(left, row_lo=apart()) if to_be_summed else left
        for match in lookup_repeated([*right.before, right.batch], keys):
            yield Pairs(rows, match.probe, match.batch, match.row)

    return _that_hold(found, condition)


def _that_hold(pairs: Callable[[bool], Iterator[Pairs]], condition: Expr | None) -> list[Pairs]:
    """``pairs`` is told whether equal ones will be consolidated."""
    if condition is None:
        return list(pairs(False))
    try:
        return _holding(pairs(False), condition)
    except EvaluationError:
        return _holding(_summed_up(list(pairs(True))), condition)


def keys_of(batch: Batch) -> Hashes:
    """The key of each row of a batch: only the half of ``hi`` that the order word contains."""
    return Hashes(batch.order & HIGH, batch.key_lo)


def too_many_rows() -> EvaluationError:
    """The error for a scalar subquery with more than one row."""
    return EvaluationError(
        "SCALAR_SUBQUERY_TOO_MANY_ROWS", "more than one row returned by a subquery used as an expression"
    )


def _products(left: Arranged, right: Arranged) -> Iterator[Pairs]:
    """The three terms of the product rule."""
    if len(left.batch):
        for found in lookup_rows([*right.before, right.batch], keys_of(left.batch)):
            yield Pairs(left.batch, found.probe, found.batch, found.row)
    if len(right.batch):
        for found in lookup_rows(left.before, keys_of(right.batch)):
            yield Pairs(found.batch, found.row, right.batch, found.probe)


def _holding(parts: Iterable[Pairs], condition: Expr) -> list[Pairs]:
    """The pairs for which the condition is true; NULL counts as false."""
    kept: list[Pairs] = []
    for pairs in parts:
        holds = pc.fill_null(evaluate(condition, PairColumns(pairs), len(pairs)), False)
        held = pairs.filter(holds.to_numpy(zero_copy_only=False))
        if len(held):
            kept.append(held)
    return kept


def _summed_up(parts: Sequence[Pairs]) -> Iterator[Pairs]:
    """The pairs whose weights do not sum to zero over all parts."""
    if not parts:
        return
    lanes = [
        np.concatenate(lane)
        for lane in zip(
            *((*_identity(p.left, p.left_rows), *_identity(p.right, p.right_rows)) for p in parts),
            strict=True,
        )
    ]
    weights = np.concatenate([pairs.weights for pairs in parts])
    perm = np.lexsort(lanes)
    differs = np.zeros(len(perm) - 1, bool)
    for lane in lanes:
        differs |= lane[perm[1:]] != lane[perm[:-1]]
    starts = np.flatnonzero(np.concatenate(([True], differs)))
    totals = np.add.reduceat(weights[perm], starts)
    alive = np.empty(len(perm), bool)
    alive[perm] = np.repeat(totals != 0, np.diff(np.append(starts, len(perm))))
    offset = 0
    for pairs in parts:
        yield pairs.filter(alive[offset : offset + len(pairs)])
        offset += len(pairs)


def _identity(batch: Batch, rows: Indices) -> tuple[NDArray[np.uint64], ...]:
    lanes = (batch.order[rows], batch.key_lo[rows])
    return lanes if batch.row_lo is None else (*lanes, batch.row_lo[rows])
