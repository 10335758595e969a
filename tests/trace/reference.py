"""An arrangement the slow way: every question is answered by looking at every entry.

A batch is read back as plain entries, so what is compared is what the fast structures *mean*, never how they
lie in memory. :class:`ReferenceBatch` is one batch as a dictionary, with the operations that batches have.
Also here: how Spark orders values, and batches made from hashes chosen by hand (so that keys collide in the
half of the hash that sorts a batch).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.trace import Batch, build_batch
from penstock.trace.batch import HIGH
from penstock.trace.order import order_image
from penstock.zset import Hashes, HashSeed, hash_columns
from penstock.zset.reference import canonical

SEED = HashSeed(0x0123456789ABCDEF, 0xFEDCBA9876543210)

Identity = tuple[int, int, int | None]


@dataclass(frozen=True)
class Total:
    """What all entries of one identity add up to."""

    weight: int
    sums: tuple[tuple[str, int], ...]
    values: tuple[Hashable, ...]


def totals(batches: Iterable[Batch]) -> dict[Identity, Total]:
    """The arrangement as a dictionary; identities that add up to nothing are left out."""
    weights: dict[Identity, int] = {}
    sums: dict[Identity, dict[str, int]] = {}
    values: dict[Identity, tuple[Hashable, ...]] = {}
    for batch in batches:
        columns = [column.to_pylist() for column in batch.values]
        for i in range(len(batch)):
            row_lo = None if batch.row_lo is None else int(batch.row_lo[i])
            identity = (int(batch.order[i]), int(batch.key_lo[i]), row_lo)
            weights[identity] = weights.get(identity, 0) + int(batch.weights[i])
            parts = sums.setdefault(identity, {})
            for name, column in batch.sums.items():
                parts[name] = parts.get(name, 0) + int(column[i])
            values[identity] = tuple(canonical(column[i]) for column in columns)
    found = {}
    for identity, weight in weights.items():
        parts = tuple(sorted((name, total) for name, total in sums[identity].items() if total))
        if weight or parts:
            found[identity] = Total(weight, parts, values[identity])
    return found


def is_sorted_and_consolidated(batch: Batch) -> bool:
    """What every batch promises: sorted by word, no identity twice, no entry that is all zero."""
    identities = [_update(batch, i) for i in range(len(batch))]
    alive = batch.weights != 0
    for column in batch.sums.values():
        alive = alive | (column != 0)
    in_order = bool((batch.order[1:] >= batch.order[:-1]).all())
    return in_order and len(set(identities)) == len(identities) and bool(alive.all())


Pair = tuple[int, int]
"""The word and the lane of a key; or the step and the iteration of a time."""


class Update(NamedTuple):
    """What tells one row of a batch from another."""

    word: int
    lane: int
    row: int | None
    time: int | None

    @property
    def key(self) -> Pair:
        """Where rows have values, the low half of the word belongs to the value."""
        return (self.word if self.row is None else self.word >> 32 << 32, self.lane)


def _update(batch: Batch, i: int) -> Update:
    return Update(
        int(batch.order[i]),
        int(batch.key_lo[i]),
        None if batch.row_lo is None else int(batch.row_lo[i]),
        None if batch.times is None else int(batch.times[i]),
    )


@dataclass(frozen=True)
class ReferenceBatch:
    """A batch as a dictionary. Nothing in it depends on how rows are sorted or stored."""

    totals: dict[Update, Total]

    @staticmethod
    def of(batch: Batch) -> ReferenceBatch:
        """What a batch means, row by row."""
        batch = batch.whole()
        columns = [column.to_pylist() for column in batch.values]
        result: dict[Update, Total] = {}
        for i in range(len(batch)):
            sums = tuple(sorted((name, int(c[i])) for name, c in batch.sums.items() if c[i]))
            values = tuple(canonical(column[i]) for column in columns)
            _add(result, _update(batch, i), Total(int(batch.weights[i]), sums, values))
        return ReferenceBatch(result)

    def plus(self, other: ReferenceBatch) -> ReferenceBatch:
        """The sum of both."""
        result = dict(self.totals)
        for update, total in other.totals.items():
            _add(result, update, total)
        return ReferenceBatch(result)

    def all_keys(self) -> list[Pair]:
        """All keys, in order."""
        return sorted({update.key for update in self.totals})

    def where(self, stays: Callable[[Update, Total], bool]) -> ReferenceBatch:
        """The rows of which that is true."""
        return ReferenceBatch(
            {update: total for update, total in self.totals.items() if stays(update, total)}
        )

    def between(self, low: int, high: int) -> ReferenceBatch:
        """The rows of keys within two bounds, of which the bits count that keys have."""
        return self.where(
            lambda update, _: (low if update.row is None else low >> 32 << 32) <= update.key[0] <= high
        )

    def advanced(self, frontier: Sequence[Pair]) -> ReferenceBatch:
        """With every time replaced by the meet, over the frontier, of its joins with the frontier's times."""
        result: dict[Update, Total] = {}
        for update, total in self.totals.items():
            assert update.time is not None
            step, iteration = update.time >> 24, update.time % (1 << 24)
            joins = [(max(step, s), max(iteration, i)) for s, i in frontier]
            time = min(s for s, _ in joins) << 24 | min(i for _, i in joins)
            _add(result, update._replace(time=time), total)
        return ReferenceBatch(result)


