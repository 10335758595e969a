"""Importing APPROX_COUNT_DISTINCT: which sketch Spark would make, and its tables.

The precision follows from the relative error that the query allows. The tables with which the estimate is
corrected are asked of Spark, so they are those of the Spark that the view is compared with; they are part of
the plan, and a Spark that corrects differently gives another plan.
"""

from __future__ import annotations

import math
from typing import Any

from pyspark.sql.types import BooleanType, LongType

from penstock.expr.functions import lookup
from penstock.expr.nodes import Call, Expr
from penstock.sql.imported import conjunction, normalised
from penstock.sql.tree import Node

__all__ = ["SKETCHED", "register_of", "sketch_options", "values_only"]

SKETCHED = "HyperLogLogPlusPlus"
_HELPER = "org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper$"
_SEED = 42
_CORRECTED_BELOW = 19
_TABLES: dict[int, tuple[tuple[float, ...], tuple[float, ...], float]] = {}


def register_of(value: Expr, function: Node) -> Expr:
    """The register of a value, with what it leaves there."""
    hashing = lookup("XxHash64")
    assert hashing is not None
    seed = {"seed": _SEED}
    one_form = normalised(value)
    hashed = Call(hashing.result([one_form], seed), False, "XxHash64", (one_form,), tuple(seed.items()))
    options = (("precision", _precision(function)),)
    return Call(LongType(), False, "HyperLogLogRegister", (hashed,), options)


def values_only(value: Expr, where: Expr | None) -> Expr | None:
    """The condition under which a row counts: NULL does not."""
    tests = [] if where is None else [where]
    if value.nullable:
        tests.append(Call(BooleanType(), False, "IsNotNull", (value,)))
    return conjunction(tests)


def sketch_options(function: Node) -> dict[str, Any]:
    """The precision of the sketch and the tables that go with it."""
    precision = _precision(function)
    estimates, biases, threshold = _tables(precision, function)
    return {"precision": precision, "estimates": estimates, "biases": biases, "threshold": threshold}


def _precision(function: Node) -> int:
    allowed = float(function.completed["relativeSD"])
    return math.ceil(2.0 * math.log(1.106 / allowed) / math.log(2.0))


def _tables(precision: int, function: Node) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    if precision >= _CORRECTED_BELOW:
        return (), (), 0.0
    if precision not in _TABLES:
        helper = function.twin().getClass().getClassLoader().loadClass(_HELPER).getField("MODULE$").get(None)
        place = precision - 4
        estimates, biases = helper.RAW_ESTIMATE_DATA()[place], helper.BIAS_DATA()[place]
        _TABLES[precision] = (
            tuple(float(item) for item in estimates),
            tuple(float(item) for item in biases),
            float(helper.THRESHOLDS()[place]),
        )
    return _TABLES[precision]
