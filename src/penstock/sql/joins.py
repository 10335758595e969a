"""Importing joins: which conjuncts of the condition are keys, and what is left of it.

A conjunct ``l = r`` (or ``l <=> r``) is a key when one side reads only the left input and the other only
the right one. Everything else stays in the residual condition, tested on each pair the keys bring together.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import UnsupportedQuery
from penstock.expr.nodes import Call, Column, Expr
from penstock.sql.imported import Imported, ImportScope, columns_of, conjunction, conjuncts, rebound
from penstock.sql.plan import Join
from penstock.sql.refusals import place_of
from penstock.sql.schemas import same_types
from penstock.sql.tree import Node

__all__ = ["import_join"]

_KINDS = {"Inner": "inner", "Cross": "inner"}
_REFUSED_KINDS = {
    "LeftOuter": "LEFT OUTER JOIN",
    "RightOuter": "RIGHT OUTER JOIN",
    "FullOuter": "FULL OUTER JOIN",
    "LeftSemi": "a semi join (EXISTS, IN with a subquery, INTERSECT)",
    "LeftAnti": "an anti join (NOT EXISTS, NOT IN with a subquery, EXCEPT)",
    "ExistenceJoin": "EXISTS or IN with a subquery as a value",
    "LeftSingle": "a correlated scalar subquery",
}
_NORMALISERS = ("KnownFloatingPointNormalized", "NormalizeNaNAndZero")


@dataclass(frozen=True)
class _Key:
    left: Expr
    right: Expr
    null_safe: bool


def import_join(scope: ImportScope, node: Node) -> Imported:
    """``Join`` of the kinds that are supported."""
    catalyst_kind = _kind(node)
    kind = _KINDS.get(catalyst_kind)
    if kind is None:
        construct = _REFUSED_KINDS.get(catalyst_kind, f"the join type {catalyst_kind}")
        place = place_of(node, scope.view)
        raise UnsupportedQuery(
            construct, place=place, reason="not supported yet", advice="Inner joins and cross joins are"
        )
    left, right = (scope.plan(child) for child in node.children)
    condition = node.expression("condition")
    keys: list[_Key] = []
    residual: list[Expr] = []
    if condition is not None:
        whole = scope.expr(condition.rewrite(_without_normaliser), columns_of(left, right))
        for expr in conjuncts(whole):
            key = _as_key(expr, len(left.ids), len(right.ids))
            if key is None:
                residual.append(expr)
            else:
                keys.append(key)
    plan = Join(
        left.plan.schema + right.plan.schema,
        left.plan,
        right.plan,
        kind,
        tuple(key.left for key in keys),
        tuple(key.right for key in keys),
        tuple(key.null_safe for key in keys),
        conjunction(residual),
    )
    return Imported(plan, left.ids + right.ids)


def _kind(node: Node) -> str:
    join_type = node.fields["joinType"]
    name = join_type.get("object") or join_type["product-class"]
    return str(name).rpartition(".")[2].rstrip("$")


def _without_normaliser(node: Node) -> Node | None:
    """Drops what Spark wraps around float keys for its hash join: ``=`` treats NaN and -0.0 so anyway."""
    return node.children[0].rewrite(_without_normaliser) if node.kind in _NORMALISERS else None


def _as_key(expr: Expr, left_width: int, right_width: int) -> _Key | None:
    if not isinstance(expr, Call) or expr.function not in ("EqualTo", "EqualNullSafe"):
        return None
    lefts = {i: i for i in range(left_width)}
    rights = {left_width + i: i for i in range(right_width)}
    one, other = expr.args
    for left, right in ((one, other), (other, one)):
        if not (_reads_columns(left) and _reads_columns(right)):
            continue
        left_key, right_key = rebound(left, lefts), rebound(right, rights)
        if left_key is not None and right_key is not None and same_types(left.data_type, right.data_type):
            return _Key(left_key, right_key, expr.function == "EqualNullSafe")
    return None


def _reads_columns(expr: Expr) -> bool:
    if isinstance(expr, Call):
        return any(_reads_columns(arg) for arg in expr.args)
    return isinstance(expr, Column)
