"""Joins as plans: keys, residual conditions, and the joins of NOT IN.

A conjunct ``l = r`` (or ``l <=> r``) is a key when one side reads only the left input and the other only
the right one. Everything else stays in the residual condition, tested on each pair the keys bring together.

``l NOT IN (SELECT r …)`` is an anti join on ``l = r OR (l = r) IS NULL``: a NULL on either side counts as a
match. Taken as a residual condition, every row would be tested against all rows of the other side. But a
match is one of three things that exclude each other, and each is an ordinary join: equal values; a NULL on
the left, which any right row matches; a NULL on the right, which matches any left row. So the anti join
becomes anti joins by key, and only when the right side becomes empty or not, or gets its first or loses its
last NULL, are left rows looked at that did not change: all of them, for all of them change in the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import BooleanType

from penstock.expr.nodes import Call, Column, Expr, columns_read
from penstock.sql.imported import column, conjunction, conjuncts, rebound
from penstock.sql.plan import Field, Filter, Join, Plan, Project, Union
from penstock.sql.schemas import same_types

__all__ = ["Key", "as_key", "filtered", "joined"]


@dataclass(frozen=True)
class Key:
    """``left = right``, each over the columns of its own side; with ``null_safe`` NULL equals NULL."""

    left: Expr
    right: Expr
    null_safe: bool


def joined(left: Plan, right: Plan, kind: str, conditions: Sequence[Expr]) -> Plan:
    """The join of two plans on ``conditions``, each over the left columns followed by the right ones."""
    keys: list[Key] = []
    residual: list[Expr] = []
    for place, expr in enumerate(conditions):
        equal = _null_aware_equality(expr) if kind in ("anti", "existence") else None
        key = as_key(expr if equal is None else equal, len(left.schema), len(right.schema))
        if key is None:
            residual.append(expr)
        elif equal is None:
            keys.append(key)
        else:
            others = [*conditions[:place], *conditions[place + 1 :]]
            return _null_aware(left, right, kind, key, equal, others)
    return Join(
        _schema(left, right, kind),
        left,
        right,
        kind,
        tuple(key.left for key in keys),
        tuple(key.right for key in keys),
        tuple(key.null_safe for key in keys),
        conjunction(residual),
    )


def filtered(plan: Plan, predicate: Expr) -> Plan:
    """The rows of ``plan`` for which ``predicate`` holds; a column tested for it is not NULL any more."""
    tested = {
        part.args[0].ordinal
        for part in conjuncts(predicate)
        if isinstance(part, Call) and part.function == "IsNotNull" and isinstance(part.args[0], Column)
    }
    schema = tuple(
        replace(field, nullable=False) if i in tested else field for i, field in enumerate(plan.schema)
    )
    return Filter(schema, plan, predicate)


def _schema(left: Plan, right: Plan, kind: str) -> tuple[Field, ...]:
    if kind in ("semi", "anti"):
        return left.schema
    if kind == "existence":
        return (*left.schema, Field("exists", BooleanType(), False))
    lefts, rights = left.schema, right.schema
    if kind in ("left", "single", "full"):
        rights = tuple(replace(field, nullable=True) for field in rights)
    if kind == "full":
        lefts = tuple(replace(field, nullable=True) for field in lefts)
    return lefts + rights


def as_key(expr: Expr, left_width: int, right_width: int) -> Key | None:
    """A condition over the columns of both sides as a key, if it is one."""
    if not isinstance(expr, Call) or expr.function not in ("EqualTo", "EqualNullSafe"):
        return None
    lefts = {i: i for i in range(left_width)}
    rights = {left_width + i: i for i in range(right_width)}
    one, other = expr.args
    for left, right in ((one, other), (other, one)):
        if not (columns_read(left) and columns_read(right)):
            continue
        left_key, right_key = rebound(left, lefts), rebound(right, rights)
        if left_key is not None and right_key is not None and same_types(left.data_type, right.data_type):
            return Key(left_key, right_key, expr.function == "EqualNullSafe")
    return None


def _null_aware_equality(expr: Expr) -> Expr | None:
    """``a = b`` where the condition is ``a = b OR (a = b) IS NULL``."""
    if not isinstance(expr, Call) or expr.function != "Or":
        return None
    equal, unknown = expr.args
    if not isinstance(equal, Call) or equal.function != "EqualTo":
        return None
    is_null = isinstance(unknown, Call) and unknown.function == "IsNull" and unknown.args == (equal,)
    return equal if is_null else None


def _null_aware(left: Plan, right: Plan, kind: str, key: Key, equal: Expr, others: Sequence[Expr]) -> Plan:
    """The anti or existence join on ``equal OR equal IS NULL`` and ``others``, without such a condition."""
    parts: list[Plan] = []
    rest = left
    if key.left.nullable:
        parts.append(joined(filtered(left, _test("IsNull", key.left)), right, kind, others))
        rest = filtered(left, _test("IsNotNull", key.left))
    rest = joined(rest, right, kind, [equal, *others])
    if key.right.nullable:
        nulls = filtered(right, _test("IsNull", key.right))
        if kind == "anti":
            rest = joined(rest, nulls, kind, others)
        else:
            rest = _either(joined(rest, nulls, kind, [_behind_flag(expr, left, right) for expr in others]))
    parts.append(rest)
    return parts[0] if len(parts) == 1 else Union(_schema(left, right, kind), tuple(parts))


def _test(function: str, expr: Expr) -> Expr:
    return Call(BooleanType(), False, function, (expr,))


def _behind_flag(expr: Expr, left: Plan, right: Plan) -> Expr:
    """``expr`` where one more column stands between those of the left side and those of the right one."""
    width = len(left.schema)
    positions = {i: i if i < width else i + 1 for i in range(width + len(right.schema))}
    moved = rebound(expr, positions)
    assert moved is not None
    return moved


def _either(plan: Plan) -> Plan:
    """A plan with the OR of its last two columns, which are flags, in their place."""
    *fields, one, other = plan.schema
    width = len(fields)
    flag = Call(BooleanType(), False, "Or", (column(width, one), column(width + 1, other)))
    exprs = (*(column(i, field) for i, field in enumerate(fields)), flag)
    return Project((*fields, one), plan, exprs)
