"""Importing joins of every kind. A right outer join is a left outer join of the sides the other way round."""

from __future__ import annotations

from penstock.errors import UnsupportedQuery
from penstock.expr.nodes import Expr
from penstock.sql.imported import Imported, ImportScope, column, columns_of, conjuncts
from penstock.sql.joining import joined
from penstock.sql.refusals import place_of
from penstock.sql.relational import projected
from penstock.sql.tree import Node

__all__ = ["import_join"]

_KINDS = {
    "Inner": "inner",
    "Cross": "inner",
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    "LeftSemi": "semi",
    "LeftAnti": "anti",
    "LeftSingle": "single",
    "ExistenceJoin": "existence",
}
_NORMALISERS = ("KnownFloatingPointNormalized", "NormalizeNaNAndZero")


def import_join(scope: ImportScope, node: Node) -> Imported:
    """``Join``."""
    catalyst_kind = _catalyst_kind(node)
    kind = _KINDS.get(catalyst_kind)
    if kind is None:
        raise UnsupportedQuery(
            f"the join type {catalyst_kind}",
            place=place_of(node, scope.view),
            reason="not supported yet",
            advice="Write it as an inner, outer, semi, anti or cross join",
        )
    left, right = (scope.plan(child) for child in _inputs(node, kind))
    if kind == "right":
        return _mirrored(scope, node, left, right)
    plan = joined(left.plan, right.plan, kind, _conditions(scope, node, left, right))
    if kind in ("semi", "anti"):
        return Imported(plan, left.ids)
    if kind == "existence":
        return Imported(plan, (*left.ids, int(node.fields["joinType"]["exists"][0]["exprId"]["id"])))
    return Imported(plan, left.ids + right.ids)


def _inputs(node: Node, kind: str) -> tuple[Node, Node]:
    """The children; of the right side of a semi or anti join without a condition, the optimiser keeps only
    some row (``LocalLimit 1``), which spares a batch some work and changes nothing here."""
    left, right = node.children
    if kind in ("semi", "anti") and node.expression("condition") is None and right.kind == "LocalLimit":
        return left, right.children[0]
    return left, right


def _mirrored(scope: ImportScope, node: Node, left: Imported, right: Imported) -> Imported:
    """A right outer join: the columns of the left side come first all the same."""
    plan = joined(right.plan, left.plan, "left", _conditions(scope, node, right, left))
    width = len(right.ids)
    order = [*range(width, len(plan.schema)), *range(width)]
    exprs = tuple(column(i, plan.schema[i]) for i in order)
    names = tuple(plan.schema[i].name for i in order)
    return projected(Imported(plan, ()), exprs, names, left.ids + right.ids)


def _conditions(scope: ImportScope, node: Node, left: Imported, right: Imported) -> list[Expr]:
    """The conjuncts of a join's condition over the columns of ``left`` followed by those of ``right``."""
    condition = node.expression("condition")
    if condition is None:
        return []
    return conjuncts(scope.expr(condition.rewrite(_without_normaliser), columns_of(left, right)))


def _catalyst_kind(node: Node) -> str:
    join_type = node.fields["joinType"]
    name = join_type.get("object") or join_type["product-class"]
    return str(name).rpartition(".")[2].rstrip("$")


def _without_normaliser(node: Node) -> Node | None:
    """Drops what Spark wraps around float keys for its hash join: ``=`` treats NaN and -0.0 so anyway."""
    return node.children[0].rewrite(_without_normaliser) if node.kind in _NORMALISERS else None
