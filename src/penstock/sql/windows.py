"""Importing window functions.

Catalyst has one Window node for all functions over the same partitions in the same order. It is split in
two, as an aggregate is: a :class:`~penstock.sql.plan.Window` with plain calls, and a projection on top
where the optimiser wrapped a call in something else. A frame between two values of the ORDER BY column is
imported as expressions for these values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import types as t
from pyspark.sql.types import _parse_datatype_json_string

from penstock.errors import UnsupportedQuery
from penstock.expr.evaluate import evaluate
from penstock.expr.functions import lookup
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.sql.aggregate_functions import VALUES, read_call
from penstock.sql.imported import Imported, ImportScope, column, normalised, own_reference
from penstock.sql.limits import limit_order, sorted_below
from penstock.sql.notes import in_order_of, tells_apart
from penstock.sql.plan import Field, SortKey, TopK, Window, WindowCall, WindowFrame
from penstock.sql.refusals import place_of, text_of
from penstock.sql.relational import object_name, projected, unaliased
from penstock.sql.tree import Node
from penstock.sql.unordered import parts_of

__all__ = ["import_group_limit", "import_window"]

_UNBOUNDED = ("UnboundedPreceding$", "UnboundedFollowing$")
_RANKINGS = frozenset({"RowNumber", "Rank", "DenseRank", "PercentRank", "CumeDist"})


def import_window(scope: ImportScope, node: Node) -> Imported:
    """``Window``."""
    below, hidden = sorted_below(node)
    child = scope.plan(below)
    keys = tuple(scope.expr(item, child.columns) for item in node.expressions("partitionSpec"))
    split = _Split(scope, child, _order(scope, node, child) or limit_order(scope, node, child))
    outputs = node.expressions("windowExpressions")
    exprs = tuple(split.output(output) for output in outputs)
    _note_ties(scope, node, child, keys, split)
    fields = tuple(Field(_name(call), call.data_type, call.nullable) for call in split.calls)
    plan = Window((*child.plan.schema, *fields), child.plan, keys, split.order, tuple(split.calls))
    kept = [i for i, id_ in enumerate(child.ids) if id_ not in hidden]
    through = tuple(column(i, child.plan.schema[i]) for i in kept)
    names = (*(expr.name for expr in through), *(str(item.fields["name"]) for item in outputs))
    ids = (*(child.ids[i] for i in kept), *(output.expression_id for output in outputs))
    return projected(Imported(plan, ()), (*through, *exprs), names, ids)


def _note_ties(
    scope: ImportScope, node: Node, child: Imported, keys: tuple[Expr, ...], split: _Split
) -> None:
    """Notes in which order rows come that the ORDER BY of a window does not tell apart, where it matters."""
    order = [key.expr for key in split.order]
    given = [part for expr in (*keys, *order) for part in parts_of(expr)]
    dependent = [call for call in split.calls if _follows_order(call)]
    if not dependent or (not node.expressions("orderSpec") and _numbers_a_limit(node)):
        return
    if not tells_apart(given, child.plan, scope.keys):
        come = in_order_of([field.name for field in child.plan.schema])
        rows = "rows that ORDER BY does not tell apart come" if order else "there is no ORDER BY: rows come"
        written = split.written[dependent[0]]
        scope.note(written, text_of(written), f"{rows} {come}")


def _numbers_a_limit(node: Node) -> bool:
    """Whether a window without an order numbers rows, which only a LIMIT in a correlated subquery does."""
    return any(
        part.kind == "RowNumber" for item in node.expressions("windowExpressions") for part in item.walk()
    )


def _follows_order(call: WindowCall) -> bool:
    """Whether the answer can depend on the order of rows that are equal to the ORDER BY."""
    if call.function in ("RowNumber", "NTile", "Shift", "NthValue", "CollectList", "ListAgg"):
        return True
    frame = call.frame
    return call.function not in _RANKINGS and frame.rows and (frame.lower, frame.upper) != (None, None)


def import_group_limit(scope: ImportScope, node: Node) -> Imported:
    """``WindowGroupLimit``: no more rows of a partition than a filter above lets through.

    Only a hint, since the filter stays; taken where it is a number of rows, so that the window functions
    above keep and renumber these rows only."""
    child = scope.plan(node.children[0])
    function = node.expression("rankLikeFunction")
    if function is None or function.kind != "RowNumber":
        return child
    keys = tuple(scope.expr(item, child.columns) for item in node.expressions("partitionSpec"))
    order = _order(scope, node, child)
    limit = int(node.fields["limit"])
    return replace(child, plan=TopK(child.plan.schema, child.plan, keys, order, 0, limit))


def _order(scope: ImportScope, node: Node, child: Imported) -> tuple[SortKey, ...]:
    return tuple(
        SortKey(
            scope.expr(item.children[0], child.columns),
            ascending=object_name(item.fields["direction"]) == "Ascending",
            nulls_first=object_name(item.fields["nullOrdering"]) == "NullsFirst",
        )
        for item in node.expressions("orderSpec")
    )


class _Split:
    """The calls of one Window, and the columns by which its outputs refer to them."""

    def __init__(self, scope: ImportScope, child: Imported, order: tuple[SortKey, ...]) -> None:
        self._scope, self._child, self.order = scope, child, order
        self.calls: list[WindowCall] = []
        self.written: dict[WindowCall, Node] = {}
        self._columns: dict[int, Column] = dict(child.columns)

    def output(self, node: Node) -> Expr:
        """An output expression over the child's columns and those of the calls."""
        return self._scope.expr(unaliased(node).rewrite(self._as_column), self._columns)

    def _as_column(self, node: Node) -> Node | None:
        if node.kind != "WindowExpression":
            return None
        call = self._call(node)
        if call not in self.calls:
            self.calls.append(call)
            self.written[call] = node
        ordinal = len(self._child.plan.schema) + self.calls.index(call)
        field = Field(_name(call), call.data_type, call.nullable)
        return own_reference(ordinal, field, self._columns, node.twin)

    def _call(self, node: Node) -> WindowCall:
        function, spec = node.children
        frame = self._frame(node, spec.children[-1])
        if function.kind == "AggregateExpression":
            return self._aggregate(function, frame)
        if function.kind in _RANKINGS:
            return self._made(function, (), frame)
        args = tuple(self._scope.expr(arg, self._child.columns) for arg in function.children)
        ignore = (("ignoreNulls", bool(function.fields.get("ignoreNulls", False))),)
        if function.kind in ("Lag", "Lead"):
            value, offset, default = args
            rows = self._constant(node, offset) * (1 if function.kind == "Lead" else -1)
            return self._made(function, (value, default), frame, (*ignore, ("offset", rows)), "Shift")
        if function.kind == "NthValue":
            number = self._constant(node, args[1])
            return self._made(function, args[:1], frame, (*ignore, ("number", number)))
        if function.kind == "NTile":
            return self._made(function, (), frame, (("buckets", self._constant(node, args[0])),))
        raise self._refused(node, f"the window function {function.twin().prettyName()}")

    def _aggregate(self, node: Node, frame: WindowFrame) -> WindowCall:
        function, args, found, where = read_call(self._scope, node, self._child)
        if function.kind in ("First", "Last"):
            ignore = bool(function.fields.get("ignoreNulls", False))
            found = (("ignoreNulls", ignore), ("number", 1 if function.kind == "First" else -1))
            return replace(self._made(function, args[:1], frame, found, "NthValue"), filter=where)
        if function.kind in VALUES:
            args = tuple(normalised(arg) for arg in args)
        return replace(self._made(function, args, frame, found), filter=where)

    def _made(
        self,
        function: Node,
        args: tuple[Expr, ...],
        frame: WindowFrame,
        found: tuple[tuple[str, Any], ...] = (),
        name: str = "",
    ) -> WindowCall:
        twin = function.twin()
        kind = _parse_datatype_json_string(twin.dataType().json())
        return WindowCall(name or function.kind, args, kind, bool(twin.nullable()), frame, None, found)

    def _constant(self, node: Node, expr: Expr) -> int:
        if not isinstance(expr, Literal) or expr.value is None:
            raise self._refused(node, "an offset that is not a number")
        return int(expr.value)

    # ---- frames -----------------------------------------------------------------------------------

    def _frame(self, node: Node, frame: Node) -> WindowFrame:
        lower, upper = frame.children
        if object_name(frame.fields["frameType"]) == "RowFrame":
            return WindowFrame(True, self._rows(node, lower), self._rows(node, upper))
        return WindowFrame(False, self._value(node, lower), self._value(node, upper))

    def _rows(self, node: Node, bound: Node) -> int | None:
        if bound.kind in _UNBOUNDED:
            return None
        if bound.kind == "CurrentRow$":
            return 0
        return int(_evaluated(self._scope.expr(bound, {})))

    def _value(self, node: Node, bound: Node) -> int | Expr | None:
        """The value of the ORDER BY column at which the current row's frame begins or ends."""
        if bound.kind in _UNBOUNDED:
            return None
        if bound.kind == "CurrentRow$":
            return 0
        offset = self._scope.expr(bound, {})
        value = _evaluated(offset)
        (item,) = self.order
        moved = Literal(offset.data_type, False, value if item.ascending else -value)
        make = _additions(self._scope.ansi, self._scope.timezone).get(
            (type(item.expr.data_type), type(offset.data_type))
        )
        if isinstance(item.expr.data_type, t.NumericType):
            make = _numbers(self._scope.ansi)
        if make is None:
            raise self._refused(node, f"RANGE with {text_of(bound)}")
        return make(item.expr, moved)

    def _refused(self, node: Node, construct: str) -> UnsupportedQuery:
        return UnsupportedQuery(
            construct, place=place_of(node, self._scope.view), reason="not supported yet", advice=""
        )


