"""Arrays as sets: distinct, union, intersection, difference, overlap.

Elements become ranks, so an element of a row is one number (:func:`~penstock.expr.functions.ranks.pairs`) and
all sets of a column are computed by the set operations of NumPy on these numbers. NULL counts as a value
like any other, except in ``arrays_overlap``, where it may or may not be the element that is looked for. Zeros
come out positive, as in Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.lists import Integers, Lists, relist, renamed
from penstock.expr.functions.ranks import pairs, rank
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, same_as_first, widest_nullability
from penstock.expr.functions.vectors import Mask, as_array, both, build
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []


class _Pair:
    """Two array columns whose elements are ranked together; rows that are NULL in either have none."""

    def __init__(self, call: Call, args: list[Value], length: int) -> None:
        kind = to_arrow(call.args[0].data_type)
        sides = [Lists(renamed(as_array(arg, length), kind)) for arg in args]
        self.valid = both(*(side.valid for side in sides))
        parents = [side.parents() for side in sides]
        elements = [side.elements() for side in sides]
        if self.valid is not None:
            kept = [self.valid[part] for part in parents]
            parents = [part[mask] for part, mask in zip(parents, kept, strict=True)]
            elements = [part.filter(pa.array(mask)) for part, mask in zip(elements, kept, strict=True)]
        self.split = len(parents[0])
        self.parents = np.concatenate(parents)
        self.elements = pa.concat_arrays(elements)
        self.ranks = rank(self.elements)
        self.numbers = pairs(self.parents, self.ranks)

    def arrays(self, chosen: Integers, length: int, data_type: t.DataType) -> pa.Array:
        """Arrays of the elements at ``chosen``, which are ordered by row."""
        lengths = np.bincount(self.parents[chosen], minlength=length)
        return relist(_positive(self.elements.take(pa.array(chosen))), lengths, self.valid, data_type)


def _positive(elements: pa.Array) -> pa.Array:
    if not pa.types.is_floating(elements.type):
        return elements
    return pc.add(elements, pa.scalar(0.0, elements.type))


def _first_of_each(numbers: Integers) -> Integers:
    """The positions at which numbers occur first, in order."""
    return np.sort(np.unique(numbers, return_index=True)[1])


@function("ArrayDistinct", result=same_as_first)
def distinct(call: Call, args: list[Value], length: int) -> Value:
    lists = Lists(as_array(args[0], length))
    parents, elements = lists.parents(), lists.elements()
    kept = _first_of_each(pairs(parents, rank(elements)))
    lengths = np.bincount(parents[kept], minlength=length)
    return relist(_positive(elements.take(pa.array(kept))), lengths, lists.valid, call.data_type)


def _union_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return widest_nullability(args[0].data_type, args[1].data_type)


@function("ArrayUnion", result=_union_type)
def union(call: Call, args: list[Value], length: int) -> Value:
    pair = _Pair(call, args, length)
    kept = _first_of_each(pair.numbers)
    return pair.arrays(kept[np.argsort(pair.parents[kept], kind="stable")], length, call.data_type)


@function("ArrayIntersect", "ArrayExcept", result=same_as_first)
def intersection(call: Call, args: list[Value], length: int) -> Value:
    """The elements of the first array, each once, that are in the second one, or that are not."""
    pair = _Pair(call, args, length)
    own, others = pair.numbers[: pair.split], pair.numbers[pair.split :]
    kept = _first_of_each(own)
    common = np.isin(own[kept], others)
    return pair.arrays(kept[common == (call.function == "ArrayIntersect")], length, call.data_type)


def _some(rows: Integers, length: int) -> Mask:
    mask = np.zeros(length, np.bool_)
    mask[rows] = True
    return mask


@function("ArraysOverlap", result=always(t.BooleanType()), nullable=True)
def overlap(call: Call, args: list[Value], length: int) -> Value:
    """Without a common element NULL if both arrays have elements and one of them has NULL among these."""
    pair = _Pair(call, args, length)
    own, others = pair.numbers[: pair.split], pair.numbers[pair.split :]
    common = np.isin(own, others) & (pair.ranks[: pair.split] > 0)
    found = _some(pair.parents[: pair.split][common], length)
    has_null = _some(pair.parents[pair.ranks == 0], length)
    filled = _some(pair.parents[: pair.split], length) & _some(pair.parents[pair.split :], length)
    return build(found, both(pair.valid, found | ~(has_null & filled)), pa.bool_())
