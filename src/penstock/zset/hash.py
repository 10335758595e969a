"""The stable, keyed 128-bit hash of rows and keys.

Invariant: two rows have the same hash exactly when Spark's grouping calls them equal (NULL equals NULL,
-0.0 equals 0.0, all NaN are one value, a decimal is its value), up to a chance of about n^2 / 2^129.
The hash depends on the values, their column positions and the seed, and on nothing else: not on chunking,
slicing, dictionary encoding or the width of an integer column. It decides identity and placement on disk, so
it never changes within a ``HASH_VERSION``; golden values pin it.

All bits of both lanes are equally good, so a caller may cut any part out (a shard from the top of ``hi``).

Cost per row and column: one 64-bit word, mixed once for each lane; strings add one mix per eight bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.zset.hash_mix import HASH_VERSION, HashSeed, UInt64s, lane_keys, mix
from penstock.zset.hash_words import add_mixed, words_of

__all__ = ["HASH_VERSION", "HashSeed", "Hashes", "hash_columns", "rows_differ"]


@dataclass(frozen=True, eq=False)
class Hashes:
    """One 128-bit hash per row, as two columns of 64 bits."""

    hi: UInt64s
    lo: UInt64s

    def __len__(self) -> int:
        return len(self.hi)

    def take(self, indices: NDArray[np.integer]) -> Hashes:
        """The hashes at ``indices``, in that order."""
        return Hashes(self.hi[indices], self.lo[indices])

    @staticmethod
    def concat(parts: Sequence[Hashes]) -> Hashes:
        """All parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        none = [np.empty(0, np.uint64)]
        return Hashes(
            np.concatenate([p.hi for p in parts] or none), np.concatenate([p.lo for p in parts] or none)
        )


def hash_columns(columns: Sequence[pa.Array], length: int, seed: HashSeed) -> Hashes:
    """The hash of each of ``length`` rows over ``columns``; with no column, every row has the same hash."""
    lanes = lane_keys(seed)
    hi, lo = lanes
    totals = (np.empty(length, np.uint64), np.empty(length, np.uint64))
    totals[0].fill(hi.start)
    totals[1].fill(lo.start)
    for position, column in enumerate(columns):
        if len(column) != length:
            raise ValueError(f"column {position} has {len(column)} rows, expected {length}")
        keys = (hi.position_key(hi.column_base, position), lo.position_key(lo.column_base, position))
        add_mixed(totals, words_of(column, lanes), lanes, keys)
    for total, lane in zip(totals, lanes, strict=True):
        mix(total, lane.mixing)
    return Hashes(*totals)


def rows_differ(
    one: Sequence[pa.Array], other: Sequence[pa.Array], length: int, seed: HashSeed
) -> NDArray[np.bool_]:
    """Where rows differ column by column: what comparing their hashes would say, without mixing."""
    lanes = lane_keys(seed)
    differ = np.zeros(length, np.bool_)
    for a, b in zip(one, other, strict=True):
        left, right = words_of(a, lanes), words_of(b, lanes)
        unequal = left.hi != right.hi
        if left.hi is not left.lo or right.hi is not right.lo:
            unequal |= left.lo != right.lo
        if left.nulls is not None or right.nulls is not None:
            left_null = left.nulls if left.nulls is not None else np.False_
            right_null = right.nulls if right.nulls is not None else np.False_
            unequal = np.where(left_null | right_null, left_null != right_null, unequal)
        differ |= unequal
    return differ
