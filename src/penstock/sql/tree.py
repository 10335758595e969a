"""Catalyst trees as Python sees them: the JSON of ``TreeNode.toJSON``, each node beside its JVM twin.

``toJSON`` lists a tree's nodes in preorder, and an expression inside a plan node is such a list again.
The JSON holds structure, names and ids and costs one call over py4j however large the plan is; but it
leaves out what it cannot spell: evaluation modes and some literals (which :mod:`penstock.expr.live` fills
in), column metadata, rows of a ``LocalRelation``, positions in the query text. Those are asked of the *twin*,
the node in the JVM, which is reached by the path of child numbers when it is wanted, so that a plan without
surprises costs few calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from penstock.expr.live import completed

__all__ = ["Node", "read_plan", "read_tree"]

Twin = Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Node:
    """One plan or expression node. ``kind`` is Catalyst's class name without its package.

    ``fields`` are as in the JSON; where a plan was rewritten, a sequence of expressions may hold nodes."""

    kind: str
    fields: dict[str, Any]
    children: tuple[Node, ...]
    twin: Twin

    def expression(self, name: str) -> Node | None:
        """The expression in a plan node's field ``name``, or None where the field is absent."""
        items = self.fields.get(name)
        if not items:
            return None
        return read_tree(items, cache(lambda: _unwrapped(getattr(self.twin(), name)())))

    def expressions(self, name: str) -> tuple[Node, ...]:
        """The expressions in a plan node's sequence-valued field ``name``."""
        return _sequence(self.fields[name], lambda: getattr(self.twin(), name)())

    def expression_rows(self, name: str) -> tuple[tuple[Node, ...], ...]:
        """The expressions in a field that holds a sequence of sequences (``Expand.projections``)."""
        outer = cache(lambda: getattr(self.twin(), name)())
        return tuple(
            _sequence(row, cache(lambda i=i: outer().apply(i))) for i, row in enumerate(self.rows_json(name))
        )

    def rows_json(self, name: str) -> list[list[list[dict[str, Any]]]]:
        """The JSON of a field that holds a sequence of sequences of expressions. ``toJSON`` writes null where
        the inner sequences are not plain lists; then each expression is asked by itself."""
        rows: list[list[list[dict[str, Any]]]] | None = self.fields[name]
        if rows is not None:
            return rows
        outer = getattr(self.twin(), name)()
        inner = [outer.apply(i) for i in range(outer.size())]
        return [[json.loads(row.apply(i).toJSON()) for i in range(row.size())] for row in inner]

    @property
    def expression_id(self) -> int:
        """The id by which other expressions refer to this attribute or alias."""
        return int(self.fields["exprId"]["id"])

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in preorder."""
        yield self
        for child in self.children:
            yield from child.walk()

    def rewrite(self, rule: Callable[[Node], Node | None]) -> Node:
        """The tree with every node for which ``rule`` gives another one replaced, from the top down."""
        other = rule(self)
        if other is not None:
            return other
        children = tuple(child.rewrite(rule) for child in self.children)
        return self if children == self.children else replace(self, children=children)

    def flatten(self) -> list[dict[str, Any]]:
        """The preorder JSON again, completed with what ``toJSON`` left out."""
        return [node.completed for node in self.walk()]

    @property
    def completed(self) -> dict[str, Any]:
        """The node's fields, completed."""
        return completed(self.fields, self.twin)


def read_plan(plan: Any) -> Node:
    """The tree of a Catalyst logical plan."""
    return read_tree(json.loads(plan.toJSON()), lambda: plan)


def read_tree(items: list[dict[str, Any]], twin: Twin) -> Node:
    """The tree of one preorder list."""
    return _read(iter(items), twin)


def _read(items: Iterator[dict[str, Any]], twin: Twin) -> Node:
    fields = next(items)
    children = tuple(
        _read(items, cache(lambda i=i: twin().children().apply(i))) for i in range(fields["num-children"])
    )
    return Node(fields["class"].rpartition(".")[2], fields, children, twin)


def _sequence(items: Sequence[Node | list[dict[str, Any]]], twin: Twin) -> tuple[Node, ...]:
    return tuple(
        item if isinstance(item, Node) else read_tree(item, cache(lambda i=i: twin().apply(i)))
        for i, item in enumerate(items)
    )


def _unwrapped(value: Any) -> Any:
    """The value inside a Scala Option; anything else as it is."""
    return value.get() if value.getClass().getName() == "scala.Some" else value
