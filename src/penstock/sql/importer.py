"""Converts Catalyst's optimised plan to the frozen nodes of :mod:`penstock.sql.plan`.

One function imports one class of Catalyst node; :data:`IMPORTERS` lists all of them, and a class that is not
in it is rejected by name. Catalyst binds expressions by id; here a column is its position in the child's
output, so the same query always gives an equal plan, whatever ids a session happened to draw. At the end the
resulting types are compared with those Spark gives for the query: a difference is a bug in Penstock and is
reported instead of computing with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import StructType

from penstock.errors import PipelineError, UnsupportedQuery
from penstock.expr.catalyst import expression_from_json
from penstock.expr.depth import room_for
from penstock.expr.nodes import Column, Expr
from penstock.sql import (
    aggregates,
    asof,
    generators,
    joins,
    limits,
    python_nodes,
    relational,
    subqueries,
    windows,
)
from penstock.sql.imported import Imported, ImportScope
from penstock.sql.notes import Note
from penstock.sql.plan import Plan, SortKey
from penstock.sql.refusals import place_of, refuse_expression, refuse_plan
from penstock.sql.schemas import same_types
from penstock.sql.tree import Node

__all__ = ["IMPORTERS", "Importer", "import_plan"]

IMPORTERS: Mapping[str, Callable[[ImportScope, Node], Imported]] = {
    "LogicalRDD": relational.import_relation,
    "LocalRelation": relational.import_values,
    "OneRowRelation": relational.import_one_row,
    "Range": relational.import_range,
    "Project": relational.import_project,
    "Filter": relational.import_filter,
    "Union": relational.import_union,
    "Expand": relational.import_expand,
    "Sort": relational.import_sort,
    "GlobalLimit": limits.import_limit,
    "LocalLimit": relational.import_child,
    "Offset": limits.import_limit,
    limits.TAKEN: limits.import_taken,
    "Window": windows.import_window,
    "WindowGroupLimit": windows.import_group_limit,
    "Generate": generators.import_generate,
    "Join": joins.import_join,
    "AsOfJoin": asof.import_as_of,
    "Aggregate": aggregates.import_aggregate,
    "BatchEvalPython": python_nodes.import_eval_python,
    "ArrowEvalPython": python_nodes.import_eval_python,
    subqueries.JOINED: subqueries.import_joined,
    subqueries.FILTERED: subqueries.import_filtered,
    subqueries.DROPPED: subqueries.import_dropped,
    "SubqueryAlias": relational.import_child,
    "View": relational.import_child,
    "Repartition": relational.import_child,
    "RepartitionByExpression": relational.import_child,
    "RebalancePartitions": relational.import_child,
}


@dataclass(frozen=True)
class Importer:
    """Imports the plans of one view; ``relations`` are the schemas it may scan, ``keys`` the positions of
    the primary keys of those that have one."""

    view: str
    relations: Mapping[str, StructType]
    keys: Mapping[str, tuple[int, ...]]
    ansi: bool
    timezone: str
    rows_of: Callable[[Any], tuple[StructType, tuple[tuple[Any, ...], ...]]]
    last_key_wins: bool = False
    shortest: bool = False
    python_conf: tuple[tuple[str, str], ...] = ()
    notes: list[Note] = field(default_factory=list)

    def note(self, node: Node, construct: str, text: str, *, leaves_open: bool = True) -> None:
        """Notes where the query is nondeterministic, and which answer the view gives."""
        place = place_of(node, self.view).removesuffix(f": {construct}")
        note = Note(construct, place, text, leaves_open)
        if note not in self.notes:
            self.notes.append(note)

    def local_rows(self, relation: Any) -> tuple[StructType, tuple[tuple[Any, ...], ...]]:
        """Schema and rows of a ``LocalRelation`` in the JVM."""
        return self.rows_of(relation)

    def plan(self, node: Node) -> Imported:
        """A plan node and all below it."""
        importer = IMPORTERS.get(node.kind)
        if importer is None:
            raise refuse_plan(node, self.view)
        return importer(self, node)

    def expr(self, node: Node, columns: Mapping[int, Column]) -> Expr:
        """An expression, its attributes bound by their ids to ``columns``."""
        refuse_expression(node, self.view)
        try:
            return self._bound(node, columns)
        except UnsupportedQuery as error:
            place = place_of(self._innermost_refused(node, columns), self.view)
            raise UnsupportedQuery(
                error.construct, place=place, reason=error.reason, advice=error.advice
            ) from None

    def _bound(self, node: Node, columns: Mapping[int, Column]) -> Expr:
        def resolve(id_: int) -> Column:
            if id_ not in columns:
                raise PipelineError(
                    f"internal error: view {self.view} refers to a column its input does not have, in "
                    f"{node.twin().toString()}; please report this query"
                )
            return columns[id_]

        return expression_from_json(
            node.flatten(),
            resolve,
            self.ansi,
            self.timezone,
            last_key_wins=self.last_key_wins,
            shortest=self.shortest,
        )

    def _innermost_refused(self, node: Node, columns: Mapping[int, Column]) -> Node:
        """The smallest part of a rejected expression that is rejected by itself, to name its position."""
        for child in node.children:
            try:
                self._bound(child, columns)
            except UnsupportedQuery:
                return self._innermost_refused(child, columns)
        return node


def import_plan(importer: Importer, node: Node, schema: StructType) -> tuple[Plan, tuple[SortKey, ...]]:
    """The plan of a whole query whose Spark schema is ``schema``, and the order to read it in."""
    with room_for(node.depth):
        imported = importer.plan(subqueries.lifted(node))
    if imported.order_text and not imported.order:
        advice = "add them to the SELECT list to have it sorted when it is read"
        text = f"the view is read in no particular order: it does not have these columns; {advice}"
        importer.note(node, f"ORDER BY {imported.order_text}", text, leaves_open=False)
    _check_types(importer.view, imported.plan, schema)
    return imported.plan, imported.order


def _check_types(view: str, plan: Plan, schema: StructType) -> None:
    ours = [field.data_type for field in plan.schema]
    theirs = [field.dataType for field in schema.fields]
    if len(ours) == len(theirs) and all(map(same_types, ours, theirs)):
        return
    raise PipelineError(
        f"internal error: view {view} was imported with the column types "
        f"({', '.join(t.simpleString() for t in ours)}) where Spark has "
        f"({', '.join(t.simpleString() for t in theirs)}); please report this query"
    )
