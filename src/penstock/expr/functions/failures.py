"""Errors that a query raises on purpose: ``raise_error`` and ``assert_true``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.registry import Rows, Value, lazy_function
from penstock.expr.nodes import Call, Expr, Literal
from penstock.expr.types import to_arrow

__all__: list[str] = []


def _result(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    kind = options["dataType"]
    assert isinstance(kind, t.DataType)
    return kind


@lazy_function("RaiseError", result=_result, options=("dataType",), nullable=True, raises=True)
def raise_error(call: Call, rows: Rows) -> Value:
    """Fails for the first row that gets here; no row, no error."""
    if rows.length == 0:
        return pa.scalar(None, to_arrow(call.data_type))
    condition, details = call.args[0], call.args[1]
    name = str(condition.value) if isinstance(condition, Literal) else "USER_RAISED_EXCEPTION"
    values = dict(details.value) if isinstance(details, Literal) and details.value else {}
    if not values:
        shown = rows.value(details)
        first = shown.as_py() if isinstance(shown, pa.Scalar) else shown[0].as_py()
        values = dict(first or {})
    message = re.sub(r"\s+", " ", "; ".join(str(value) for value in values.values()))
    raise EvaluationError(name, message or "the query raised an error", expression=str(call))
