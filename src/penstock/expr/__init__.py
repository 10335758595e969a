"""Scalar expressions: their trees, their types, their functions, and how they are evaluated."""

from __future__ import annotations

from penstock.expr.catalyst import expression_from_json
from penstock.expr.evaluate import Evaluator, evaluate, may_raise
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.expr.types import to_arrow, type_from_json

__all__ = [
    "Call",
    "Column",
    "Evaluator",
    "Expr",
    "Literal",
    "evaluate",
    "expression_from_json",
    "may_raise",
    "to_arrow",
    "type_from_json",
]
