"""Which columns are fixed by others: what lets ``any_value`` be answered without knowing an order."""

from __future__ import annotations

import pytest
from pyspark.sql.types import BooleanType, LongType, StringType

from penstock.expr.nodes import Call, Column, Expr, Literal
from penstock.sql import plan as p
from penstock.sql.dependencies import determined, is_determined

LONG, TEXT = LongType(), StringType()
KEYS = {"customers": (0,), "lines": (0, 1)}
CUSTOMERS = p.Scan((p.Field("id", LONG, False), p.Field("name", TEXT), p.Field("region", TEXT)), "customers")
ORDERS = p.Scan((p.Field("id", LONG), p.Field("customer", LONG), p.Field("note", TEXT)), "orders")
LINES = p.Scan((p.Field("order", LONG), p.Field("line", LONG), p.Field("product", TEXT)), "lines")


def col(ordinal: int, kind: LongType | StringType = LONG) -> Column:
    return Column(kind, True, ordinal)


def join(
    kind: str, left: p.Plan, right: p.Plan, on: tuple[int, int], condition: Expr | None = None
) -> p.Join:
    schema = left.schema if kind in ("semi", "anti") else left.schema + right.schema
    return p.Join(schema, left, right, kind, (col(on[0]),), (col(on[1]),), (False,), condition)


def upper(expr: Expr) -> Call:
    return Call(TEXT, True, "Upper", (expr,))


@pytest.mark.parametrize(
    ("plan", "known", "wanted"),
    [
        (CUSTOMERS, {0}, {0, 1, 2}),
        (CUSTOMERS, {1}, {1}),
        (ORDERS, {0}, {0}),  # no primary key
        (LINES, {0}, {0}),  # half of one
        (LINES, {0, 1}, {0, 1, 2}),
        (join("inner", ORDERS, CUSTOMERS, (1, 0)), {1}, {1, 3, 4, 5}),
        (join("inner", ORDERS, CUSTOMERS, (1, 0)), {3}, {1, 3, 4, 5}),
        (join("inner", ORDERS, CUSTOMERS, (1, 0)), {2}, {2}),
        (join("left", ORDERS, CUSTOMERS, (1, 0)), {1}, {1, 3, 4, 5}),
        (join("left", ORDERS, CUSTOMERS, (1, 0)), {3}, {3, 4, 5}),  # NULL for many customers
        (join("left", ORDERS, CUSTOMERS, (1, 0), Literal(BooleanType(), True, None)), {1}, {1}),
        (join("full", ORDERS, CUSTOMERS, (1, 0)), {1}, {1}),
        (join("semi", CUSTOMERS, ORDERS, (0, 1)), {0}, {0, 1, 2}),
        (p.Distinct(CUSTOMERS.schema, CUSTOMERS), {0}, {0, 1, 2}),
        (p.Union(CUSTOMERS.schema, (CUSTOMERS, CUSTOMERS)), {0}, {0}),
    ],
)
def test_columns_that_follow_from_others(plan: p.Plan, known: set[int], wanted: set[int]) -> None:
    assert determined(plan, known, KEYS) == wanted


def test_a_left_join_fixes_the_right_columns_by_the_right_key_only_if_it_is_not_null_beside_many() -> None:
    # Grouping by c.id puts all orders without a customer into one group: their own columns differ.
    joined = join("left", ORDERS, CUSTOMERS, (1, 0))
    assert not is_determined(col(2, TEXT), joined, [col(3)], KEYS)
    assert is_determined(col(4, TEXT), joined, [col(3)], KEYS)
    # NULL as a region of its own, beside orders without any: the counts differ.
    regions = p.Aggregate((p.Field("r", TEXT), p.Field("n", LONG, False)), CUSTOMERS, (col(2, TEXT),), ())
    assert determined(join("left", ORDERS, regions, (1, 1)), {3}, KEYS) == {3}
    assert determined(join("inner", ORDERS, regions, (1, 1)), {3}, KEYS) == {1, 3, 4}


def test_an_equality_with_a_constant_fixes_a_column() -> None:
    one_order = Call(BooleanType(), True, "EqualTo", (col(0), Literal(LONG, False, 7)))
    filtered = p.Filter(LINES.schema, LINES, one_order)
    assert determined(filtered, {1}, KEYS) == {0, 1, 2}


def test_what_is_computed_from_fixed_columns_is_fixed() -> None:
    names = p.Project((p.Field("u", TEXT), p.Field("id", LONG)), CUSTOMERS, (upper(col(1, TEXT)), col(0)))
    assert determined(names, {1}, KEYS) == {0, 1}
    assert determined(names, {0}, KEYS) == {0}
    by_region = p.Aggregate((p.Field("r", TEXT), p.Field("n", LONG)), CUSTOMERS, (upper(col(2, TEXT)),), ())
    assert determined(by_region, {0}, KEYS) == {0, 1}


def test_expressions_over_the_grouping_expressions() -> None:
    given = [upper(col(1, TEXT))]
    assert is_determined(upper(upper(col(1, TEXT))), CUSTOMERS, given, KEYS)
    assert is_determined(Literal(LONG, False, 1), CUSTOMERS, [], KEYS)
    assert not is_determined(col(1, TEXT), CUSTOMERS, given, KEYS)
    assert is_determined(Call(TEXT, True, "Concat", (col(1, TEXT), col(2, TEXT))), CUSTOMERS, [col(0)], KEYS)
