"""Several DISTINCT aggregates, as the query has them.

Spark rewrites an aggregate with DISTINCT over different columns (or with a FILTER on a DISTINCT) into three
nodes, by a rule that cannot be turned off: an Expand copies each row once per set of distinct columns and
numbers the copies, an Aggregate removes duplicates per number and computes the plain aggregates on copies
number 0, and another Aggregate puts all together, with ``FILTER (gid = number)``. That suits a batch. An
incremental aggregate keeps each distinct set by itself, and the numbers are drawn in the order of a hash
table, so that the same query would not even give the same plan twice. So the rewrite is undone here.

An Expand comes from this rewrite or from GROUPING SETS, whose number has another name, so nothing a user
writes is taken for the rewrite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    below = node.children[0]
    if below.kind != "Aggregate" or below.children[0].kind != "Expand":
        return OriginalAggregate(groupings, outputs, below)
    expand = below.children[0]
    number = _number_column(expand)
    if number is None:
        return OriginalAggregate(groupings, outputs, below)
    copies = _Copies(expand, number, below)
    return OriginalAggregate(
        tuple(copies.key(item) for item in groupings),
        tuple(_rebuilt(copies, item) for item in outputs),
        expand.children[0],
    )


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
    """What each column of an Expand is in the copies of each number."""

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
