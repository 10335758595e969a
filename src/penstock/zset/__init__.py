"""Z-set batches on Arrow: hashing, the algebra, exact sums, and the slow reference to test them against."""

from __future__ import annotations

from penstock.zset.exact import (
    ExactNumbers,
    carry,
    join_doubles,
    join_integers,
    nearest_quotients,
    nearest_roots,
    split_doubles,
    split_integers,
    split_products,
)
from penstock.zset.gather import GatheredColumns, gather, numbers
from penstock.zset.grouping import Groups, group_rows
from penstock.zset.hash import HASH_VERSION, Hashes, HashSeed, hash_columns, rows_differ
from penstock.zset.reference import ReferenceZSet
from penstock.zset.width import concat, contiguous, fitted, list_column, piecewise
from penstock.zset.zset import WEIGHT_COLUMN, Weights, ZSet

__all__ = [
    "HASH_VERSION",
    "WEIGHT_COLUMN",
    "ExactNumbers",
    "GatheredColumns",
    "Groups",
    "HashSeed",
    "Hashes",
    "ReferenceZSet",
    "Weights",
    "ZSet",
    "carry",
    "concat",
    "contiguous",
    "fitted",
    "gather",
    "group_rows",
    "hash_columns",
    "join_doubles",
    "join_integers",
    "list_column",
    "nearest_quotients",
    "nearest_roots",
    "numbers",
    "piecewise",
    "rows_differ",
    "split_doubles",
    "split_integers",
    "split_products",
]
