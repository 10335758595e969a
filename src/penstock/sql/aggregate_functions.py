"""The supported aggregate functions, and those that cannot be supported.

:data:`AGGREGATES` lists Catalyst's classes with the fields of a call that determine its result; they become
options of an :class:`~penstock.sql.plan.AggregateCall`. What is not listed is rejected, with a reason.
Functions whose result depends on the order of rows get one in :mod:`penstock.sql.unordered`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from penstock.errors import UnsupportedQuery
from penstock.expr.nodes import Expr, Literal
from penstock.sql.imported import Imported, ImportScope
from penstock.sql.refusals import place_of, refuse_expression, text_of
from penstock.sql.sketches import SKETCHED, register_of, sketch_options, values_only
from penstock.sql.tree import Node

__all__ = [
    "AGGREGATES",
    "REFUSED",
    "VALUES",
    "read_call",
]

AGGREGATES: Mapping[str, tuple[str, ...]] = {
    "Count": (),
    "Sum": ("evalMode",),
    "Average": ("evalMode",),
    "Min": (),
    "Max": (),
    "MinBy": (),
    "MaxBy": (),
    "MaxMinByK": ("reverse",),
    "First": (),
    "Last": (),
    "BitAndAgg": (),
    "BitOrAgg": (),
    "BitXorAgg": (),
    "VariancePop": ("nullOnDivideByZero",),
    "VarianceSamp": ("nullOnDivideByZero",),
    "StddevPop": ("nullOnDivideByZero",),
    "StddevSamp": ("nullOnDivideByZero",),
    "Skewness": ("nullOnDivideByZero",),
    "Kurtosis": ("nullOnDivideByZero",),
    "CovPopulation": ("nullOnDivideByZero",),
    "CovSample": ("nullOnDivideByZero",),
    "Corr": ("nullOnDivideByZero",),
    "RegrReplacement": (),
    "RegrSXY": (),
    "RegrSlope": (),
    "RegrIntercept": (),
    "RegrR2": (),
    "CollectList": ("ignoreNulls",),
    "CollectSet": ("ignoreNulls",),
    "ListAgg": (),
    "Percentile": ("reverse",),
    "PercentileDisc": ("reverse",),
    "ApproximatePercentile": (),
    "Mode": ("reverseOpt",),
    "PivotFirst": (),
    SKETCHED: (),
}
"""The supported aggregate functions, each with the fields of Catalyst's JSON that are its options."""

VALUES = frozenset({"Min", "Max", "MinBy", "MaxBy", "MaxMinByK", "CollectList", "CollectSet", "Mode"})
"""The functions whose result is one of the values themselves, or several."""

_SKETCH = "its answer is an estimate from a sketch, which cannot forget a deleted row"

REFUSED: Mapping[str, tuple[str, str]] = {
    "HllSketchAgg": (_SKETCH, "Use count(DISTINCT …), which is exact"),
    "HllUnionAgg": (_SKETCH, "Use count(DISTINCT …), which is exact"),
    "ThetaSketchAgg": (_SKETCH, "Use count(DISTINCT …), which is exact"),
    "CountMinSketchAgg": (_SKETCH, "Use count(*) with GROUP BY, which is exact"),
    "KllSketchAggBigint": (_SKETCH, "Use percentile(…), which is exact"),
    "KllSketchAggDouble": (_SKETCH, "Use percentile(…), which is exact"),
    "KllSketchAggFloat": (_SKETCH, "Use percentile(…), which is exact"),
    "TupleSketchAggDouble": (_SKETCH, "Use count(DISTINCT …) and sum(…), which are exact"),
    "TupleSketchAggInteger": (_SKETCH, "Use count(DISTINCT …) and sum(…), which are exact"),
    "ApproxTopK": (_SKETCH, "Use count(*) with GROUP BY, which is exact"),
    "ApproxTopKAccumulate": (_SKETCH, "Use count(*) with GROUP BY, which is exact"),
    "HistogramNumeric": (
        "its bins depend on the order in which rows arrive",
        "Use width_bucket(…) and count(*) with GROUP BY, or percentile(…)",
    ),
}
"""The functions that cannot be kept up to date, with the reason and what to write instead."""

_CONSTANT: Mapping[str, tuple[int, ...]] = {
    "ListAgg": (1,),
    "Percentile": (1,),
    "PercentileDisc": (1,),
    "ApproximatePercentile": (1, 2),
    "MaxMinByK": (2,),
}
"""The arguments that must be literals."""


