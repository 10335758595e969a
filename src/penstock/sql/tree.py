"""Catalyst trees in Python: the JSON of ``TreeNode.toJSON``, each node paired with its JVM node.

``toJSON`` lists a tree's nodes in preorder, and an expression inside a plan node is such a list again. The
JSON holds structure, names and ids and costs one call over py4j however large the plan is; but it leaves out
what it cannot represent: evaluation modes and some literals (which :mod:`penstock.expr.live` fills in),
column metadata, rows of a ``LocalRelation``, positions in the query text. Those are read from the *twin*, the
node in the JVM. When the first twin of a tree is needed, all its nodes are listed there, in preorder too, so
an ordinary plan costs few calls, and a deep one does not cost a path to each of its nodes.

Trees can be as deep as a query has terms, so nothing here is recursive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from penstock.expr.live import completed
from penstock.sql.jvm import spark_jvm

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

    @property
    def depth(self) -> int:
        """How many nodes are nested in each other at most, those of a plan's deepest expression included."""
        return _depth([node.fields for node in self.walk()])

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in preorder."""
        rest = [self]
        while rest:
            node = rest.pop()
            yield node
            rest += reversed(node.children)

    def rewrite(self, rule: Callable[[Node], Node | None]) -> Node:
        """The tree with every node for which ``rule`` gives another one replaced, from the top down."""
        done: list[Node] = []
        rest: list[tuple[Node, bool]] = [(self, False)]
        while rest:
            node, entered = rest.pop()
            if entered:
                count = len(node.children)
                children = tuple(done[len(done) - count :])
                del done[len(done) - count :]
                done.append(node if children == node.children else replace(node, children=children))
            elif (other := rule(node)) is not None:
                done.append(other)
            else:
                rest.append((node, True))
                rest += [(child, False) for child in reversed(node.children)]
        return done[0]

    def flatten(self) -> list[dict[str, Any]]:
        """The preorder JSON again, completed with what ``toJSON`` left out."""
        return [node.completed for node in self.walk()]

    @property
    def completed(self) -> dict[str, Any]:
        """The node's fields, completed."""
        return completed(self.fields, self.twin)


def read_plan(plan: Any) -> Node:
    """The tree of a Catalyst logical plan."""
    return read_tree(json.loads(spark_jvm().to_json(plan)), lambda: plan)


def read_tree(items: list[dict[str, Any]], twin: Twin) -> Node:
    """The tree of one preorder list; ``twin`` gives the node in the JVM that the first item is of."""
    twins = cache(lambda: spark_jvm().preorder(twin()))
    done: list[Node] = []  # what comes later in the list, the next one last
    for place in range(len(items) - 1, -1, -1):
        fields = items[place]
        children = tuple(done.pop() for _ in range(fields["num-children"]))
        kind = fields["class"].rpartition(".")[2]
        done.append(
            Node(kind, fields, children, cache(lambda place=place: twins().get(place)) if place else twin)
        )
    return done[0]


def _depth(items: Sequence[Mapping[str, Any]]) -> int:
    deepest = inside = 0
    left: list[int] = []  # of the nodes around the current one: how many children are still to come
    for fields in items:
        inside = max([inside, *(_depth(part) for value in fields.values() for part in _trees(value))])
        left.append(fields["num-children"])
        deepest = max(deepest, len(left))
        while left and not left[-1]:
            left.pop()
            if left:
                left[-1] -= 1
    return deepest + inside


def _trees(value: Any) -> Iterator[Sequence[Mapping[str, Any]]]:
    """The preorder lists in a field."""
    if isinstance(value, list) and value:
        if isinstance(value[0], dict) and "num-children" in value[0]:
            yield value
        else:
            for item in value:
                yield from _trees(item)


def _sequence(items: Sequence[Node | list[dict[str, Any]]], twin: Twin) -> tuple[Node, ...]:
    return tuple(
        item if isinstance(item, Node) else read_tree(item, cache(lambda i=i: twin().apply(i)))
        for i, item in enumerate(items)
    )


def _unwrapped(value: Any) -> Any:
    """The value inside a Scala Option; anything else as it is."""
    return value.get() if value.getClass().getName() == "scala.Some" else value
