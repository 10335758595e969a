"""``aggregate`` (also called ``reduce``): an array folded into one value, element by element.

Each element needs the result of the one before, so there is a loop, but over positions and not over rows: the
first elements of all arrays are merged in one evaluation, then the second ones, and so on. Rows are ordered
by falling length, so the rows that still have an element are always the first ones, and the work is in
proportion to the number of elements, plus a constant per position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.lambdas import apply_lambda, lambda_of
from penstock.expr.functions.lists import Integers, Lists, renamed
from penstock.expr.functions.logic import scatter
from penstock.expr.functions.registry import Rows, Value, lazy_function
from penstock.expr.functions.vectors import as_array
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []


def _result(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return args[3].data_type


def _nullable(args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
    return args[0].nullable or args[3].nullable


@lazy_function("ArrayAggregate", result=_result, nullable=_nullable)
def aggregate(call: Call, rows: Rows) -> Value:
    """Arguments: the array, the value to begin with, the merging function and the finishing one."""
    array, zero, merge, finish = call.args
    lists = Lists(as_array(rows.value(array), rows.length))
    chosen = np.arange(rows.length) if lists.valid is None else np.flatnonzero(lists.valid)
    chosen = chosen[np.argsort(-lists.lengths[chosen], kind="stable")]
    beginning = renamed(as_array(rows.at(chosen).value(zero), len(chosen)), to_arrow(zero.data_type))
    folded = _folded(lambda_of(merge), lists, chosen, beginning, rows)
    finished = apply_lambda(lambda_of(finish), rows, chosen, [folded])
    return scatter(finished, chosen, rows.length)


def _folded(merge: Call, lists: Lists, chosen: Integers, value: pa.Array, rows: Rows) -> pa.Array:
    """The merged values of the rows ``chosen``, which are in the order of falling length."""
    lengths = lists.lengths[chosen]
    done: list[pa.Array] = []
    for position in range(int(lengths.max(initial=0))):
        active = int(np.searchsorted(-lengths, -position))
        done.append(value.slice(active))
        kept = chosen[:active]
        elements = lists.values.take(pa.array(lists.starts[kept] + position))
        merged = apply_lambda(merge, rows, kept, [value.slice(0, active), elements])
        value = renamed(merged, value.type)
    return pa.concat_arrays([value, *reversed(done)])
