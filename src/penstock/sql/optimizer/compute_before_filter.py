"""What a filter and the projection above it both compute is computed once, before the filter.

``project(f(c(a)), filter(p(c(a)), x))`` becomes ``project(f(c), filter(p(c), project(x, c(a), x)))``. The
filter copies one more column, which costs less than computing it again. Conditions are left out: they cost no
more than the copy. So is what may fail, unless the filter computes it for every row: one part of a filter may
keep another from rows on which it would fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pyspark.sql.types import BooleanType

from penstock.expr.functions.registry import lookup, may_raise
from penstock.expr.nodes import Call, Column, Expr
from penstock.sql.plan import Field, Filter, Plan, Project
from penstock.sql.planning.stream import column

__all__ = ["compute_before_filter"]

_FIRST_ALWAYS = frozenset({"And", "Or", "CaseWhen", "If", "Coalesce"})
"""Functions that choose between their arguments by the first, or take it."""


def compute_before_filter(plan: Plan) -> Plan:
    """Applies to a projection over a filter that computes something which the projection computes, too."""
    if not isinstance(plan, Project) or not isinstance(plan.child, Filter):
        return plan
    child, predicate = plan.child.child, plan.child.predicate
    certain = frozenset(_calls(predicate, certain=True))
    known = certain | {call for call in _calls(predicate) if not may_raise(call)}
    common = list(dict.fromkeys(call for expr in plan.exprs for call in _outermost(expr, known)))
    if not common:
        return plan
    width = len(child.schema)
    schema = (*child.schema, *(Field(str(call), call.data_type, call.nullable) for call in common))
    computed = Project(schema, child, (*(column(i, field) for i, field in enumerate(child.schema)), *common))
    places: Mapping[Expr, Column] = {
        call: column(width + i, schema[width + i]) for i, call in enumerate(common)
    }
    return Project(
        plan.schema,
        Filter(schema, computed, _replaced(predicate, places)),
        tuple(_replaced(expr, places) for expr in plan.exprs),
    )


def _calls(expr: Expr, *, certain: bool = False) -> Iterator[Call]:
    """The calls in an expression, those in lambda functions excepted: they are about elements, not rows. Or
    only those which are certain to be computed for every row."""
    if not isinstance(expr, Call) or expr.function == "LambdaFunction":
        return
    yield expr
    function = lookup(expr.function)
    chooses = function is None or function.lazy is not None
    for arg in expr.args[: (expr.function in _FIRST_ALWAYS) if certain and chooses else None]:
        yield from _calls(arg, certain=certain)


def _outermost(expr: Expr, known: frozenset[Call]) -> Iterator[Call]:
    """The calls in ``expr`` that are known and worth a column; not those inside of another such call."""
    if not isinstance(expr, Call) or expr.function == "LambdaFunction":
        return
    if expr in known and not isinstance(expr.data_type, BooleanType):
        yield expr
        return
    for arg in expr.args:
        yield from _outermost(arg, known)


def _replaced(expr: Expr, places: Mapping[Expr, Column]) -> Expr:
    if expr in places:
        return places[expr]
    if isinstance(expr, Call):
        return replace(expr, args=tuple(_replaced(arg, places) for arg in expr.args))
    return expr
