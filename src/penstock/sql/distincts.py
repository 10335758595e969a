"""Undoes Spark's rewrite of several DISTINCT aggregates.

Spark rewrites an aggregate with DISTINCT over different columns (or with a FILTER on a DISTINCT) into three
nodes, by a rule that cannot be turned off: an Expand copies each row once per set of distinct columns and
numbers the copies, an Aggregate removes duplicates per number and computes the plain aggregates on copies
number 0, and another Aggregate combines everything, with ``FILTER (gid = number)``. That suits a batch. An
incremental aggregate keeps each distinct set separately, and the numbers are drawn in the order of a hash
table, so the same query would not even give the same plan twice. So the rewrite is undone here.

An Expand comes from this rewrite or from GROUPING SETS, whose number has another name, so nothing a user
writes is mistaken for the rewrite. Predicate subqueries (:mod:`penstock.sql.predicates`) are between the two
aggregates; they only add columns, so they are moved below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.sql.predicates import existence_joins
from penstock.sql.subqueries import DROPPED
from penstock.sql.tree import Node

__all__ = ["OriginalAggregate", "original_aggregate"]


@dataclass(frozen=True)
class OriginalAggregate:
    """Grouping expressions and outputs of an aggregate over the plan ``child``."""

    groupings: tuple[Node, ...]
    outputs: tuple[Node, ...]
    child: Node


def original_aggregate(node: Node) -> OriginalAggregate:
    """An Aggregate as it was before the rewrite; as it is, if it was not rewritten."""
    groupings = node.expressions("groupingExpressions")
    outputs = node.expressions("aggregateExpressions")
    child = node.children[0]
    joins = tuple(existence_joins(child))
    below = joins[-1].children[0] if joins else child
    expand = _expand_below(below)
    number = None if expand is None else _number_column(expand)
    if expand is None or number is None:
        return OriginalAggregate(groupings, outputs, child)
    copies = _Copies(expand, number, below)
    source = expand.children[0]
    for join in reversed(joins):
        source = replace(join, children=(source, *join.children[1:]))
    return OriginalAggregate(
        tuple(copies.key(item) for item in groupings),
        tuple(_rebuilt(copies, item) for item in outputs),
        source,
    )


def _expand_below(node: Node) -> Node | None:
    """The Expand that an Aggregate reads; subqueries in GROUP BY add columns below it, which are dropped
    again above it."""
    if node.kind != "Aggregate":
        return None
    below = node.children[0]
    if below.kind == DROPPED:
        below = below.children[0]
    return below if below.kind == "Expand" else None


def _rebuilt(copies: _Copies, output: Node) -> Node:
    """An output with its calls as they were; a key is computed below and keeps its name and id."""
    if output.kind == "AttributeReference":
        key = copies.key(output)
        return (
            output
            if key.kind == "AttributeReference" and key.expression_id == output.expression_id
            else (_alias(output, key))
        )
    return output.rewrite(copies.original)


def _alias(output: Node, child: Node) -> Node:
    fields = {**output.fields, "class": "org.apache.spark.sql.catalyst.expressions.Alias", "num-children": 1}
    return Node("Alias", fields, (child,), output.twin)


class _Copies:
    """The meaning of each column of an Expand in the copies of each number."""

    def __init__(self, expand: Node, number: int, inner: Node) -> None:
        ids = [int(attribute[0]["exprId"]["id"]) for attribute in expand.fields["output"]]
        self.number_id = ids[number]
        self._columns: dict[int, Mapping[int, Node]] = {}
        for row in expand.expression_rows("projections"):
            bare = [item.children[0] if item.kind == "Alias" else item for item in row]
            self._columns[int(row[number].fields["value"])] = dict(zip(ids, bare, strict=True))
        self._plain = {
            item.expression_id: item.children[0]
            for item in inner.expressions("aggregateExpressions")
            if item.kind == "Alias"
        }

    def key(self, attribute: Node) -> Node:
        """A grouping column, which is the same in all copies, over the Expand's input."""
        return next(iter(self._columns.values())).get(attribute.expression_id, attribute)

    def original(self, node: Node) -> Node | None:
        """The call that a call of the outer aggregate stands for; the key a key column stands for."""
        if node.kind == "AttributeReference":
            return self.key(node)
        if node.kind != "AggregateExpression":
            return None
        if len(node.children) == 1:
            # Of a predicate subquery, which Spark joins in after the rewrite: its flag has no copies.
            return node
        function, condition = node.children
        number, rest = self._numbered(condition)
        if function.kind == "First":
            plain = self._plain[function.children[0].expression_id]
            return self._over_input(plain, number)
        children = (function,) if rest is None else (function, rest.rewrite(self._tested))
        fields = {**node.fields, "isDistinct": True, "num-children": len(children)}
        return self._over_input(replace(node, fields=fields, children=children), number)

    def _numbered(self, condition: Node) -> tuple[int, Node | None]:
        """The number in ``gid = number [AND rest]`` and the rest."""
        equal, rest = condition.children if condition.kind == "And" else (condition, None)
        assert equal.children[0].expression_id == self.number_id, "a rewritten aggregate without its number"
        return int(equal.children[1].fields["value"]), rest

    def _tested(self, node: Node) -> Node | None:
        """The condition of a FILTER, of which the inner aggregate keeps whether any duplicate met it."""
        if node.kind != "AttributeReference" or node.expression_id not in self._plain:
            return None
        return self._plain[node.expression_id].children[0].children[0]

    def _over_input(self, node: Node, number: int) -> Node:
        columns = self._columns[number]

        def column(inner: Node) -> Node | None:
            return columns.get(inner.expression_id) if inner.kind == "AttributeReference" else None

        return node.rewrite(column)


def _number_column(expand: Node) -> int | None:
    """The position of the rewrite's number, if this Expand is the rewrite's and not GROUPING SETS'."""
    names = [attribute[0]["name"] for attribute in expand.fields["output"]]
    columns = zip(*expand.rows_json("projections"), strict=True)
    constant = [all(item[0]["class"].endswith(".Literal") for item in column) for column in columns]
    numbers = [i for i, name in enumerate(names) if name == "gid" and constant[i]]
    sets = [i for i, name in enumerate(names) if name == "spark_grouping_id" and constant[i]]
    return numbers[0] if len(numbers) == 1 and not sets else None
