"""``IN`` and ``EXISTS`` in the SELECT list of a GROUP BY.

Spark joins such a subquery below the aggregate (an existence join, whose output is a flag) and puts
``first(flag)`` into the aggregate, because the flag is not a grouping column. What the subquery is compared
with are grouping columns, so the flag is the same in all rows of a group, and the answer does not depend on
which row comes first. This module finds the flags of which that is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.sql.tree import Node

__all__ = ["existence_joins", "flags_of_groups"]


def flags_of_groups(child: Node, groupings: Sequence[Node]) -> frozenset[int]:
    """The ids of the flags that existence joins right below an aggregate make of grouping columns alone."""
    keys = {item.expression_id for item in groupings if item.kind == "AttributeReference"}
    return frozenset(
        int(join.fields["joinType"]["exists"][0]["exprId"]["id"])
        for join in existence_joins(child)
        if _outer_columns(join) <= keys
    )


def existence_joins(node: Node) -> Iterator[Node]:
    """The existence joins at the top of a plan, each the left side of the one before."""
    while node.kind == "Join" and "exists" in node.fields["joinType"]:
        yield node
        node = node.children[0]


def _outer_columns(join: Node) -> set[int]:
    """The columns of the left side that decide about a match."""
    condition = join.expression("condition")
    if condition is None:
        return set()
    right = join.children[1].twin().output()
    inner = {int(right.apply(i).exprId().id()) for i in range(right.size())}
    return {part.expression_id for part in condition.walk() if part.kind == "AttributeReference"} - inner
