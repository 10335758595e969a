"""Importing ORDER BY … LIMIT and OFFSET.

Catalyst has them as up to three nodes over a Sort, with projections in between where columns that were
sorted by are dropped. A limit says nothing about columns, so it is moved down through projections to its
Sort; several limits and offsets in a row are one. Without a Sort, which rows remain is left to chance, and
the query is refused, unless all rows are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import UnsupportedQuery
from penstock.sql.imported import Imported, ImportScope
from penstock.sql.plan import SortKey, TopK
from penstock.sql.refusals import place_of
from penstock.sql.relational import sort_keys
from penstock.sql.tree import Node

__all__ = ["TAKEN", "import_limit", "import_taken"]

TAKEN = "penstock.Taken"
"""A Sort of which certain places are taken: ours alone, made of a limit that was moved down to its Sort."""

_LIMITS = {"GlobalLimit": "limitExpr", "LocalLimit": "limitExpr", "Offset": "offsetExpr"}
_THROUGH = frozenset({"SubqueryAlias", "View"})


@dataclass(frozen=True)
class _Places:
    """The places from ``offset`` on, ``limit`` of them or all."""

    offset: int = 0
    limit: int | None = None

    def after(self, other: _Places) -> _Places:
        """These places of the rows at the places of ``other``."""
        limit = self.limit
        if other.limit is not None:
            left = max(0, other.limit - self.offset)
            limit = left if limit is None else min(limit, left)
        return _Places(other.offset + self.offset, limit)


def import_limit(scope: ImportScope, node: Node) -> Imported:
    """``GlobalLimit``, ``LocalLimit`` or ``Offset``, with all of them and the projections down to the
    Sort."""
    return scope.plan(_moved_down(scope, node, node, _Places()))


def _moved_down(scope: ImportScope, top: Node, node: Node, places: _Places) -> Node:
    if node.kind in _LIMITS:
        here = _number(scope, node, _LIMITS[node.kind])
        own = _Places(here) if node.kind == "Offset" else _Places(0, here)
        return _moved_down(scope, top, node.children[0], places.after(own))
    if node.kind == "Sort" and node.fields["global"]:
        return replace(node, kind=TAKEN, fields={**node.fields, "places": places})
    if node.kind == "Project" and _is_constant(node):
        # All rows are equal: any of them will do.
        return Node(TAKEN, {"places": places, "order": []}, (node,), node.twin)
    if node.kind == "Project" or node.kind in _THROUGH:
        return replace(node, children=(_moved_down(scope, top, node.children[0], places),))
    raise UnsupportedQuery(
        f"{'OFFSET' if places.limit is None else 'LIMIT'} without ORDER BY",
        place=place_of(top, scope.view),
        reason="which rows it keeps is left to chance",
        advice="Add an ORDER BY below it, or limit when reading the view",
    )


def _number(scope: ImportScope, node: Node, name: str) -> int:
    expression = node.expression(name)
    assert expression is not None
    if expression.kind != "Literal":
        raise UnsupportedQuery(
            "LIMIT with an expression", place=place_of(node, scope.view), advice="Write a number"
        )
    return int(expression.fields["value"])


def _is_constant(node: Node) -> bool:
    return all(
        output.kind == "Alias" and output.children[0].kind == "Literal"
        for output in node.expressions("projectList")
    )


def import_taken(scope: ImportScope, node: Node) -> Imported:
    """Rows at certain places of an order, which is also the order to read them in where they are the
    result."""
    child = scope.plan(node.children[0])
    keys: tuple[SortKey, ...] = sort_keys(scope, node, child) if node.fields["order"] else ()
    places: _Places = node.fields["places"]
    plan = TopK(child.plan.schema, child.plan, (), keys, places.offset, places.limit)
    # Without a text, an order whose columns are dropped further up is simply forgotten.
    return Imported(plan, child.ids, keys, "")
