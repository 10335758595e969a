"""Which columns of views hold sums of floating-point numbers, or something computed from them.

Spark adds doubles in the order in which its tasks deliver them, so the last digits of such a column differ
from run to run and are compared with a tolerance. In every other column the last bit counts. Columns are
followed through the plan: what is computed from a sum, grouped by it or picked out of such sums counts too.
Whether a row is there at all may depend on a sum too (``WHERE avg(x) > 1``); that makes no column inexact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pyspark.sql.types import DataType, DoubleType, FloatType

from penstock.expr.nodes import Expr, columns_read
from penstock.sql import plan as p
from penstock.sql.catalog import Catalog

__all__ = ["floating_sums"]

Flags: TypeAlias = tuple[bool, ...]
"""For each output column of a plan whether it is computed from a sum of floating-point numbers."""

_FLOATING = (DoubleType, FloatType)
_SUMS = frozenset(
    {"Sum", "Average", "VariancePop", "VarianceSamp", "StddevPop", "StddevSamp", "Skewness", "Kurtosis"}
    | {"CovPopulation", "CovSample", "Corr", "RegrReplacement", "RegrSXY", "RegrSlope", "RegrIntercept"}
    | {"RegrR2"}
)
"""The aggregate functions that add their arguments, or products of them; as doubles if the answer is one."""


def floating_sums(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """By view, the FLOAT and DOUBLE columns that are computed from sums of such numbers."""
    flags: dict[str, Flags] = {}
    found: dict[str, tuple[str, ...]] = {}
    for view in catalog.views.values():  # each after those it reads
        flags[view.name] = _flags(view.plan, flags)
        columns = zip(view.schema.fields, flags[view.name], strict=True)
        found[view.name] = tuple(f.name for f, summed in columns if summed and _floating(f.dataType))
    return found


def _floating(kind: DataType) -> bool:
    return isinstance(kind, _FLOATING)


def _flags(plan: p.Plan, views: Mapping[str, Flags]) -> Flags:
    if isinstance(plan, p.Scan):
        return views.get(plan.table, (False,) * len(plan.schema))
    if isinstance(plan, p.Values):
        return (False,) * len(plan.schema)
    if isinstance(plan, p.Union):
        return tuple(map(any, zip(*(_flags(child, views) for child in plan.children), strict=True)))
    if isinstance(plan, p.Join):
        left, right = _flags(plan.left, views), _flags(plan.right, views)
        both = left if plan.kind in ("semi", "anti", "existence") else left + right
        return both + (False,) * (len(plan.schema) - len(both))
    assert isinstance(plan, _UNARY), type(plan)
    child = _flags(plan.child, views)
    if isinstance(plan, p.Project):
        return _computed(plan.exprs, child)
    if isinstance(plan, p.Aggregate):
        return _computed(plan.keys, child) + _called(plan.calls, child)
    if isinstance(plan, p.Window):
        return child + _called(plan.calls, child)
    if isinstance(plan, p.SessionParts):
        extremes = [expr for expr, _ in plan.extremes]
        return _computed([*plan.keys, plan.start, plan.end, *extremes], child)
    if isinstance(plan, (p.Generate, p.Repeat)):
        kept = tuple(child[column] for column in plan.keep)
        made = isinstance(plan, p.Generate) and _reads((plan.array,), child)
        return kept + (made,) * (len(plan.schema) - len(kept))
    return child + (False,) * (len(plan.schema) - len(child))


_UNARY = (
    *(p.Project, p.Filter, p.Aggregate, p.Distinct, p.SingleRow, p.TopK, p.Window),
    *(p.Sessions, p.SessionParts, p.Generate, p.Repeat),
)


def _reads(exprs: Iterable[Expr], child: Flags) -> bool:
    return any(child[column] for column in columns_read(*exprs))


def _computed(exprs: Iterable[Expr], child: Flags) -> Flags:
    return tuple(_reads((expr,), child) for expr in exprs)


def _called(calls: Iterable[p.AggregateCall | p.WindowCall], child: Flags) -> Flags:
    return tuple(
        (call.function in _SUMS and _floating(call.data_type)) or _reads(call.args, child) for call in calls
    )
