"""Uncorrelated scalar subqueries, which the optimiser leaves inside expressions: they are joined in.

Before a plan is imported, :func:`lifted` takes every subquery out of the expressions of a plan node and puts
it beside the node's child: the child joined with the subquery's one row, whose value is one more column, to
which the expression then refers. Of such columns the node may pass on what its child has, so they are dropped
above it. Importers of plan nodes see nothing of all this.

A subquery's value reaches every row, so when it changes, all rows are tested again. Not so in a filter by
equality: ``total = (SELECT max(total) …)`` is a join by key, and a new maximum touches only the rows that had
the old one and those that have the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql.types import BooleanType, IntegerType, LongType

from penstock.expr.evaluate import may_raise
from penstock.expr.nodes import Call, Expr, Literal, columns_read
from penstock.sql.imported import Imported, ImportScope, column, columns_of, conjunction, conjuncts
from penstock.sql.joining import filtered, joined
from penstock.sql.plan import Aggregate, AggregateCall, Field, Plan, Project, SingleRow, Values
from penstock.sql.relational import not_nulls_first, projected, unaliased, with_order
from penstock.sql.tree import Node, read_tree

__all__ = ["DROPPED", "FILTERED", "JOINED", "import_dropped", "import_filtered", "import_joined", "lifted"]

JOINED, FILTERED, DROPPED = "JoinedSubqueries", "FilteredBySubqueries", "DroppedColumns"
"""Nodes that stand beside Catalyst's own: a child joined with subqueries, the same with a condition, and a
child without some of its columns."""

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


# ---- taking subqueries out of the expressions of Catalyst's plan ----------------------------------------


def lifted(node: Node) -> Node:
    """The plan with the scalar subqueries of its expressions joined in."""
    node = replace(node, children=tuple(map(lifted, node.children)))
    if not node.children:
        return node
    if node.kind == "Aggregate":
        return _lifted_aggregate(node)
    names = [name for name, value in node.fields.items() if _mentions(value)]
    found = _plans(part for name in names for part in _expressions(node, name))
    if not found:
        return node
    bare = replace(node, fields={**node.fields, **{name: _referring(node.fields[name]) for name in names}})
    if node.kind == "Filter":
        fields = {**bare.fields, "ids": list(found)}
        return Node(FILTERED, fields, (*node.children, *found.values()), node.twin)
    first, *others = node.children
    return _dropping(replace(bare, children=(_joining(first, found), *others)), found)


def _lifted_aggregate(node: Node) -> Node:
    """An aggregate; one that computes with a subquery's value beside its functions, as in
    ``count(*) + (SELECT …)``, becomes a projection over one that does not. A subquery in GROUP BY is a
    column of the aggregate's input."""
    groupings = node.expressions("groupingExpressions")
    grouped = _plans(groupings)
    if grouped:
        fields = {**node.fields, "groupingExpressions": [item.rewrite(_column) for item in groupings]}
        below = _joining(node.children[0], grouped)
        return _lifted_aggregate(replace(node, fields=fields, children=(below,)))
    outputs = node.expressions("aggregateExpressions")
    calls: dict[int, Node] = {}
    above = [output.rewrite(lambda part: _call_column(part, calls)) for output in outputs]
    outside = _plans(above)
    if not outside:
        inside = _plans(outputs)
        if not inside:
            return node
        fields = {**node.fields, "aggregateExpressions": [output.rewrite(_column) for output in outputs]}
        return replace(node, fields=fields, children=(_joining(node.children[0], inside),))
    keys = [item for item in groupings if item.kind == "AttributeReference"]
    fields = {**node.fields, "aggregateExpressions": [*keys, *calls.values()]}
    aggregate = _lifted_aggregate(replace(node, fields=fields))
    project = {"projectList": [output.rewrite(_column) for output in above]}
    return Node("Project", project, (_joining(aggregate, outside),), node.twin)


def _call_column(node: Node, calls: dict[int, Node]) -> Node | None:
    """A reference to the column of an aggregate's call, which is added to ``calls``."""
    if node.kind != "AggregateExpression":
        return None
    id_ = int(node.fields["resultId"]["id"])
    if id_ not in calls:
        name = f"call{len(calls)}"
        fields = {"class": _EXPRESSIONS + "Alias", "num-children": 1, "name": name, "exprId": {"id": id_}}
        calls[id_] = Node("Alias", fields, (node,), node.twin)
    return Node("AttributeReference", _attribute(id_), (), node.twin)


def _column(node: Node) -> Node | None:
    """A reference to the column of a scalar subquery."""
    if not _is_scalar(node.fields):
        return None
    return Node("AttributeReference", _attribute(node.expression_id), (), node.twin)


def _joining(child: Node, plans: dict[int, Node]) -> Node:
    return Node(JOINED, {"ids": list(plans)}, (child, *plans.values()), child.twin)


def _dropping(node: Node, plans: dict[int, Node]) -> Node:
    return Node(DROPPED, {"ids": list(plans)}, (node,), node.twin)


def _expressions(node: Node, name: str) -> Iterator[Node]:
    """The expressions in a field: one, a sequence, or a sequence of sequences."""
    value, depth = node.fields[name], 0
    while isinstance(value, list) and value:
        value, depth = value[0], depth + 1
    if depth == 1:
        one = node.expression(name)
        assert one is not None
        yield one
    elif depth == 2:
        yield from node.expressions(name)
    else:
        for row in node.expression_rows(name):
            yield from row


def _plans(expressions: Iterator[Node] | Sequence[Node]) -> dict[int, Node]:
    """The plans of the scalar subqueries in expressions, by the ids of the subqueries."""
    found: dict[int, Node] = {}
    for node in (node for expression in expressions for node in expression.walk()):
        if _is_scalar(node.fields) and node.expression_id not in found:
            found[node.expression_id] = lifted(_plan(node))
    return found


