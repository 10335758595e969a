"""The relational plan: Catalyst's optimised plan as frozen, validated nodes.

Every expression in a plan is bound to column positions of its child's output (for a join: the left
columns followed by the right ones), so two plans that mean the same have no names in which they could
differ, and equal subplans are equal objects. The planner relies on that to share work between views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import DataType

from penstock.expr.nodes import Expr

__all__ = [
    "Aggregate",
    "AggregateCall",
    "Distinct",
    "Field",
    "Filter",
    "Join",
    "Plan",
    "Project",
    "Scan",
    "SortKey",
    "Union",
    "Values",
]


@dataclass(frozen=True, slots=True)
class Field:
    """One output column. The name is for people: nothing is looked up by it, and plans that differ only
    in names are equal."""

    name: str = field(compare=False)
    data_type: DataType
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Base of all plan nodes; ``schema`` describes the node's output columns."""

    schema: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Scan(Plan):
    """All columns of an input table, or of another view when views are stacked."""

    table: str


@dataclass(frozen=True, slots=True)
class Values(Plan):
    """Constant rows (``VALUES``, or a SELECT without FROM: one row of no columns)."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Project(Plan):
    """One expression for each output column."""

    child: Plan
    exprs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Filter(Plan):
    """The rows for which ``predicate`` is true (neither false nor NULL)."""

    child: Plan
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Join(Plan):
    """``kind`` is ``inner`` (which a cross join is too, with no keys).

    Rows match when every left key equals the right key beside it and ``condition`` (over the left
    columns followed by the right ones) holds. ``null_safe[i]`` says that NULL matches NULL in key ``i``.
    """

    left: Plan
    right: Plan
    kind: str
    left_keys: tuple[Expr, ...]
    right_keys: tuple[Expr, ...]
    null_safe: tuple[bool, ...]
    condition: Expr | None


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate function over a group; ``function`` is Catalyst's class name (``Sum``, ``Count``)."""

    function: str
    args: tuple[Expr, ...]
    data_type: DataType
    nullable: bool
    distinct: bool = False
    filter: Expr | None = None
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregate(Plan):
    """Groups by ``keys`` (none: one group that always exists). Output: the keys, then one column per call."""

    child: Plan
    keys: tuple[Expr, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, slots=True)
class Union(Plan):
    """UNION ALL: the sum of the children's Z-sets."""

    children: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Distinct(Plan):
    """Each row of the child once."""

    child: Plan


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY item of a view, over the view's output columns; applied when the view is read."""

    expr: Expr
    ascending: bool
    nulls_first: bool
