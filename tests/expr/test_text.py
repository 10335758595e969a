"""Expressions as people read them."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from penstock.expr.nodes import Call, Column, Expr, Literal

A = Column(LongType(), True, 0, "a")
B = Column(LongType(), True, 1, "b")
PROFILE = StructType().add("born", IntegerType()).add("city", StringType())
RIDER = Column(PROFILE, True, 2, "profile")
RIDERS = Column(ArrayType(PROFILE), True, 3, "profiles")
TAGS = Column(MapType(StringType(), LongType()), True, 4, "tags")


def call(function: str, *args: Expr, kind: DataType | None = None, **options: object) -> Call:
    return Call(kind or BooleanType(), True, function, args, tuple(sorted(options.items())))


def number(value: int) -> Literal:
    return Literal(LongType(), False, value)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Column(LongType(), True, 3), "#3"),
        (Literal(StringType(), False, "it's"), "'it\\'s'"),
        (Literal(StringType(), True, None), "NULL"),
        (Literal(BooleanType(), False, True), "TRUE"),
        (call("And", call("IsNotNull", A), call("EqualTo", A, B)), "a IS NOT NULL AND a = b"),
        (call("And", call("Or", A, B), A), "(a OR b) AND a"),
        (call("Not", call("EqualTo", A, B)), "a <> b"),
        (call("Not", call("Or", A, B)), "NOT (a OR b)"),
        (call("Multiply", call("Add", A, B), number(2)), "(a + b) * 2"),
        (call("Subtract", A, call("Subtract", B, number(1))), "a - (b - 1)"),
        (call("In", A, number(1), number(2)), "a IN (1, 2)"),
        (call("Cast", A, kind=IntegerType()), "CAST(a AS INT)"),
        (call("CaseWhen", call("IsNull", A), B, number(0)), "CASE WHEN a IS NULL THEN b ELSE 0 END"),
        (call("DateAdd", A, number(1)), "date_add(a, 1)"),
        (call("GetStructField", RIDER, ordinal=1), "profile.city"),
        (call("GetArrayStructFields", RIDERS, ordinal=0), "profiles.born"),
        (
            call("GetStructField", call("GetArrayItem", RIDERS, number(0), kind=PROFILE), ordinal=0),
            "profiles[0].born",
        ),
        (call("GetMapValue", TAGS, Literal(StringType(), False, "x")), "tags['x']"),
        (call("LikeAny", A, patterns=("x%", "y%")), "a LIKE ANY ('x%', 'y%')"),
        (call("Not", call("NotLikeAll", A, patterns=("x%",))), "NOT a NOT LIKE ALL ('x%')"),
        (call("TimestampAdd", number(3), A, unit="HOUR"), "timestampadd(HOUR, 3, a)"),
    ],
)
def test_an_expression_reads_like_sql(expr: Expr, text: str) -> None:
    assert str(expr) == text