_Addition = Callable[[Expr, Literal], Expr]


def _numbers(ansi: bool) -> _Addition:
    return lambda key, by: _called("Add", (key, by), {"mode": "ANSI" if ansi else "LEGACY"})


def _additions(ansi: bool, timezone: str) -> dict[tuple[type, type], _Addition]:
    """How Spark adds to a column of one type an offset of another."""

    def zoned(name: str) -> _Addition:
        return lambda key, by: _called(name, (key, by), {"timezone": timezone})

    def days(key: Expr, by: Literal) -> Expr:
        return _called("DateAdd", (key, Literal(t.IntegerType(), False, by.value.days)), {})

    by_days, by_months = zoned("TimestampAddInterval"), zoned("TimestampAddYMInterval")
    return {
        (t.DateType, t.IntegerType): lambda key, by: _called("DateAdd", (key, by), {}),
        (t.DateType, t.DayTimeIntervalType): days,
        (t.DateType, t.YearMonthIntervalType): lambda key, by: _called("DateAddYMInterval", (key, by), {}),
        (t.TimestampType, t.DayTimeIntervalType): by_days,
        (t.TimestampNTZType, t.DayTimeIntervalType): by_days,
        (t.TimestampType, t.YearMonthIntervalType): by_months,
        (t.TimestampNTZType, t.YearMonthIntervalType): by_months,
    }


def _called(name: str, args: tuple[Expr, ...], found: dict[str, Any]) -> Expr:
    function = lookup(name)
    assert function is not None
    data_type = function.result(list(args), found)
    return Call(data_type, function.can_be_null(list(args), found), name, args, tuple(sorted(found.items())))


def _evaluated(expr: Expr) -> Any:
    """The value of a constant expression."""
    return evaluate(expr, [], 1)[0].as_py()


def _name(call: WindowCall) -> str:
    return f"{call.function.lower()}({', '.join(map(str, call.args))})"
