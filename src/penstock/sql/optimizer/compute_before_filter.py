"""A common subexpression of a filter and the projection above it is evaluated once, before the filter.

``project(f(c(a)), filter(p(c(a)), x))`` becomes ``project(f(c), filter(p(c), project(x, c(a), x)))``. The
filter copies one more column, which costs less than computing it again. Conditions are excluded: they cost no
more than the copy. So are expressions that may fail, unless the filter computes them for every row: one part
of a filter may protect another from rows on which it would fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql.types import BooleanType

from penstock.expr.functions.registry import lookup, may_raise
from penstock.expr.nodes import Call, Column, Expr, rewritten
from penstock.sql.plan import Field, Filter, Plan, Project
from penstock.sql.planning.stream import column

__all__ = ["compute_before_filter"]

_FIRST_ALWAYS = frozenset({"And", "Or", "CaseWhen", "If", "Coalesce"})
"""Functions that choose between their arguments by the first, or take it."""


def compute_before_filter(plan: Plan) -> Plan:
    """Applies to a projection over a filter that share a computation."""
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
    columns: Mapping[Expr, Column] = {
        call: column(width + i, schema[width + i]) for i, call in enumerate(common)
    }
    return Project(
        plan.schema,
        Filter(schema, computed, _replaced(predicate, columns)),
        tuple(_replaced(expr, columns) for expr in plan.exprs),
    )


def _calls(expr: Expr, *, certain: bool = False) -> Iterator[Call]:
    """The calls in an expression, except those in lambda functions, which are about elements, not rows. Or
    only those which are certain to be evaluated for every row."""
    rest = [expr]
    while rest:
        part = rest.pop()
        if not isinstance(part, Call) or part.function == "LambdaFunction":
            continue
        yield part
        function = lookup(part.function)
        chooses = function is None or function.lazy is not None
        sure = part.args[: (part.function in _FIRST_ALWAYS) if certain and chooses else None]
        rest += reversed(sure)


def _outermost(expr: Expr, known: frozenset[Call]) -> Iterator[Call]:
    """The calls in ``expr`` that are known and worth a column; not those inside another such call."""
    rest = [expr]
    while rest:
        part = rest.pop()
        if not isinstance(part, Call) or part.function == "LambdaFunction":
            continue
        if part in known and not isinstance(part.data_type, BooleanType):
            yield part
        else:
            rest += reversed(part.args)


def _replaced(expr: Expr, columns: Mapping[Expr, Column]) -> Expr:
    return rewritten(expr, columns.get)
