"""Importers of the plan nodes that need only a few lines each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql.types import LongType, StructType

from penstock.errors import UnsupportedQuery
from penstock.expr.nodes import Call, Column, Expr
from penstock.sql.imported import Imported, ImportScope, conjunction, conjuncts, rebound, substituted
from penstock.sql.joining import filtered
from penstock.sql.plan import Field, Plan, Project, Scan, SortKey, Union, Values
from penstock.sql.refusals import place_of, text_of_order
from penstock.sql.tree import Node

__all__ = [
    "RELATION_KEY",
    "import_child",
    "import_expand",
    "import_filter",
    "import_one_row",
    "import_project",
    "import_range",
    "import_relation",
    "import_sort",
    "import_union",
    "import_values",
    "not_nulls_first",
    "object_name",
    "output_ids",
    "projected",
    "sort_keys",
    "unaliased",
    "union_of",
    "with_order",
]

RELATION_KEY = "penstock.relation"
"""Column metadata that identifies a column's relation: it survives the new ids of a self-join."""

_RANGE_LIMIT = 100_000


def import_child(scope: ImportScope, node: Node) -> Imported:
    """Nodes that only affect names or placement, not rows."""
    return scope.plan(node.children[0])


def import_relation(scope: ImportScope, node: Node) -> Imported:
    """``LogicalRDD``: a table or view of the pipeline, known by its columns' metadata."""
    output = node.twin().output()
    name = _relation_name(output.apply(0)) if output.size() else None
    if name is None or name not in scope.relations:
        raise UnsupportedQuery(
            "a DataFrame that is not of this pipeline",
            place=place_of(node, scope.view),
            advice="Declare a table with CREATE TABLE and take it from the function's argument",
        )
    schema = fields_of(scope.relations[name])
    return Imported(Scan(schema, name), output_ids(node))


def _relation_name(attribute: Any) -> str | None:
    metadata = attribute.metadata()
    return str(metadata.getString(RELATION_KEY)) if metadata.contains(RELATION_KEY) else None


def fields_of(schema: StructType) -> tuple[Field, ...]:
    """A Spark schema as plan fields."""
    return tuple(Field(field.name, field.dataType, field.nullable) for field in schema.fields)


def output_ids(node: Node) -> tuple[int, ...]:
    """The ids in a node's ``output`` field."""
    return tuple(int(attribute[0]["exprId"]["id"]) for attribute in node.fields["output"])


def import_values(scope: ImportScope, node: Node) -> Imported:
    """``LocalRelation``: constant rows, which the JSON leaves out; Spark hands them over as Arrow."""
    schema, rows = scope.local_rows(node.twin())
    return Imported(Values(fields_of(schema), rows), output_ids(node))


def import_range(scope: ImportScope, node: Node) -> Imported:
    """``Range``: consecutive numbers, which are constant rows as long as they are few."""
    numbers = range(*(int(node.fields[name]) for name in ("start", "end", "step")))
    if len(numbers) > _RANGE_LIMIT:
        raise UnsupportedQuery(
            f"range() of {len(numbers):,} rows",
            place=place_of(node, scope.view),
            reason=f"its rows become part of the view, and more than {_RANGE_LIMIT:,} are too many for that",
            advice="Keep the numbers in a table",
        )
    schema = (Field("id", LongType(), False),)
    return Imported(Values(schema, tuple((number,) for number in numbers)), output_ids(node))


def import_one_row(scope: ImportScope, node: Node) -> Imported:
    """``OneRowRelation``: what a SELECT without FROM reads."""
    return Imported(Values((), ((),)), ())


def import_project(scope: ImportScope, node: Node) -> Imported:
    """``Project``."""
    child = scope.plan(node.children[0])
    columns = child.columns
    outputs = node.expressions("projectList")
    exprs = tuple(scope.expr(unaliased(output), columns) for output in outputs)
    names = tuple(str(output.fields["name"]) for output in outputs)
    result = projected(child, exprs, names, tuple(output.expression_id for output in outputs))
    return with_order(result, child, exprs)


def unaliased(node: Node) -> Node:
    """The expression below an alias."""
    return node.children[0] if node.kind == "Alias" else node


def projected(
    child: Imported, exprs: tuple[Expr, ...], names: tuple[str, ...], ids: tuple[int, ...]
) -> Imported:
    """``exprs`` over ``child``; the child itself if they are exactly its columns.

    Two projections become one if that computes nothing twice: Spark does so too, but not across the sorts and
    expansions that have been removed from the plan here.
    """
    same = len(exprs) == len(child.plan.schema) and all(
        isinstance(expr, Column) and expr.ordinal == i for i, expr in enumerate(exprs)
    )
    if same:
        return Imported(child.plan, ids)
    schema = tuple(
        Field(name, expr.data_type, expr.nullable) for name, expr in zip(names, exprs, strict=True)
    )
    below = child.plan
    if isinstance(below, Project) and (_only_columns(below.exprs) or _different_columns(exprs)):
        composed = tuple(substituted(expr, below.exprs) for expr in exprs)
        return projected(Imported(below.child, ()), composed, names, ids)
    return Imported(Project(schema, below, exprs), ids)


