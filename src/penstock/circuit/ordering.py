"""Rows in the order of a query: what top-k and window operators keep.

An arrangement of rows by key, and within a key by sort keys; ties are broken by the values of all columns,
from the first to the last (ascending, NULL first), so that the order is total and depends only on the rows.
The first value of a batch is the sort key (:mod:`penstock.trace.sort_key`), the others are the row's columns.
The sort key is that of the whole row where rows are searched by it, and otherwise of the ORDER BY alone,
which is shorter: ties are then broken where they occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.delta import Delta
from penstock.trace import Batch, build_batch
from penstock.trace.batch import HIGH
from penstock.trace.sort_key import Direction, image_of, joined, sort_key
from penstock.zset import Hashes

__all__ = ["OrderBy", "Ordering", "distinct_keys"]

Words = NDArray[np.uint64]

_PLAIN = Direction()


@dataclass(frozen=True)
class OrderBy:
    """By the column at ``ordinal``."""

    ordinal: int
    descending: bool = False
    nulls_first: bool = True

    @property
    def direction(self) -> Direction:
        """Without the column."""
        return Direction(self.descending, self.nulls_first)

    def text(self, names: Sequence[str]) -> str:
        """As in a query; ``names`` are those of the row's columns."""
        default = self.nulls_first != self.descending
        nulls = "" if default else f" nulls {'first' if self.nulls_first else 'last'}"
        return f"{names[self.ordinal]}{' desc' if self.descending else ''}{nulls}"


@dataclass(frozen=True)
class Ordering:
    """An ORDER BY over the columns of a row."""

    items: tuple[OrderBy, ...]

    def key(self, columns: Sequence[pa.Array], length: int) -> pa.Array:
        """The part of the sort key that belongs to the ORDER BY: equal for peers."""
        return sort_key([(columns[item.ordinal], item.direction) for item in self.items], length)

    def batch(self, delta: Delta, apart: Hashes, *, whole: bool) -> Batch:
        """The change, indexed by key, as a batch of the arrangement; ``apart`` distinguishes its rows. The
        sort key is that of the ``whole`` row or of the ORDER BY alone."""
        columns, length = delta.zset.columns, len(delta)
        key = self.key(columns, length)
        if whole:
            given = {item.ordinal for item in self.items}
            rest = sort_key([(column, _PLAIN) for i, column in enumerate(columns) if i not in given], length)
            key = joined([key, rest], length)
        words, values = self.words(delta), (key, *columns)
        return build_batch(words, delta.index.lo, apart.lo, delta.zset.weights, values, ordered="ascending")

    def words(self, delta: Delta) -> Words:
        """The rows' order words."""
        return (delta.index.hi & HIGH) | self.image(delta.zset.columns, len(delta))

    def image(self, columns: Sequence[pa.Array], length: int) -> Words:
        """The low half of the rows' order words."""
        if self.items:
            return image_of(columns[self.items[0].ordinal], self.items[0].direction)
        return image_of(columns[0], _PLAIN) if columns else np.zeros(length, np.uint64)

    def text(self, names: Sequence[str]) -> str:
        """As in a query; ``names`` are those of the row's columns."""
        return ", ".join(item.text(names) for item in self.items) or "all columns"


def distinct_keys(keys: Hashes) -> Hashes:
    """Each key once."""
    batch = build_batch(keys.hi, keys.lo, None, np.ones(len(keys), np.int64))
    return Hashes(batch.order, batch.key_lo)
