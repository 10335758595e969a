"""Arrays in order: sort_array, array_sort, array_max and array_min.

All arrays of a column are sorted by one sort of pairs of row and rank. Only where the query brings a
comparison of its own, as a lambda function, are elements compared in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.comparing import Compare, sort_lists
from penstock.expr.functions.lambdas import apply_lambda, lambda_of, like_first
from penstock.expr.functions.lists import Integers, Lists, element_of, relist
from penstock.expr.functions.ranks import pairs, rank
from penstock.expr.functions.registry import Rows, Value, function, lazy_function
from penstock.expr.functions.rules import same_as_first
from penstock.expr.functions.vectors import as_array, unpack
from penstock.expr.nodes import Call, Expr, Literal

__all__: list[str] = []


@function("SortArray", result=same_as_first)
def sort_array(call: Call, args: list[Value], length: int) -> Value:
    """NULLs come first in rising and last in falling order."""
    lists = Lists(as_array(args[0], length))
    elements, parents = lists.elements(), lists.parents()
    ranks = rank(elements)
    if not unpack(args[1])[0][0]:
        ranks = int(ranks.max(initial=0)) - ranks
    order = np.argsort(pairs(parents, ranks), kind="stable")
    return relist(elements.take(pa.array(order)), lists.lengths, lists.valid, call.data_type)


def _extreme_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return element_of(args[0].data_type)


@function("ArrayMax", "ArrayMin", result=_extreme_type, nullable=True)
def extreme(call: Call, args: list[Value], length: int) -> Value:
    """NULLs are passed over; of equal elements (-0.0 and 0.0) the first one is given."""
    lists = Lists(as_array(args[0], length))
    elements, parents = lists.elements(), lists.parents()
    ranks = rank(elements)
    present = np.flatnonzero(ranks)
    sought = ranks if call.function == "ArrayMin" else int(ranks.max(initial=0)) - ranks
    order = present[np.argsort(pairs(parents[present], sought[present]), kind="stable")]
    rows, first = np.unique(parents[order], return_index=True)
    place = np.zeros(length, np.int64)
    missing = np.ones(length, np.bool_)
    place[rows], missing[rows] = order[first], False
    return elements.take(pa.array(place, mask=missing))


@lazy_function("ArraySort", result=same_as_first, nullable=like_first, options=("allowNullComparisonResult",))
def array_sort(call: Call, rows: Rows) -> Value:
    """Sorted by a function that compares; without one NULLs come last."""
    lists = Lists(as_array(rows.value(call.args[0]), rows.length))
    compare = lambda_of(call.args[1])
    elements, parents = lists.elements(), lists.parents()
    if _shape(compare.args[0], compare.option("first")) in _NATURAL:
        ranks = rank(elements)
        ranks[ranks == 0] = int(ranks.max(initial=0)) + 1
        order = np.argsort(pairs(parents, ranks), kind="stable")
    else:
        order = sort_lists(lists.lengths, _comparison(compare, call, rows, elements))
    return relist(elements.take(pa.array(order)), lists.lengths, lists.valid, call.data_type)


_BY_VALUE = ("If", ("LessThan", "left", "right"), -1, ("If", ("GreaterThan", "left", "right"), 1, 0))
_NATURAL = (
    _BY_VALUE,
    (
        "If",
        ("And", ("IsNull", "left"), ("IsNull", "right")),
        0,
        ("If", ("IsNull", "left"), 1, ("If", ("IsNull", "right"), -1, _BY_VALUE)),
    ),
)
"""The comparison that Spark puts where the query has none; without NULLs only its last part is left."""


def _shape(expr: Expr, first: int) -> Any:
    """The functions, constants and variables of a comparison."""
    if isinstance(expr, Literal):
        return expr.value
    if not isinstance(expr, Call):
        return None
    if expr.function == "NamedLambdaVariable":
        return {first: "left", first + 1: "right"}.get(expr.option("number"))
    return (expr.function, *(_shape(arg, first) for arg in expr.args))


def _comparison(compare: Call, call: Call, rows: Rows, elements: pa.Array) -> Compare:
    """The lambda function as a comparison of elements by their places."""

    def ask(lists: Integers, left: Integers, right: Integers) -> Integers:
        values = [elements.take(pa.array(side)) for side in (left, right)]
        outcome, valid = unpack(apply_lambda(compare, rows, lists, values))
        if valid is None:
            return outcome.astype(np.int64)
        if not call.option("allowNullComparisonResult"):
            text = "the comparing function gave NULL"
            raise EvaluationError("COMPARATOR_RETURNS_NULL", text, expression=str(call))
        return np.where(valid, outcome, 0).astype(np.int64)

    return ask
