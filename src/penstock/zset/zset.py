"""Z-sets: rows with integer weights, held in Arrow columns.

Invariant: every column is one contiguous Arrow array of the schema's type (or its wide form if it is too
large: :mod:`.width`), as long as ``weights``. A Z-set represents the function "row -> sum of its weights", so
the same row may appear several times and in any order; :meth:`ZSet.consolidate` returns the form in which
each row appears once, with a nonzero weight. Everything is immutable and shares buffers where possible: only
``take``, ``filter``, ``concat`` and ``consolidate`` copy, and none of them if the result would be a full
copy. ``take`` copies lazily, when its columns are first used: wide rows that are selected and then
distributed to workers are copied once.

Cost: operations are linear in the rows; consolidation hashes and sorts (n log n, about 5 Mrow/s).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.zset.gather import gather, numbers
from penstock.zset.hash import Hashes, HashSeed, hash_columns
from penstock.zset.width import concat, contiguous, fitted, is_wide, narrow_pieces, wide_type

__all__ = ["WEIGHT_COLUMN", "Weights", "ZSet"]

WEIGHT_COLUMN = "_weight"

Weights = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ZSet:
    """Rows of ``schema`` (user columns only) and the weight of each."""

    schema: pa.Schema
    columns: tuple[pa.Array, ...]
    weights: Weights

    def __post_init__(self) -> None:
        types, size = self.schema.types, len(self.weights)
        if len(self.columns) != len(types):
            raise ValueError(f"{len(self.columns)} columns given for a schema of {len(types)}")
        if self.weights.dtype != np.int64:
            raise TypeError(f"weights are int64, not {self.weights.dtype}")
        for kind, column in zip(types, self.columns, strict=True):
            if not isinstance(column, pa.Array) or column.type != kind or len(column) != size:
                self._fit()
                return

    def _fit(self) -> None:
        """Accepts wide columns; raises an error about the first column that does not fit the schema."""
        columns = [fitted(c) if isinstance(c, pa.Array) else c for c in self.columns]
        object.__setattr__(self, "columns", tuple(columns))
        for field, column in zip(self.schema, self.columns, strict=True):
            if not isinstance(column, pa.Array):
                raise TypeError(f"column {field.name} is a {type(column).__name__}, not one Arrow array")
            if column.type not in (field.type, wide_type(field.type)):
                raise TypeError(f"column {field.name} is {column.type}, the schema says {field.type}")
            if len(column) != len(self.weights):
                raise ValueError(f"column {field.name}: {len(column)} rows for {len(self.weights)} weights")

    def _having(self, columns: Iterable[pa.Array], weights: Weights) -> ZSet:
        """Other rows of the same schema, made from this Z-set's and therefore well formed."""
        made = object.__new__(ZSet)
        made.__dict__.update(schema=self.schema, columns=tuple(columns), weights=weights)
        return made

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def empty(cls, schema: pa.Schema) -> ZSet:
        """The Z-set without rows: the zero of addition."""
        return _empty(schema)

    @classmethod
    def of(cls, rows: pa.RecordBatch | pa.Table, weights: int | Weights = 1) -> ZSet:
        """The rows of ``rows`` with the given weight or weights."""
        if isinstance(weights, int):
            weights = np.full(rows.num_rows, weights, np.int64)
        return cls(rows.schema, tuple(contiguous(column) for column in rows.columns), weights)

    @classmethod
    def concat(cls, schema: pa.Schema, parts: Sequence[ZSet]) -> ZSet:
        """The sum of all parts, unconsolidated. All have ``schema``'s column types; names come from it."""
        filled = [part for part in parts if len(part)]
        if not filled:
            return cls.empty(schema)
        if len(filled) == 1:
            return cls(schema, filled[0].columns, filled[0].weights)
        columns = tuple(concat(chunks) for chunks in zip(*(p.columns for p in filled), strict=True))
        return cls(schema, columns, np.concatenate([part.weights for part in filled]))

    def to_batches(self) -> list[pa.RecordBatch]:
        """The rows with the weights as their last column: one Arrow batch without copying, or as many as it
        takes for every column of each to have the schema's type."""
        schema = self.schema.append(pa.field(WEIGHT_COLUMN, pa.int64(), nullable=False))
        pieces = (
            narrow_pieces(self.columns, len(self))
            if any(map(is_wide, self.columns))
            else [(0, len(self), self.columns)]
        )
        return [
            pa.RecordBatch.from_arrays([*columns, numbers(self.weights[start:stop])], schema=schema)
            for start, stop, columns in pieces
        ]

    def take(self, indices: NDArray[np.integer]) -> ZSet:
        """The entries at ``indices``, in that order, with their weights."""
        taken = self.__dict__.get("_taken")
        if taken is None:
            columns, rows = self.columns, np.ascontiguousarray(indices, np.int64)
        else:
            columns, rows = taken[0], taken[1][indices]
        made = object.__new__(ZSet)
        made.__dict__.update(schema=self.schema, weights=self.weights[indices], _taken=(columns, rows))
        return made

    def __getattr__(self, name: str) -> tuple[pa.Array, ...]:
        """Only called for ``columns`` that :meth:`take` has not copied yet."""
        taken = self.__dict__.get("_taken")
        if name != "columns" or taken is None:
            if name in self.__dict__:  # another thread has just copied them
                return self.columns
            raise AttributeError(name)
        columns, rows = taken[0], numbers(taken[1])
        copied = tuple(gather(column, rows) for column in columns)
        self.__dict__.update(columns=copied, _taken=None)
        return copied

    def slice(self, start: int, stop: int) -> ZSet:
        """The entries from ``start`` up to ``stop``, without copying."""
        size = max(0, stop - start)
        return self._having((c.slice(start, size) for c in self.columns), self.weights[start:stop])

    def filter(self, mask: NDArray[np.bool_]) -> ZSet:
        """The entries for which ``mask`` is true."""
        if mask.all():
            return self
        wanted = pa.array(mask)
        return self._having((fitted(c.filter(wanted)) for c in self.columns), self.weights[mask])

    def with_weights(self, weights: Weights) -> ZSet:
        """The same rows under other weights."""
        made = object.__new__(ZSet)
        made.__dict__.update({**self.__dict__, "weights": weights})
        return made

    def negate(self) -> ZSet:
        """The additive inverse."""
        return self.with_weights(-self.weights)

    def add(self, other: ZSet) -> ZSet:
        """The sum, unconsolidated."""
        return ZSet.concat(self.schema, [self, other])

    def hashes(self, seed: HashSeed) -> Hashes:
        """The hash of every row over all columns."""
        return hash_columns(self.columns, len(self), seed)

    def consolidate(self, seed: HashSeed) -> ZSet:
        """The same Z-set with each row once and no zero weight.

        A row stays at the position where it first appeared, with the bits it had there (-0.0 or 0.0), so the
        result does not depend on the seed.
        """
        if len(self) < 2:
            return self.filter(self.weights != 0)
        weights = _merged_weights(self.hashes(seed), self.weights)
        kept = self.with_weights(weights)
        return kept.filter(weights != 0)


