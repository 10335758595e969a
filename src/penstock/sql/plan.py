"""The relational plan: Catalyst's optimised plan as frozen, validated nodes.

Every expression in a plan is bound to column positions of its child's output (for a join: the left
columns followed by the right ones), so two plans that mean the same have no names in which they could
differ, and equal subplans are equal objects. The planner relies on that to share work between views.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from pyspark.sql.types import DataType

from penstock.expr.nodes import Expr

__all__ = [
    "Aggregate",
    "AggregateCall",
    "Distinct",
    "Field",
    "Filter",
    "Generate",
    "Join",
    "Plan",
    "Project",
    "Repeat",
    "Scan",
    "SessionParts",
    "Sessions",
    "SingleRow",
    "SortKey",
    "TopK",
    "Union",
    "Values",
    "Window",
    "WindowCall",
    "WindowFrame",
    "depth_of",
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
    """Rows match when every left key equals the right key beside it and ``condition`` (over the left
    columns followed by the right ones) holds. ``null_safe[i]`` says that NULL matches NULL in key ``i``.

    ``kind`` is one of

    * ``inner`` (a cross join too, with no keys): the pairs that match;
    * ``left``, ``full``: also the left rows, or all rows, without a match, beside NULLs;
    * ``single``: as ``left``, and a second match of a left row is an error (a correlated scalar subquery);
    * ``semi``, ``anti``: the left rows that have a match, or have none; output: the left columns;
    * ``existence``: all left rows, with whether they have a match as the last column.
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
class SingleRow(Plan):
    """The only row of the child, or a row of NULLs if it has none; more than one is an error."""

    child: Plan


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY item: of a view, over its output columns and applied when it is read; of a plan node, over
    the columns of its child."""

    expr: Expr
    ascending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class TopK(Plan):
    """For each key (no keys: for all rows) the rows at the positions from ``offset`` on, ``limit`` of them or
    all, in the order of ``order``; ties are broken by the values of the columns from the first to the last.
    The last ``numbers`` columns of the output are not the child's: they hold the row number, counted from
    1."""

    child: Plan
    keys: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    offset: int
    limit: int | None
    numbers: int = 0


@dataclass(frozen=True, slots=True)
class WindowFrame:
    """None is unbounded. With ``rows`` a bound is a number of rows, negative for those before the
    current one; otherwise it is 0 for the current row's peers, or an expression for the value of the
    ORDER BY column there."""

    rows: bool
    lower: int | Expr | None
    upper: int | Expr | None


@dataclass(frozen=True, slots=True)
class WindowCall:
    """One function over a window; ``function`` is Catalyst's class name, or ``Shift`` for LAG and LEAD and
    ``NthValue`` for whatever takes one row's value out of the frame."""

    function: str
    args: tuple[Expr, ...]
    data_type: DataType
    nullable: bool
    frame: WindowFrame
    filter: Expr | None = None
    options: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Window(Plan):
    """Output: the child's columns, then one for each call. Rows that ``order`` does not tell apart are
    ordered by the values of the columns from the first to the last."""

    child: Plan
    keys: tuple[Expr, ...]
    order: tuple[SortKey, ...]
    calls: tuple[WindowCall, ...]


@dataclass(frozen=True, slots=True)
class Sessions(Plan):
    """Each row covers the time from its ``start`` to its ``end``, and rows of equal keys whose intervals
    touch form one session. Output: the child's columns, then the start of the row's session."""

    child: Plan
    keys: tuple[Expr, ...]
    start: Expr
    end: Expr


@dataclass(frozen=True, slots=True)
class SessionParts(Plan):
    """Rows that touch as in :class:`Sessions`, as far as they arrive in the same step, combined: one row with
    the weight of all of them. Output: the keys, the first start, the last end, then the largest (or, where
    the flag is not set, the smallest) of each of ``extremes``. The planner creates it, over insert-only
    input."""

    child: Plan
    keys: tuple[Expr, ...]
    start: Expr
    end: Expr
    extremes: tuple[tuple[Expr, bool], ...]


@dataclass(frozen=True, slots=True)
class Generate(Plan):
    """The child's columns ``keep`` beside each element of ``array``; a row without elements is left out,
    or with ``outer`` appears once, beside NULLs. With ``position`` the element's position comes before
    it; with ``inline`` it is a struct (or a map's entry), and its fields are the columns."""

    child: Plan
    array: Expr
    keep: tuple[int, ...]
    position: bool
    inline: bool
    outer: bool


@dataclass(frozen=True, slots=True)
class Repeat(Plan):
    """The child's columns ``keep``, each row as often as ``times`` says."""

    child: Plan
    times: Expr
    keep: tuple[int, ...]


def depth_of(plan: Plan) -> int:
    """How many nodes are nested in each other at most, the calls of the deepest expression included."""
    deepest = inside = 0
    rest: list[tuple[Any, int]] = [(plan, 1)]
    while rest:
        value, level = rest.pop()
        if isinstance(value, Expr):
            inside = max(inside, value.depth)
        elif isinstance(value, Plan | AggregateCall | WindowCall | WindowFrame | SortKey):
            deepest = max(deepest, level)
            names = [item.name for item in fields(value) if item.name not in ("schema", "rows")]
            rest += [(getattr(value, name), level + 1) for name in names]
        elif isinstance(value, tuple):
            rest += [(item, level) for item in value]
    return deepest + inside