class Read(NamedTuple):
    """What a call of an aggregate function consists of."""

    function: Node
    args: tuple[Expr, ...]
    options: tuple[tuple[str, Any], ...]
    where: Expr | None


def read_call(scope: ImportScope, call: Node, child: Imported) -> Read:
    """An ``AggregateExpression`` over ``child``; raises if its function is not supported in this form."""
    function, *filters = call.children
    _check(scope, call, function)
    args = _arguments(scope, call, function, child)
    where = scope.expr(filters[0], child.columns) if filters else None
    if function.kind == SKETCHED:
        args, where = (register_of(args[0], function),), values_only(args[0], where)
    return Read(function, args, _options(scope, function), where)


def _check(scope: ImportScope, call: Node, function: Node) -> None:
    """Raises if the function of a call is not supported, or not in this form."""
    kind, name = function.kind, function.twin().prettyName()
    if kind not in AGGREGATES:
        refuse_expression(function, scope.view)
        reason, advice = REFUSED.get(kind, ("not supported yet", ""))
        raise _refused(scope, call, f"the aggregate function {name}", reason, advice)
    if kind == "PercentileDisc" and function.fields.get("legacyCalculation"):
        advice = "Set spark.sql.legacy.percentileDiscCalculation to false"
        raise _refused(scope, call, name, "the legacy calculation is not supported", advice)


def _arguments(scope: ImportScope, call: Node, function: Node, child: Imported) -> tuple[Expr, ...]:
    """The arguments of a call over its input; an ORDER BY item is the expression it orders by."""
    nodes = [arg.children[0] if arg.kind == "SortOrder" else arg for arg in function.children]
    args = tuple(scope.expr(arg, child.columns) for arg in nodes)
    for position in _CONSTANT.get(function.kind, ()):
        if not isinstance(args[position], Literal):
            reason = f"{text_of(nodes[position])} is not a constant here"
            raise _refused(scope, call, function.twin().prettyName(), reason, "Write it as a literal")
    return args


def _options(scope: ImportScope, function: Node) -> tuple[tuple[str, Any], ...]:
    """The options of a call: what determines its result besides its arguments."""
    fields = function.completed
    found = {name: fields.get(name) for name in AGGREGATES[function.kind]}
    if "evalMode" in found:
        found["mode"] = found.pop("evalMode")
    order = tuple(_direction(arg) for arg in function.children if arg.kind == "SortOrder")
    if order:
        found["order"] = order
    if function.kind == SKETCHED:
        found.update(sketch_options(function))
    if function.kind == "PivotFirst":
        found["values"] = tuple(_pivot_values(scope, function))
    return tuple(sorted((name, value) for name, value in found.items() if value is not None))


def _pivot_values(scope: ImportScope, function: Node) -> Iterator[Any]:
    """The values that become PIVOT's columns, which Catalyst keeps only in its internal form."""
    values = function.twin().pivotColumnValues()
    live_type = function.twin().pivotColumn().dataType()
    kind = json.loads(live_type.json())
    for value in (values.apply(i) for i in range(values.size())):
        text = str(value).lower() if isinstance(value, bool) else value
        if text is not None and not isinstance(text, str):
            text = str(text.toString()) if hasattr(text, "toString") else str(text)
        fields = {"class": "Literal", "num-children": 0, "value": text, "dataType": kind}
        literal = scope.expr(Node("Literal", fields, (), partial(_Held, value, live_type)), {})
        assert isinstance(literal, Literal)
        yield literal.value


@dataclass(frozen=True)
class _Held:
    """Wraps a value where a literal of the JVM is expected."""

    held: Any
    kind: Any

    def value(self) -> Any:
        """The value."""
        return self.held

    def dataType(self) -> Any:  # noqa: N802 - Catalyst's name
        """The value's type, as Catalyst's object."""
        return self.kind


def _refused(scope: ImportScope, call: Node, construct: str, reason: str, advice: str) -> UnsupportedQuery:
    return UnsupportedQuery(construct, place=place_of(call, scope.view), reason=reason, advice=advice)


def _direction(order: Node) -> tuple[bool, bool]:
    """Whether an ORDER BY item ascends, and whether it has NULLs first."""
    names = [order.fields[field]["object"] for field in ("direction", "nullOrdering")]
    return names[0].endswith(".Ascending$"), names[1].endswith(".NullsFirst$")