@lru_cache(maxsize=4096)  # most operators have an empty output in a small step
def _empty(schema: pa.Schema) -> ZSet:
    return ZSet(schema, tuple(pa.array([], kind) for kind in schema.types), np.empty(0, np.int64))


def _merged_weights(hashes: Hashes, weights: Weights) -> Weights:
    """Each entry's weight, or for equal hashes: the sum at the first of them and 0 at the others."""
    order, starts = _group(hashes)
    if len(starts) == len(order):
        return weights
    merged = np.zeros_like(weights)
    merged[np.minimum.reduceat(order, starts)] = np.add.reduceat(weights[order], starts)
    return merged


def _group(hashes: Hashes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """An order that makes equal hashes adjacent, and where each group starts in it."""
    order = np.argsort(hashes.hi)
    hi = hashes.hi[order]
    same_hi = hi[1:] == hi[:-1]
    if not same_hi.any():
        return order, np.arange(len(order))
    lo = hashes.lo[order]
    same_lo = lo[1:] == lo[:-1]
    if (same_hi & ~same_lo).any():
        # Different rows agree in 64 bits: extremely rare, but then ``lo`` has to be part of the order.
        order = np.lexsort((hashes.lo, hashes.hi))
        sorted_hashes = hashes.take(order)
        same_hi = sorted_hashes.hi[1:] == sorted_hashes.hi[:-1]
        same_lo = sorted_hashes.lo[1:] == sorted_hashes.lo[:-1]
    new = np.ones(len(order), np.bool_)
    np.logical_not(same_hi & same_lo, out=new[1:])
    return order, np.flatnonzero(new)
