"""Aggregate functions that are nondeterministic in Spark, and the row order that determines them here.

``first``, ``last``, ``any_value``, ``collect_list`` and ``listagg`` depend on the order of rows, which a
GROUP BY does not have. Here the rows of a group are ordered by the arguments of all such functions of the
GROUP BY, in the order of the query, ascending, NULL first. All functions use the same order: ``first(a)`` and
``first(b)`` come from the same row, and the elements of two lists belong together, as in Spark. An argument
that is the same in all rows of a group is left out.

So ``first(a)`` is the value of ``a`` in the row with the smallest ``struct(a, b)``, and is computed like
``min_by``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import ArrayType, BooleanType, DataType, MapType, StringType, StructField, StructType

from penstock.errors import UnsupportedQuery
from penstock.expr.nodes import Call, Expr, Literal
from penstock.sql.dependencies import is_determined
from penstock.sql.imported import Imported, ImportScope, conjunction, normalised
from penstock.sql.notes import in_order_of
from penstock.sql.plan import AggregateCall
from penstock.sql.refusals import place_of, text_of
from penstock.sql.tree import Node

__all__ = ["RowOrder", "note_tie", "parts_of", "row_order"]

_PICKED = {"First": "Min", "Last": "Max"}


@dataclass(frozen=True)
class RowOrder:
    """The order of the rows of a group: by these values. ``determined_ids`` are the functions (by the ids of
    their results) whose argument is the same in all rows of a group."""

    exprs: tuple[Expr, ...]
    determined_ids: frozenset[int]

    def ordered(self, scope: ImportScope, node: Node, call: AggregateCall) -> AggregateCall:
        """A call of a function that depends on the order of rows, in this order."""
        function = node.children[0]
        if call.function in _PICKED:
            if _result_id(node) in self.determined_ids:
                return replace(call, function="Min")
            _refuse_maps(scope, node, call.args[0].data_type)
            self._note(scope, node, "Spark takes any row; here rows come")
            return self._picked(call, bool(function.fields.get("ignoreNulls", False)))
        if not _is_open(node):
            return call
        self._note(scope, node, "Spark leaves the order open; here rows come")
        if len(self.exprs) < 2:
            return call
        args = (*call.args, *self.exprs)
        if call.function == "CollectList":
            return replace(call, args=args)
        directions = ("order", ((True, True),) * len(self.exprs))
        return replace(call, args=args, options=(*call.options, directions))

    def _picked(self, call: AggregateCall, ignore_nulls: bool) -> AggregateCall:
        """The value in the first (or last) row."""
        value, extreme = normalised(call.args[0]), _PICKED[call.function]
        where = call.filter
        if ignore_nulls and value.nullable:
            tests = [] if where is None else [where]
            where = conjunction([*tests, Call(BooleanType(), False, "IsNotNull", (value,))])
        if ignore_nulls and self.exprs == (value,):
            return replace(call, function=extreme, args=(value,), filter=where, options=())
        args = (value, _struct(self.exprs))
        return replace(call, function=f"{extreme}By", args=args, nullable=True, filter=where, options=())

    def _note(self, scope: ImportScope, node: Node, text: str) -> None:
        scope.note(node, text_of(node), f"{text} {in_order_of([str(expr) for expr in self.exprs])}")


def row_order(
    scope: ImportScope,
    child: Imported,
    keys: tuple[Expr, ...],
    outputs: Sequence[Node],
    flags: frozenset[int],
) -> RowOrder:
    """The order for the functions in ``outputs`` over the groups of ``keys``. ``flags`` are columns known to
    be the same in all rows of a group."""
    found: dict[Expr, None] = {}
    determined_ids: set[int] = set()
    for node in (part for output in outputs for part in output.walk()):
        if node.kind != "AggregateExpression" or not _is_open(node):
            continue
        argument = node.children[0].children[0]
        if argument.kind == "AttributeReference" and argument.expression_id in flags:
            determined_ids.add(_result_id(node))
            continue
        value = normalised(scope.expr(argument, child.columns))
        if is_determined(value, child.plan, keys, scope.keys) or value in keys:
            determined_ids.add(_result_id(node))
        elif not _holds_maps(value.data_type):
            found[value] = None
    return RowOrder(tuple(found), frozenset(determined_ids))


def note_tie(
    scope: ImportScope, node: Node, call: AggregateCall, child: Imported, keys: tuple[Expr, ...]
) -> None:
    """Notes which value is chosen if several are equally good, or the order of a set's elements."""
    kind, text = call.function, ""
    if kind == "CollectSet" or (kind == "CollectList" and call.distinct):
        text = "Spark leaves the order of the elements open; here it is ascending"
    elif kind == "Mode" and dict(call.options).get("reverseOpt") is None:
        text = "of several most frequent values Spark takes any; here it is the smallest"
    elif kind in ("MinBy", "MaxBy", "MaxMinByK"):
        value, ordering = call.args[:2]
        if not is_determined(value, child.plan, (*keys, *parts_of(ordering)), scope.keys):
            best = "largest" if kind == "MaxBy" else "smallest"
            text = f"of several values beside the same {ordering} Spark takes any; here it is the {best}"
    if text:
        scope.note(node, text_of(node), text)


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """What two equal values have in common: themselves, and if they are structs their fields."""
    if isinstance(expr, Call) and expr.function == "CreateNamedStruct":
        return (expr, *(part for arg in expr.args[1::2] for part in parts_of(arg)))
    return (expr,)


def _is_open(node: Node) -> bool:
    """Whether a call depends on the order of rows."""
    function, distinct = node.children[0], bool(node.fields["isDistinct"])
    if function.kind in _PICKED:
        return True
    if function.kind == "CollectList":
        return not distinct
    ordered = any(arg.kind == "SortOrder" for arg in function.children)
    return function.kind == "ListAgg" and not ordered and not distinct


def _result_id(node: Node) -> int:
    return int(node.fields["resultId"]["id"])


def _struct(exprs: tuple[Expr, ...]) -> Expr:
    args: list[Expr] = []
    for i, expr in enumerate(exprs):
        args += [Literal(StringType(), False, f"c{i}"), expr]
    fields = [StructField(f"c{i}", expr.data_type, expr.nullable) for i, expr in enumerate(exprs)]
    return Call(StructType(fields), False, "CreateNamedStruct", tuple(args))


def _holds_maps(data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType):
        return _holds_maps(data_type.elementType)
    if isinstance(data_type, StructType):
        return any(_holds_maps(field.dataType) for field in data_type.fields)
    return isinstance(data_type, MapType)


def _refuse_maps(scope: ImportScope, node: Node, data_type: DataType) -> None:
    if _holds_maps(data_type):
        raise UnsupportedQuery(
            text_of(node),
            place=place_of(node, scope.view),
            reason="Spark takes any row, and maps have no order by which one could be chosen",
            advice="Use min_by(…) or max_by(…), which say which row to take",
        )
