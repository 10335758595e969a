"""Importing ASOF JOIN and NEAREST BY.

``ASOF JOIN … MATCH_CONDITION (l.t >= r.t) ON l.k = r.k`` pairs each left row with the one right row of its
key that comes last before it (``<=``: first after it). With the rows of both sides in one order, that is the
last right row so far. So the join is a window over the union of both sides, and a changed row touches the
rows of its key, not the pairs of them. If ON holds more than equalities, the pairs are examined one by one,
as for NEAREST BY.

``NEAREST k BY DISTANCE d`` pairs each left row with the k right rows for which ``d`` is smallest. Spark
computes that for all pairs; to keep equal left rows apart it gives each a random id, which could never be
kept up to date. Here the best right rows are found once for all left rows that are equal, and joined to them.

Of right rows that are equally near, Spark takes any. Here it is the smallest, or for a right row that comes
before the left one the largest, as with ``min_by`` and ``max_by`` (docs/row-order.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    _parse_datatype_json_string,
)

from penstock.errors import UnsupportedQuery
from penstock.expr.functions import lookup
from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.sql import plan as p
from penstock.sql.aggregate_functions import read_call
from penstock.sql.imported import (
    Imported,
    ImportScope,
    column,
    columns_of,
    conjunction,
    conjuncts,
    normalised,
    rebound,
)
from penstock.sql.joining import as_key, filtered, joined
from penstock.sql.notes import tells_apart
from penstock.sql.refusals import place_of
from penstock.sql.relational import object_name, projected
from penstock.sql.tree import Node
from penstock.sql.unordered import parts_of

__all__ = ["import_as_of", "import_nearest", "is_nearest"]

_BACKWARD = {"GreaterThanOrEqual": True, "GreaterThan": True, "LessThanOrEqual": False, "LessThan": False}
_SWAPPED = {
    "GreaterThanOrEqual": "LessThanOrEqual",
    "GreaterThan": "LessThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "LessThan": "GreaterThan",
}


# ---- ASOF JOIN --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Match:
    """``left operator right``, each side over the columns of its own input."""

    left: Expr
    operator: str
    right: Expr

    @property
    def backward(self) -> bool:
        """Whether the right row comes before the left one."""
        return _BACKWARD[self.operator]

    @property
    def equal_too(self) -> bool:
        """Whether a right row at the same place matches."""
        return self.operator.endswith("OrEqual")


def import_as_of(scope: ImportScope, node: Node) -> Imported:
    """``AsOfJoin``."""
    left, right = (scope.plan(child) for child in node.children)
    both = columns_of(left, right)
    condition, matching = node.expression("condition"), node.expression("asOfCondition")
    assert matching is not None
    compared = scope.expr(matching, both)
    conditions = [] if condition is None else conjuncts(scope.expr(condition, both))
    keys = [as_key(part, len(left.ids), len(right.ids)) for part in conditions]
    plain = [key for key in keys if key is not None and not key.null_safe]
    match = _match(compared, left, right)
    outer = object_name(node.fields["joinType"]) == "LeftOuter"
    if match is None:
        raise UnsupportedQuery(
            "ASOF JOIN with this MATCH_CONDITION",
            place=place_of(node, scope.view),
            reason="its sides are not a value of the left and a value of the right input",
        )
    if not tells_apart([*(key.right for key in plain), match.right], right.plan, scope.keys):
        best = "largest" if match.backward else "smallest"
        scope.note(node, "ASOF JOIN", f"of several right rows that are equally near, here it is the {best}")
    if len(plain) < len(conditions):
        return _by_pairs(left, right, [*conditions, compared], match, outer=outer)
    lefts = tuple(normalised(key.left) for key in plain)
    rights = tuple(normalised(key.right) for key in plain)
    return _by_order(left, right, lefts, rights, match, outer=outer)


def _match(compared: Expr, left: Imported, right: Imported) -> _Match | None:
    if not isinstance(compared, Call) or compared.function not in _BACKWARD:
        return None
    width = len(left.ids)
    lefts = {i: i for i in range(width)}
    rights = {width + i: i for i in range(len(right.ids))}
    one, other = compared.args
    for a, b, operator in ((one, other, compared.function), (other, one, _SWAPPED[compared.function])):
        left_side, right_side = rebound(a, lefts), rebound(b, rights)
        if left_side is not None and right_side is not None:
            return _Match(normalised(left_side), operator, normalised(right_side))
    return None


def _by_order(
    left: Imported,
    right: Imported,
    left_keys: tuple[Expr, ...],
    right_keys: tuple[Expr, ...],
    match: _Match,
    *,
    outer: bool,
) -> Imported:
    """The last right row so far, in the order in which the rows of both sides follow each other.

    A key or a place that is NULL matches nothing: such right rows are left out, and left rows without a place
    come before all others."""
    known = conjunction([_test("IsNotNull", expr) for expr in (*right_keys, match.right) if expr.nullable])
    rows = right.plan if known is None else filtered(right.plan, known)
    struct = _struct_of(rows.schema)
    keys = [p.Field(f"key{i}", key.data_type, True) for i, key in enumerate(left_keys)]
    shared = (*keys, p.Field("at", match.left.data_type, True), p.Field("side", IntegerType(), False))
    mine = tuple(replace(field, nullable=True) for field in left.plan.schema)
    schema = (*shared, *mine, p.Field("right", struct.data_type, True))
    # Which side comes first at the same place decides whether it matches.
    left_side = Literal(IntegerType(), False, int(match.equal_too))
    right_side = Literal(IntegerType(), False, int(not match.equal_too))
    nothing = Literal(struct.data_type, True, None)
    own = tuple(column(i, field) for i, field in enumerate(left.plan.schema))
    absent = tuple(Literal(field.data_type, True, None) for field in mine)
    lefts = p.Project(schema, left.plan, (*left_keys, match.left, left_side, *own, nothing))
    rights = p.Project(schema, rows, (*right_keys, match.right, right_side, *absent, struct))
    columns = [column(i, field) for i, field in enumerate(schema)]
    order = (
        p.SortKey(columns[len(keys)], match.backward, nulls_first=True),
        p.SortKey(columns[len(keys) + 1], True, nulls_first=True),
        p.SortKey(columns[-1], match.backward, nulls_first=True),
    )
    last = p.WindowCall(
        "NthValue",
        (columns[-1],),
        struct.data_type,
        True,
        p.WindowFrame(True, None, 0),
        options=(("ignoreNulls", True), ("number", -1)),
    )
    found = p.Field("found", struct.data_type, True)
    union = p.Union(schema, (lefts, rights))
    window = p.Window((*schema, found), union, tuple(columns[: len(keys)]), order, (last,))
    match_column = column(len(schema), found)
    tests: list[Expr] = [
        Call(BooleanType(), False, "EqualTo", (columns[len(keys) + 1], left_side)),
        *([] if outer else [_test("IsNotNull", match_column)]),
    ]
    predicate = conjunction(tests)
    assert predicate is not None
    return _side_by_side(filtered(window, predicate), len(shared), match_column, left, right, outer=outer)


def _side_by_side(
    plan: p.Plan, offset: int, match: Column, left: Imported, right: Imported, *, outer: bool
) -> Imported:
    """The left columns, which begin at ``offset``, and the fields of the chosen right row."""
    kept = tuple(
        Column(field.data_type, field.nullable, offset + i, field.name)
        for i, field in enumerate(left.plan.schema)
    )
    fields = tuple(_field(match, i, field.nullable or outer) for i, field in enumerate(right.plan.schema))
    names = tuple(field.name for field in (*left.plan.schema, *right.plan.schema))
    return projected(Imported(plan, ()), (*kept, *fields), names, left.ids + right.ids)


def _by_pairs(
    left: Imported, right: Imported, conditions: Sequence[Expr], match: _Match, *, outer: bool
) -> Imported:
    """The best of all pairs that match, for each left row."""
    distinct = p.Distinct(left.plan.schema, left.plan)
    pairs = joined(distinct, right.plan, "left" if outer else "inner", conditions)
    width = len(left.ids)
    positions = {i: width + i for i in range(len(right.ids))}
    at = rebound(match.right, positions)
    struct = rebound(_struct_of(right.plan.schema), positions)
    assert at is not None
    assert struct is not None
    call = p.AggregateCall(
        "MaxBy" if match.backward else "MinBy", (struct, at), struct.data_type, True, False, None
    )
    best, place = _joined_back(left.plan, pairs, (call,))
    return _side_by_side(best, 0, place, left, right, outer=outer)


def _joined_back(left: p.Plan, pairs: p.Plan, calls: tuple[p.AggregateCall, ...]) -> tuple[p.Plan, Column]:
    """The left rows, as often as they are there, beside the answer of the one call over the ``pairs`` that
    their values are in; and that answer's column."""
    width = len(left.schema)
    (call,) = calls
    keys = tuple(normalised(column(i, field)) for i, field in enumerate(pairs.schema[:width]))
    answer = p.Field("matches", call.data_type, call.nullable)
    grouped = p.Aggregate((*pairs.schema[:width], answer), pairs, keys, calls)
    equal: list[Expr] = [
        Call(BooleanType(), False, "EqualNullSafe", (column(i, field), column(width + i, field)))
        for i, field in enumerate(left.schema)
    ]
    plan = joined(left, grouped, "inner", equal)
    return plan, column(2 * width, plan.schema[2 * width])


