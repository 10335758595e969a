"""Importing GROUP BY ``session_window(…)``.

Catalyst's logical plan groups by a struct of each row's own start and end, and marks it as a session window
only in the metadata of that column; Spark merges those that touch when it runs the plan. Here the rows first
go through :class:`~penstock.sql.plan.Sessions`, which assigns each the start of its session. The rows are
then grouped by that start, the session's end is the largest end among them, and the struct is rebuilt above
the aggregate. The metadata stays on the column through subqueries and views, and so does its meaning:
grouping by the ``session_window`` of a subquery or a view merges sessions once more, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql.types import StructType

from penstock.errors import UnsupportedQuery
from penstock.expr.functions import lookup
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.sql.distincts import OriginalAggregate
from penstock.sql.explain import children_of
from penstock.sql.imported import Imported, ImportScope, column, normalised
from penstock.sql.plan import AggregateCall, Field, Plan, Project, Sessions
from penstock.sql.refusals import place_of
from penstock.sql.relational import projected
from penstock.sql.tree import Node

__all__ = ["SESSION_KEY", "Session", "has_sessions", "session_grouping", "sessions_below"]

SESSION_KEY = "spark.sessionWindow"
"""Spark's metadata key for a column that groups rows into sessions."""

_AS_THEY_ARE = "Group by struct(w.start, w.end) to take windows w as they are"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


def has_sessions(plan: Plan) -> bool:
    """Whether a plan groups rows by their sessions anywhere."""
    return isinstance(plan, Sessions) or any(map(has_sessions, children_of(plan)))


def session_grouping(scope: ImportScope, node: Node, source: OriginalAggregate) -> Node | None:
    """The grouping column of an Aggregate that is a session window, if there is one. Raises where Spark
    itself has no deterministic answer to compare with."""
    found = [item for item in source.groupings if _means_sessions(item)]
    if not found:
        return None
    if len(found) > 1:
        reason = "Spark puts together the sessions of one of them and takes the other as it is"
        raise _refused(scope, node, "two session windows in one GROUP BY", reason, _AS_THEY_ARE)
    if found[0].fields["nullable"]:
        reason = "Spark fails where the window is NULL, as in GROUPING SETS and behind an outer join"
        raise _refused(scope, node, "a session window that may be NULL in GROUP BY", reason, _AS_THEY_ARE)
    if source.child is not node.children[0]:
        reason = "Spark counts a value again for each part of a session in which it comes up"
        advice = "Compute each DISTINCT aggregate in a view of its own, with its filter in WHERE"
        construct = "DISTINCT of several columns or with FILTER, by session_window,"
        raise _refused(scope, node, construct, reason, advice)
    return found[0]


def _means_sessions(item: Node) -> bool:
    """The JSON leaves out metadata, so the column in the JVM is asked, if it may be one."""
    kind = item.fields.get("dataType")
    if item.kind != "AttributeReference" or not isinstance(kind, dict) or kind["type"] != "struct":
        return False
    return bool(item.twin().metadata().contains(SESSION_KEY))


@dataclass(frozen=True)
class Session:
    """The grouping column ``id`` over the rows in their sessions. In ``child`` it is the start of the row's
    session; ``start`` and ``end`` are the row's own."""

    id: int
    child: Imported
    start: Expr
    end: Expr

    def check(self, scope: ImportScope, call: Node) -> None:
        """Raises if an aggregate function reads the window: it would get each row's own. PIVOT expects a
        single row for each of its columns, and would take any of the merged sessions."""
        if call.children[0].kind == "PivotFirst":
            reason = "of the sessions that become one it takes any"
            advice = "Use sum(…) FILTER (WHERE …) for each column"
            raise _refused(scope, call, "PIVOT by session_window", reason, advice)
        if any(self._is(inner) for inner in call.walk()):
            reason = "it gets the window of each single row, not that of the session"
            advice = "Use the time itself, as in max(at)"
            raise _refused(scope, call, "session_window in an aggregate function", reason, advice)

    def is_start(self, call: AggregateCall) -> bool:
        """Whether a call is the start of the session: the smallest start of its rows."""
        return (call.function, call.args, call.filter) == ("Min", (self.start,), None)

    @property
    def last(self) -> AggregateCall:
        """The call that is the end of the session."""
        return AggregateCall("Max", (self.end,), self.end.data_type, False)

    def output(self, node: Node, last: Callable[[], Node]) -> Node | None:
        """What an output refers to instead of the window or of a field of it; ``last`` makes the reference to
        the session's end."""
        if node.kind == "GetStructField" and self._is(node.children[0]):
            return node.children[0] if node.fields["ordinal"] == 0 else last()
        if not self._is(node):
            return None
        children = (_text("start", node), node, _text("end", node), last())
        return _made("CreateNamedStruct", children, node, {})

    def _is(self, node: Node) -> bool:
        return node.kind == "AttributeReference" and node.expression_id == self.id


