"""Functional dependencies: which columns of a plan are determined by others.

A column depends on others if rows that agree in those always agree in it: all columns of a table depend on
its primary key, the output of an aggregate on its grouping columns, one side of an equality on the other. So
``any_value(name)`` has only one possible answer if a query groups by the key of the table that contains
``name``. What cannot be proved counts as independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.sql import plan as p
from penstock.sql.imported import conjuncts

__all__ = ["determined", "is_determined"]

Keys = Mapping[str, tuple[int, ...]]


def is_determined(expr: Expr, plan: p.Plan, given: Iterable[Expr], keys: Keys) -> bool:
    """Whether ``expr`` over ``plan`` is the same in all rows that agree in the expressions ``given``."""
    given = list(given)
    known = determined(plan, {item.ordinal for item in given if isinstance(item, Column)}, keys)
    return _follows(expr, known, given)


def _follows(expr: Expr, known: set[int], given: list[Expr]) -> bool:
    rest = [expr]
    while rest:
        part = rest.pop()
        if part in given or isinstance(part, Literal):
            continue
        if isinstance(part, Call):
            rest += part.args
        elif not isinstance(part, Column) or part.ordinal not in known:
            return False
    return True


def determined(plan: p.Plan, known: set[int], keys: Keys) -> set[int]:
    """The columns of ``plan`` that depend on the columns ``known``, these included. Primary keys of tables
    are ``keys``."""
    if isinstance(plan, p.Scan):
        key = keys.get(plan.table)
        return set(range(len(plan.schema))) if key and known.issuperset(key) else known
    if isinstance(plan, p.Filter):
        return _filtered(plan, known, keys)
    if isinstance(plan, p.Sessions):
        return known | determined(plan.child, {i for i in known if i < len(plan.child.schema)}, keys)
    if isinstance(plan, p.Distinct):
        return determined(plan.child, known, keys)
    if isinstance(plan, p.Project):
        return _computed(plan.child, plan.exprs, known, keys)
    if isinstance(plan, p.Aggregate):
        groups = _computed(plan.child, plan.keys, {i for i in known if i < len(plan.keys)}, keys)
        return set(range(len(plan.schema))) if len(groups) == len(plan.keys) else known | groups
    if isinstance(plan, p.Join):
        return _joined(plan, known, keys)
    return known


def _filtered(plan: p.Filter, known: set[int], keys: Keys) -> set[int]:
    known = set(known)
    for part in conjuncts(plan.predicate):
        if isinstance(part, Call) and part.function in ("EqualTo", "EqualNullSafe"):
            for one, other in (part.args, part.args[::-1]):
                if isinstance(one, Column) and isinstance(other, Literal):
                    known.add(one.ordinal)
    return determined(plan.child, known, keys)


def _computed(child: p.Plan, exprs: tuple[Expr, ...], known: set[int], keys: Keys) -> set[int]:
    """Of the outputs ``exprs`` over ``child`` those that depend on the outputs ``known``."""
    given = [exprs[i] for i in known]
    below = determined(child, {expr.ordinal for expr in given if isinstance(expr, Column)}, keys)
    return {i for i, expr in enumerate(exprs) if i in known or _follows(expr, below, given)}


def _joined(plan: p.Join, known: set[int], keys: Keys) -> set[int]:
    """An inner join fixes each side of an equality by the other. The right side of a left join is fixed by
    the left keys, if nothing else decides about a match, and by its own columns, if these tell whether there
    was one: a column that is never NULL itself does."""
    width = len(plan.left.schema)
    left = determined(plan.left, {i for i in known if i < width}, keys)
    if plan.kind not in ("inner", "left", "single") or (plan.kind != "inner" and plan.condition is not None):
        return left | known
    right = {i - width for i in known if i >= width}
    inner = plan.kind == "inner"
    if inner or not all(plan.right.schema[i].nullable for i in right):
        right = determined(plan.right, right, keys)
    before: tuple[set[int], set[int]] | None = None
    while before != (left, right):
        before = left, right
        fixed = _equals(plan.left_keys, left, plan.right_keys)
        right = right | (determined(plan.right, fixed | right if inner else fixed, keys) if fixed else set())
        if inner:
            left = determined(plan.left, left | _equals(plan.right_keys, right, plan.left_keys), keys)
    return left | {i + width for i in right}


def _equals(keys: tuple[Expr, ...], known: set[int], others: tuple[Expr, ...]) -> set[int]:
    """The columns among ``others`` that equal a key which depends on the columns ``known``."""
    return {
        other.ordinal
        for key, other in zip(keys, others, strict=True)
        if isinstance(other, Column) and _follows(key, known, [])
    }