def _plan(subquery: Node) -> Node:
    return read_tree(subquery.fields["plan"], lambda: subquery.twin().plan())


def _is_scalar(fields: Any) -> bool:
    """Whether this is the JSON of an uncorrelated scalar subquery."""
    return (
        isinstance(fields, dict)
        and fields.get("class") == _EXPRESSIONS + "ScalarSubquery"
        and not fields.get("outerAttrs")
    )


def _mentions(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_mentions, value))
    return _is_scalar(value)


def _referring(value: Any) -> Any:
    """The JSON of expressions with a reference to a column in the place of each scalar subquery."""
    if isinstance(value, list):
        return [_referring(item) for item in value]
    return _attribute(int(value["exprId"]["id"])) if _is_scalar(value) else value


def _attribute(id_: int) -> dict[str, Any]:
    """An attribute in Catalyst's form. Its type is that of the column it will be bound to."""
    return {
        "class": _EXPRESSIONS + "AttributeReference",
        "num-children": 0,
        "name": "value",
        "nullable": True,
        "metadata": {},
        "exprId": {"id": id_},
        "qualifier": [],
    }


# ---- importing what was taken out -----------------------------------------------------------------------


def import_joined(scope: ImportScope, node: Node) -> Imported:
    """A child with the values of subqueries as further columns."""
    child = scope.plan(node.children[0])
    for id_, subquery in zip(node.fields["ids"], node.children[1:], strict=True):
        plan = joined(child.plan, _one_row(scope, subquery), "inner", [])
        child = replace(child, plan=plan, ids=(*child.ids, id_))
    return child


def import_dropped(scope: ImportScope, node: Node) -> Imported:
    """A child without the columns that its own child was given, where it passes them on."""
    return _without(scope.plan(node.children[0]), node.fields["ids"])


def import_filtered(scope: ImportScope, node: Node) -> Imported:
    """A filter on subqueries' values: each conjunct becomes a condition of the join with the last of the
    subqueries it needs, or a filter below all joins.

    A conjunct that may fail is not evaluated before one that stood in front of it, and may be its guard."""
    child = scope.plan(node.children[0])
    ids = node.fields["ids"]
    subqueries = [_one_row(scope, subquery) for subquery in node.children[1:]]
    values = [Imported(plan, (id_,)) for id_, plan in zip(ids, subqueries, strict=True)]
    condition = node.expression("condition")
    assert condition is not None
    predicate = not_nulls_first(scope.expr(condition, columns_of(child, *values)))
    stages: list[list[Expr]] = [[] for _ in range(len(ids) + 1)]
    last = 0
    for part in conjuncts(predicate):
        stage = max((i - len(child.ids) + 1 for i in columns_read(part)), default=0)
        stage = max(stage, last if may_raise(part) else 0)
        stages[stage].append(part)
        last = max(last, stage)
    below = conjunction(stages[0])
    plan = child.plan if below is None else filtered(child.plan, below)
    for subquery, conditions in zip(subqueries, stages[1:], strict=True):
        plan = joined(plan, subquery, "inner", conditions)
    return _without(replace(child, plan=plan, ids=(*child.ids, *ids)), ids)


def _without(imported: Imported, ids: Sequence[int]) -> Imported:
    kept = [i for i, id_ in enumerate(imported.ids) if id_ not in ids]
    if len(kept) == len(imported.ids):
        return imported
    fields = [imported.plan.schema[i] for i in kept]
    exprs = tuple(column(i, field) for i, field in zip(kept, fields, strict=True))
    names = tuple(field.name for field in fields)
    result = projected(imported, exprs, names, tuple(imported.ids[i] for i in kept))
    return with_order(result, imported, exprs)


def _one_row(scope: ImportScope, node: Node) -> Plan:
    """The plan of a scalar subquery: exactly one row of one column."""
    plan = _any_row(scope, node) or scope.plan(node).plan
    if _has_one_row(plan):
        return plan
    return SingleRow(tuple(replace(field, nullable=True) for field in plan.schema), plan)


def _has_one_row(plan: Plan) -> bool:
    if isinstance(plan, Project):
        return _has_one_row(plan.child)
    if isinstance(plan, Values):
        return len(plan.rows) == 1
    return isinstance(plan, SingleRow) or (isinstance(plan, Aggregate) and not plan.keys)


def _any_row(scope: ImportScope, node: Node) -> Plan | None:
    """An uncorrelated EXISTS, of which the optimiser makes ``(SELECT 1 … LIMIT 1) IS NOT NULL``: the constant
    if there is any row, else NULL. To count the rows is cheaper than to keep one of them."""
    below = node
    for kind in ("GlobalLimit", "LocalLimit"):
        limit = below.expression("limitExpr") if below.kind == kind else None
        if limit is None or limit.fields.get("value") != "1":
            return None
        below = below.children[0]
    if below.kind != "Project":
        return None
    outputs = [unaliased(output) for output in below.expressions("projectList")]
    if len(outputs) != 1 or outputs[0].kind != "Literal":
        return None
    value = scope.expr(outputs[0], {})
    one = Literal(IntegerType(), False, 1)
    number = Field("count(1)", LongType(), False)
    call = AggregateCall("Count", (one,), LongType(), False)
    count = Aggregate((number,), scope.plan(below.children[0]).plan, (), (call,))
    some = Call(BooleanType(), False, "GreaterThan", (column(0, number), Literal(LongType(), False, 0)))
    null = Literal(value.data_type, True, None)
    either = Call(value.data_type, True, "If", (some, value, null))
    return Project((Field("exists", value.data_type, True),), count, (either,))
