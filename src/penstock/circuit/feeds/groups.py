"""Values by group, for functions that need all of them.

A step reads the rows of the groups it touches, once for all functions and for both results: each row has its
weight before and after the step. Rows are sorted once, by group and then in the feed's order; ties are broken
by the remaining columns, so nothing depends on arrival. Cost: the touched groups, n log n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators import Grouped, GroupRows
from penstock.circuit.delta import Delta
from penstock.circuit.feeds.base import Answers, Feed, one_zero
from penstock.trace import Batch, build_batch, lookup_rows, order_words
from penstock.trace.order import dense_rank
from penstock.zset import Hashes, HashSeed, concat, fitted, gather, hash_columns, numbers

__all__ = ["GroupFeed", "Order"]


@dataclass(frozen=True)
class Order:
    """By the values' column at ``ordinal``."""

    ordinal: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class GroupFeed(Feed):
    """Receives the last ``width`` columns of its input."""

    width: int
    order: tuple[Order, ...]
    functions: tuple[Grouped, ...]

    def batch(self, delta: Delta, seed: HashSeed) -> Batch:
        values = [one_zero(column) for column in delta.zset.columns[-self.width :]]
        row = hash_columns(values, len(delta), seed)
        order = order_words(delta.index, row)
        return build_batch(order, delta.index.lo, row.lo, delta.zset.weights, values)

    def answers(self, before: Sequence[Batch], batch: Batch, groups: Hashes) -> Answers:
        found = _found(before, batch, groups)
        if found is None:
            values = tuple(column[:0] for column in _columns(before, batch))
            nothing = GroupRows(len(groups), np.empty(0, np.int64), np.empty(0, np.int64), values)
            old = [function.result(nothing) for function in self.functions]
            return Answers(old, old)
        rows = self._sorted(found)
        old = [function.result(rows.having(rows.old, len(groups))) for function in self.functions]
        if np.array_equal(rows.old, rows.new):
            return Answers(old, old)
        return Answers(
            old, [function.result(rows.having(rows.new, len(groups))) for function in self.functions]
        )

    def _sorted(self, rows: _Rows) -> _Rows:
        keys = [_rank(rows.values[item.ordinal], item) for item in self.order]
        others = set(range(self.width)) - {item.ordinal for item in self.order}
        keys += [_rank(rows.values[ordinal], Order(ordinal)) for ordinal in sorted(others)]
        return rows.take(np.lexsort((*reversed(keys), rows.group)))

    def __str__(self) -> str:
        return ", ".join(map(str, self.functions))


@dataclass(frozen=True)
class _Rows:
    """Rows of the groups, each with its number before and after the step."""

    group: NDArray[np.int64]
    old: NDArray[np.int64]
    new: NDArray[np.int64]
    values: tuple[pa.Array, ...]

    def take(self, rows: NDArray[np.int64]) -> _Rows:
        indices = numbers(rows)
        return _Rows(
            self.group[rows],
            self.old[rows],
            self.new[rows],
            tuple(gather(column, indices) for column in self.values),
        )

    def having(self, weights: NDArray[np.int64], groups: int) -> GroupRows:
        """The rows whose weight is positive."""
        there = weights > 0
        if there.all():
            return GroupRows(groups, self.group, weights, self.values)
        mask = pa.array(there)
        values = tuple(fitted(column.filter(mask)) for column in self.values)
        return GroupRows(groups, self.group[there], weights[there], values)


def _found(before: Sequence[Batch], batch: Batch, groups: Hashes) -> _Rows | None:
    """The rows of the groups, equal ones together; None if there are none."""
    matches = list(lookup_rows([*before, batch], groups))
    if not matches:
        return None
    group = np.concatenate([match.probe for match in matches])
    word = np.concatenate([match.batch.order[match.row] for match in matches])
    identity = np.concatenate(
        [match.batch.row_lo[match.row] for match in matches if match.batch.row_lo is not None]
    )
    new = np.concatenate([match.batch.weights[match.row] for match in matches])
    fresh = np.concatenate([np.full(len(match.row), match.batch is batch) for match in matches])
    old = np.where(fresh, 0, new)
    columns = zip(
        *([gather(column, numbers(m.row)) for column in m.batch.values] for m in matches), strict=True
    )
    rows = _Rows(group, old, new, tuple(concat(chunks) for chunks in columns))
    perm = np.lexsort((identity, word, group))
    same = (
        (group[perm[1:]] == group[perm[:-1]])
        & (word[perm[1:]] == word[perm[:-1]])
        & (identity[perm[1:]] == identity[perm[:-1]])
    )
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    old, new = np.add.reduceat(old[perm], starts), np.add.reduceat(new[perm], starts)
    first = perm[starts]
    alive = (old > 0) | (new > 0)
    kept = rows.take(first[alive])
    return _Rows(kept.group, old[alive], new[alive], kept.values)


def _columns(before: Sequence[Batch], batch: Batch) -> tuple[pa.Array, ...]:
    return next((part.values for part in before if len(part)), batch.values)


def _rank(values: pa.Array, order: Order) -> NDArray[np.int64]:
    rank = dense_rank(values, descending=order.descending)
    if values.null_count and order.nulls_first == order.descending:
        # NULL is the lowest value, first going up and last going down, unless the query says otherwise.
        null = values.is_null().to_numpy(zero_copy_only=False)
        rank[null] = -1 if order.nulls_first else rank.max(initial=0) + 1
    return rank