def _add(totals: dict[Update, Total], update: Update, total: Total) -> None:
    """Adds a row; one that adds up to nothing is gone."""
    before = totals.pop(update, None)
    if before is not None:
        assert before.values == total.values
        sums = dict(before.sums)
        for name, number in total.sums:
            sums[name] = sums.get(name, 0) + number
        parts = tuple(sorted((name, number) for name, number in sums.items() if number))
        total = Total(before.weight + total.weight, parts, total.values)
    if total.weight or total.sums:
        totals[update] = total


def rows_of(batches: Iterable[Batch], hi: int, lo: int) -> dict[Identity, int]:
    """The rows of one key, by the half of ``hi`` that a batch is sorted by, and by ``lo``."""
    return {
        identity: total.weight
        for identity, total in totals(batches).items()
        if identity[0] >> 32 == hi >> 32 and identity[1] == lo and total.weight
    }


def first_of(batches: Iterable[Batch], hi: int, lo: int, *, descending: bool) -> Hashable:
    """The first value of one key with a positive total, or None."""
    present = [
        total.values[0]
        for identity, total in totals(batches).items()
        if identity[0] >> 32 == hi >> 32 and identity[1] == lo and total.weight > 0
    ]
    if not present:
        return None
    return max(present, key=spark_order) if descending else min(present, key=spark_order)


def spark_order(value: Any) -> tuple[bool, Any]:
    """A sort key that orders values (in canonical form) as Spark does: NaN last, strings by bytes."""
    if value == ("NaN",) or (isinstance(value, float) and math.isnan(value)):
        return (True, 0)
    return (False, value.encode() if isinstance(value, str) else value)


def hashes(pairs: Sequence[tuple[int, int]]) -> Hashes:
    """Hashes chosen by hand."""
    return Hashes(np.array([hi for hi, _ in pairs], np.uint64), np.array([lo for _, lo in pairs], np.uint64))


def ordered_batch(
    keys: Sequence[tuple[int, int]], values: pa.Array, weights: Sequence[int], *, descending: bool
) -> Batch:
    """An ordered batch of the values under the given keys, as min and max keep them."""
    if pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))  # one zero
    key = hashes(keys)
    return build_batch(
        (key.hi & HIGH) | order_image(values, descending=descending),
        key.lo,
        hash_columns([values], len(values), SEED).lo,
        np.array(weights, np.int64),
        (values,),
        ordered="descending" if descending else "ascending",
    )