# ---- NEAREST BY -------------------------------------------------------------------------------------------


def is_nearest(node: Node) -> bool:
    """Whether an Aggregate is what Spark makes of NEAREST BY: it groups by a random id of the left rows."""
    groupings = node.expressions("groupingExpressions")
    if len(groupings) != 1 or groupings[0].fields.get("name") != "__qid":
        return False
    return _tagged(node.children[0], groupings[0].expression_id) is not None


def _tagged(join: Node, id_: int) -> Node | None:
    """The projection on the left of a join that gives each row the id ``id_``."""
    if join.kind != "Join" or join.children[0].kind != "Project":
        return None
    project = join.children[0]
    tags = [item for item in project.expressions("projectList") if item.expression_id == id_]
    is_tag = len(tags) == 1 and tags[0].kind == "Alias" and tags[0].children[0].kind == "Uuid"
    return project if is_tag else None


def import_nearest(scope: ImportScope, node: Node) -> Imported:
    """What Spark makes of ``NEAREST k BY``: the left rows and an array of the best right rows."""
    (grouping,) = node.expressions("groupingExpressions")
    join = node.children[0]
    project = _tagged(join, grouping.expression_id)
    assert project is not None
    outputs = [
        item for item in project.expressions("projectList") if item.expression_id != grouping.expression_id
    ]
    left = scope.plan(replace(project, fields={**project.fields, "projectList": outputs}))
    right = scope.plan(join.children[1])
    distinct = replace(left, plan=p.Distinct(left.plan.schema, left.plan))
    outer = object_name(join.fields["joinType"]) == "LeftOuter"
    plan = joined(distinct.plan, right.plan, "left" if outer else "inner", [])
    pairs = Imported(plan, left.ids + right.ids)
    exprs, names, ids = [], [], []
    for output in node.expressions("aggregateExpressions"):
        call = output.children[0]
        function, args, options, where = read_call(scope, call, pairs)
        if function.kind == "First":  # a left column
            found = left.columns[function.children[0].expression_id]
        else:
            _note_nearest(scope, node, pairs, len(left.ids), args[1])
            kind = _type_of(function)
            made = p.AggregateCall(function.kind, args, kind, True, False, where, options)
            plan, found = _joined_back(left.plan, pairs.plan, (made,))
        exprs.append(found)
        names.append(str(output.fields["name"]))
        ids.append(output.expression_id)
    return projected(Imported(plan, ()), tuple(exprs), tuple(names), tuple(ids))


