"""Values as numbers that are in the same order and equal where the values are.

So values of any type, nested ones included, are compared, sorted and looked for as integers are. The order is
Spark's: NULL is lowest and equals NULL, NaN is highest and equals NaN, -0.0 equals 0.0, texts go by bytes,
structs by their fields, arrays by their elements and then by their length. A rank means something only among
values that were ranked together. Cost: one sort of the distinct values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.functions.lists import Integers
from penstock.expr.functions.vectors import unpack
from penstock.trace.sort_key import Direction, sort_key

__all__ = ["pairs", "rank", "rank_together"]


def rank(values: pa.Array) -> Integers:
    """A number per value, 0 for NULL."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.int64)
    if pa.types.is_nested(kind):
        values = _keys(values)
    elif not (pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind)):
        return _machine(values)
    encoded = pc.dictionary_encode(values)
    order = np.asarray(pc.sort_indices(encoded.dictionary), np.int64)
    places = np.empty(len(order) + 1, np.int64)
    places[order] = np.arange(1, len(order) + 1)
    places[-1] = 0
    return places[np.asarray(encoded.indices.fill_null(-1), np.int64)]


def _keys(values: pa.Array) -> pa.Array:
    keys = sort_key([(values, Direction())], len(values))
    if not values.null_count:
        return keys
    return pc.if_else(pc.is_valid(values), keys, pa.scalar(None, keys.type))


def _machine(values: pa.Array) -> Integers:
    vector, valid = unpack(values)
    if vector.dtype.kind == "f":
        vector = vector + vector.dtype.type(0)
    _, places = np.unique(vector, return_inverse=True)
    return places + 1 if valid is None else np.where(valid, places + 1, 0)


def rank_together(arrays: Sequence[pa.Array]) -> list[Integers]:
    """The ranks of several arrays of one type, comparable with each other."""
    ranks = rank(pa.concat_arrays(arrays))
    return np.split(ranks, np.cumsum([len(array) for array in arrays])[:-1])


def pairs(rows: Integers, ranks: Integers) -> Integers:
    """One number for a row and a rank, the same only for the same two; ordered by row, then by rank.

    Ranks are dense, so the product stays far below 2^63 for any batch that fits into memory.
    """
    return rows * (int(ranks.max(initial=0)) + 1) + ranks