def sessions_below(scope: ImportScope, child: Imported, window: Node, others: list[Node]) -> Session:
    """``child`` with its rows in sessions, where the grouping columns are ``window`` and ``others``."""
    narrow, start, end = _unpacked(child, window.expression_id)
    columns = narrow.columns
    keys = tuple(normalised(scope.expr(item, columns)) for item in others)
    schema = (*narrow.plan.schema, Field(str(window.fields["name"]), start.data_type, False))
    plan = Sessions(schema, narrow.plan, keys, start, end)
    return Session(window.expression_id, Imported(plan, (*narrow.ids, window.expression_id)), start, end)


def _unpacked(child: Imported, window: int) -> tuple[Imported, Expr, Expr]:
    """The child without the window, if it was computed just below, and its start and end over what is
    left."""
    place = child.ids.index(window)
    plan = child.plan
    ids = [id_ if id_ != window else -1 for id_ in child.ids]
    made = plan.exprs[place] if isinstance(plan, Project) else None
    if not isinstance(plan, Project) or not isinstance(made, Call) or made.function != "CreateNamedStruct":
        struct = column(place, plan.schema[place])
        start, end = _field(struct, 0), _field(struct, 1)
        return Imported(plan, tuple(ids)), start, end
    exprs = [expr for i, expr in enumerate(plan.exprs) if i != place]
    names = [field.name for i, field in enumerate(plan.schema) if i != place]
    del ids[place]
    first, last = _plain(made.args[1]), _plain(made.args[3])
    found = []
    for role, expr in (("start", first), ("end", last)):
        over = _over(expr, exprs)
        if over is None:
            name = expr.name if isinstance(expr, Column) else role
            over = Column(expr.data_type, expr.nullable, len(exprs), name)
            exprs.append(expr)
            names.append(name)
            ids.append(-1 - len(exprs))
        found.append(over)
    narrow = projected(Imported(plan.child, ()), tuple(exprs), tuple(names), tuple(ids))
    return narrow, found[0], found[1]


def _plain(expr: Expr) -> Expr:
    """A timestamp without the conversions to a number and back that Spark wraps it in."""
    inner = expr
    for _ in range(2):
        if not isinstance(inner, Call) or inner.function != "PreciseTimestampConversion":
            return expr
        (inner,) = inner.args
    return inner if inner.data_type == expr.data_type else expr


def _over(expr: Expr, exprs: list[Expr]) -> Expr | None:
    """An expression in terms of columns that hold ``exprs``, if these are all that it takes."""
    if expr in exprs:
        ordinal = exprs.index(expr)
        return Column(expr.data_type, expr.nullable, ordinal, getattr(expr, "name", ""))
    if isinstance(expr, Literal):
        return expr
    if not isinstance(expr, Call):
        return None
    args = [_over(arg, exprs) for arg in expr.args]
    known = tuple(arg for arg in args if arg is not None)
    if len(known) < len(args):
        return None
    return Call(expr.data_type, expr.nullable, expr.function, known, expr.options)


def _field(struct: Column, ordinal: int) -> Expr:
    function = lookup("GetStructField")
    assert function is not None
    assert isinstance(struct.data_type, StructType)
    options = {"ordinal": ordinal}
    return Call(function.result([struct], options), True, "GetStructField", (struct,), tuple(options.items()))


def _text(value: str, like: Node) -> Node:
    return _made("Literal", (), like, {"value": value, "dataType": "string"})


def _made(kind: str, children: tuple[Node, ...], like: Node, fields: dict[str, Any]) -> Node:
    """An expression in Catalyst's form, in the place of ``like``."""
    named = {"class": _EXPRESSIONS + kind, "num-children": len(children), **fields}
    return Node(kind, named, children, like.twin)


def _refused(
    scope: ImportScope, node: Node, construct: str, reason: str, advice: str = ""
) -> UnsupportedQuery:
    return UnsupportedQuery(construct, place=place_of(node, scope.view), reason=reason, advice=advice)