def _note_nearest(scope: ImportScope, node: Node, pairs: Imported, width: int, ranking: Expr) -> None:
    lefts = [column(i, field) for i, field in enumerate(pairs.plan.schema[:width])]
    if not tells_apart([*lefts, *parts_of(ranking)], pairs.plan, scope.keys):
        text = "right rows that are equally near come in ascending order of their columns, NULL first"
        scope.note(node, "NEAREST BY", text)


def _type_of(function: Node) -> DataType:
    return _parse_datatype_json_string(function.twin().dataType().json())


# ---- expressions ------------------------------------------------------------------------------------------


def _test(function: str, expr: Expr) -> Expr:
    return Call(BooleanType(), False, function, (expr,))


def _struct_of(schema: tuple[p.Field, ...]) -> Expr:
    """All columns of a row as one value, which is never NULL."""
    args: list[Expr] = []
    for i, field in enumerate(schema):
        args += [Literal(StringType(), False, f"c{i}"), column(i, field)]
    kind = StructType([StructField(f"c{i}", f.data_type, f.nullable) for i, f in enumerate(schema)])
    return Call(kind, False, "CreateNamedStruct", tuple(args))


def _field(struct: Column, ordinal: int, nullable: bool) -> Expr:
    function = lookup("GetStructField")
    assert function is not None
    options = {"ordinal": ordinal}
    kind = function.result([struct], options)
    return Call(kind, nullable, "GetStructField", (struct,), tuple(options.items()))