def _only_columns(exprs: tuple[Expr, ...]) -> bool:
    return all(isinstance(expr, Column) for expr in exprs)


def _different_columns(exprs: tuple[Expr, ...]) -> bool:
    return _only_columns(exprs) and len(set(exprs)) == len(exprs)


def with_order(result: Imported, child: Imported, exprs: tuple[Expr, ...]) -> Imported:
    """The projection with its child's order, in terms of its own columns; no keys if one is not there."""
    ordinals = {expr.ordinal: i for i, expr in reversed(list(enumerate(exprs))) if isinstance(expr, Column)}
    keys: list[SortKey] = []
    for key in child.order:
        expr = _output_column(key.expr, exprs) or rebound(key.expr, ordinals)
        if expr is None:
            return replace(result, order_text=child.order_text)
        keys.append(replace(key, expr=expr))
    return replace(result, order=tuple(keys), order_text=child.order_text)


def _output_column(expr: Expr, exprs: tuple[Expr, ...]) -> Column | None:
    """The column that already holds ``expr``, if one does and it is more than a column."""
    if isinstance(expr, Column) or expr not in exprs:
        return None
    return Column(expr.data_type, expr.nullable, exprs.index(expr))


def import_filter(scope: ImportScope, node: Node) -> Imported:
    """``Filter``."""
    child = scope.plan(node.children[0])
    condition = node.expression("condition")
    assert condition is not None
    predicate = not_nulls_first(scope.expr(condition, child.columns))
    return replace(child, plan=filtered(child.plan, predicate))


def not_nulls_first(predicate: Expr) -> Expr:
    """The predicate with its ``IS NOT NULL`` tests of columns first, by column.

    Spark infers such tests and adds them in an order that depends on its ids. They cannot fail, so moving
    them is safe, and moving nothing else keeps a test in front of what it guards.
    """
    parts = conjuncts(predicate)
    tests = {ordinal: part for part in parts if (ordinal := _tested_column(part)) is not None}
    others = [part for part in parts if _tested_column(part) is None]
    result = conjunction([tests[ordinal] for ordinal in sorted(tests)] + others)
    assert result is not None
    return result


def _tested_column(expr: Expr) -> int | None:
    """The column of an ``IS NOT NULL`` test."""
    if isinstance(expr, Call) and expr.function == "IsNotNull" and isinstance(expr.args[0], Column):
        return expr.args[0].ordinal
    return None


def import_sort(scope: ImportScope, node: Node) -> Imported:
    """``Sort`` without a limit above it: no work, only the order in which the view is read."""
    child = replace(scope.plan(node.children[0]), order=(), order_text="")
    if not node.fields["global"]:
        return child
    keys = sort_keys(scope, node, child)
    return replace(child, order=keys, order_text=text_of_order(node.expressions("order")))


def sort_keys(scope: ImportScope, node: Node, child: Imported) -> tuple[SortKey, ...]:
    """The ORDER BY of a Sort over ``child``."""
    return tuple(
        SortKey(
            _sort_expr(scope.expr(item.children[0], child.columns), child.plan),
            ascending=object_name(item.fields["direction"]) == "Ascending",
            nulls_first=object_name(item.fields["nullOrdering"]) == "NullsFirst",
        )
        for item in node.expressions("order")
    )


def _sort_expr(expr: Expr, plan: Plan) -> Expr:
    """``expr`` as a column of ``plan`` if a projection computes the same just below the sort."""
    if not isinstance(plan, Project):
        return expr
    return _output_column(substituted(expr, plan.exprs), plan.exprs) or expr


def object_name(value: dict[str, str]) -> str:
    """The name of a Scala object in the JSON."""
    return value["object"].rpartition(".")[2].rstrip("$")


def import_union(scope: ImportScope, node: Node) -> Imported:
    """``Union``: columns by position, with the ids of the first child."""
    children = [scope.plan(child) for child in node.children]
    return union_of(children, children[0].ids, tuple(field.name for field in children[0].plan.schema))


def import_expand(scope: ImportScope, node: Node) -> Imported:
    """``Expand`` (GROUPING SETS, several DISTINCT aggregates): each row once per projection.

    That is a union of projections of one child, and the child is shared because equal plans are.
    """
    child = scope.plan(node.children[0])
    columns = child.columns
    names = tuple(str(attribute[0]["name"]) for attribute in node.fields["output"])
    ids = output_ids(node)
    parts = []
    for row in node.expression_rows("projections"):
        exprs = tuple(scope.expr(unaliased(item), columns) for item in row)
        parts.append(projected(child, exprs, names, ids))
    return parts[0] if len(parts) == 1 else union_of(parts, ids, names)


def union_of(parts: list[Imported], ids: tuple[int, ...], names: tuple[str, ...]) -> Imported:
    """The rows of all parts, columns by position."""
    by_column = zip(*(part.plan.schema for part in parts), strict=True)
    schema = tuple(
        Field(name, fields[0].data_type, any(field.nullable for field in fields))
        for name, fields in zip(names, by_column, strict=True)
    )
    return Imported(Union(schema, tuple(part.plan for part in parts)), ids)
