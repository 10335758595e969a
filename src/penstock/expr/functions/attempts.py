"""``TryEval``: an expression whose failure on a row is NULL on that row.

Functions that support the TRY mode use it, so that they fail for no row. Other failures, in the function or
in its arguments, are found by bisection: a batch of n rows of which b fail is evaluated about b log n times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.lists import renamed
from penstock.expr.functions.registry import TRY, Rows, Value, lazy_function, lookup
from penstock.expr.functions.vectors import as_array
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []


def _child_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return args[0].data_type


@lazy_function("TryEval", result=_child_type, nullable=True)
def attempt(call: Call, rows: Rows) -> Value:
    """Declared as never raising: what is inside may, and is caught."""
    child = call.args[0]
    declared = lookup(child.function) if isinstance(child, Call) else None
    if isinstance(child, Call) and declared is not None and declared.moded:
        options = {**dict(child.options), "mode": TRY}
        child = replace(child, options=tuple(sorted(options.items())))
    try:
        return rows.value(child)
    except EvaluationError:
        kind = to_arrow(call.data_type)
        return pa.concat_arrays(_halves(child, rows, np.arange(rows.length), kind))


def _halves(child: Expr, rows: Rows, chosen: Any, kind: pa.DataType) -> list[pa.Array]:
    try:
        return [renamed(as_array(rows.at(chosen).value(child), len(chosen)), kind)]
    except EvaluationError:
        if len(chosen) == 1:
            return [pa.nulls(1, kind)]
        middle = len(chosen) // 2
        return _halves(child, rows, chosen[:middle], kind) + _halves(child, rows, chosen[middle:], kind)
