"""Importing ORDER BY … LIMIT and OFFSET.

Catalyst has them as up to three nodes over a Sort, with projections in between where columns that were
sorted by are dropped. A limit says nothing about columns, so it is moved down through projections to its
Sort; several limits and offsets in a row are one. Without a Sort, rows come in the order of their columns
(docs/row-order.md). A LocalLimit by itself is one that the optimiser has copied further down to spare a batch
some work; the limit it comes from is still there. A limit in a correlated subquery is a Window that counts
the rows of each outer row, and its Sort is found here too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import UnsupportedQuery
from penstock.sql.imported import Imported, ImportScope
from penstock.sql.notes import in_order_of, tells_apart
from penstock.sql.plan import SortKey, TopK
from penstock.sql.refusals import place_of
from penstock.sql.relational import sort_keys
from penstock.sql.tree import Node

__all__ = ["TAKEN", "import_limit", "import_taken", "limit_order", "sorted_below"]

TAKEN = "penstock.Taken"
"""A Sort of which only certain positions are taken: a node kind of ours, made of a limit that was moved down
to its Sort."""

_LIMITS = {"GlobalLimit": "limitExpr", "LocalLimit": "limitExpr", "Offset": "offsetExpr"}
_THROUGH = frozenset({"SubqueryAlias", "View"})


@dataclass(frozen=True)
class _Positions:
    """The positions from ``offset`` on, ``limit`` of them or all."""

    offset: int = 0
    limit: int | None = None

    def after(self, other: _Positions) -> _Positions:
        """These positions of the rows at the positions of ``other``."""
        limit = self.limit
        if other.limit is not None:
            left = max(0, other.limit - self.offset)
            limit = left if limit is None else min(limit, left)
        return _Positions(other.offset + self.offset, limit)


def import_limit(scope: ImportScope, node: Node) -> Imported:
    """``GlobalLimit``, ``LocalLimit`` or ``Offset``, with all of them and the projections down to the
    Sort."""
    below, positions = node, _Positions()
    while below.kind in _LIMITS:
        here = _number(scope, below, _LIMITS[below.kind])
        positions = positions.after(_Positions(here) if below.kind == "Offset" else _Positions(0, here))
        below = below.children[0]
    return scope.plan(_moved_down(scope, below, positions) or _unsorted(node, below, positions))


def _moved_down(scope: ImportScope, node: Node, positions: _Positions) -> Node | None:
    """The plan with a limit moved down to its Sort, together with the limits in between; None without one."""
    if node.kind in _LIMITS:
        here = _number(scope, node, _LIMITS[node.kind])
        own = _Positions(here) if node.kind == "Offset" else _Positions(0, here)
        return _moved_down(scope, node.children[0], positions.after(own))
    if node.kind == "Sort" and node.fields["global"]:
        return replace(node, kind=TAKEN, fields={**node.fields, "positions": positions, "top": node})
    if node.kind == "Project" or node.kind in _THROUGH:
        below = _moved_down(scope, node.children[0], positions)
        return None if below is None else replace(node, children=(below,))
    return None


def _unsorted(top: Node, below: Node, positions: _Positions) -> Node:
    """Without a Sort, rows come in the order of their columns."""
    return Node(TAKEN, {"positions": positions, "order": [], "top": top}, (below,), below.twin)


def _number(scope: ImportScope, node: Node, name: str) -> int:
    expression = node.expression(name)
    assert expression is not None
    if expression.kind != "Literal":
        raise UnsupportedQuery(
            "LIMIT with an expression", place=place_of(node, scope.view), advice="Write a number"
        )
    return int(expression.fields["value"])


def import_taken(scope: ImportScope, node: Node) -> Imported:
    """Rows at certain positions of an order, which is also the order to read them in if they are the
    result."""
    child = scope.plan(node.children[0])
    keys: tuple[SortKey, ...] = sort_keys(scope, node, child) if node.fields["order"] else ()
    positions: _Positions = node.fields["positions"]
    if not tells_apart([key.expr for key in keys], child.plan, scope.keys):
        _note_open(scope, node, child, keys)
    plan = TopK(child.plan.schema, child.plan, (), keys, positions.offset, positions.limit)
    # Without a text, an order whose columns are dropped further up is simply forgotten.
    return Imported(plan, child.ids, keys, "")


def _note_open(scope: ImportScope, node: Node, child: Imported, keys: tuple[SortKey, ...]) -> None:
    order = in_order_of([field.name for field in child.plan.schema])
    if keys:
        text = f"rows that ORDER BY does not tell apart come {order}"
    else:
        text = f"there is no ORDER BY: rows come {order}"
    word = "OFFSET" if node.fields["positions"].limit is None else "LIMIT"
    scope.note(node.fields["top"], word, text)


def sorted_below(node: Node) -> tuple[Node, frozenset[int]]:
    """The input of a Window, with all columns that a Sort in it goes by if the Window counts its rows, and
    the ids of the columns added for that.

    ``ORDER BY … LIMIT n`` in a correlated subquery becomes a filter on a row number. Where the sort's columns
    are not selected, Spark leaves the Window without an order and relies on rows arriving sorted.
    """
    top = node.children[0]
    if not _counts_as_they_come(node):
        return top, frozenset()
    sort = top
    while sort.kind == "Project":
        sort = sort.children[0]
    if sort.kind != "Sort" or top is sort:
        return top, frozenset()
    read = {
        part.expression_id: part
        for key in sort.expressions("order")
        for part in key.walk()
        if part.kind == "AttributeReference"
    }
    shown = {output.expression_id for output in top.expressions("projectList")}
    return _widened(top, read), frozenset(read.keys() - shown)


def _widened(node: Node, columns: dict[int, Node]) -> Node:
    """The projections down to a Sort, with these columns of its input added to each of them."""
    if node.kind != "Project":
        return node
    outputs = node.expressions("projectList")
    shown = {output.expression_id for output in outputs}
    added = [part for id_, part in columns.items() if id_ not in shown]
    fields = {**node.fields, "projectList": [*outputs, *added]}
    return replace(node, fields=fields, children=(_widened(node.children[0], columns),))


def _counts_as_they_come(node: Node) -> bool:
    """Whether a Window numbers rows without an order, which no query can ask for."""
    return not node.fields["orderSpec"] and any(
        part.kind == "RowNumber" for output in node.expressions("windowExpressions") for part in output.walk()
    )


def limit_order(scope: ImportScope, node: Node, child: Imported) -> tuple[SortKey, ...]:
    """The order in which a Window without one counts rows."""
    if not _counts_as_they_come(node):
        return ()
    if not child.order and not _one_each(node):
        order = in_order_of([field.name for field in child.plan.schema])
        scope.note(node, "LIMIT in a correlated subquery", f"there is no ORDER BY: rows come {order}")
    return child.order


def _one_each(node: Node) -> bool:
    """Whether a Window's partitions have one row each, because it is over an aggregate that has the groups of
    the outer rows and none of its own (joined with these, where groups without rows have an answer too)."""
    keys = len(node.expressions("partitionSpec"))

    def one_row(below: Node) -> bool:
        if below.kind == "Aggregate":
            return len(below.expressions("groupingExpressions")) <= keys
        return below.kind in ("Project", "Join") and all(map(one_row, below.children))

    return one_row(node.children[0])
