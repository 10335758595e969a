"""Expressions as people read them."""

from __future__ import annotations

import pytest
from pyspark.sql.types import BooleanType, DataType, IntegerType, LongType, StringType

from penstock.expr.nodes import Call, Column, Expr, Literal

A = Column(LongType(), True, 0, "a")
B = Column(LongType(), True, 1, "b")


def call(function: str, *args: Expr, kind: DataType | None = None) -> Call:
    return Call(kind or BooleanType(), True, function, args)


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
    ],
)
def test_an_expression_reads_like_sql(expr: Expr, text: str) -> None:
    assert str(expr) == text
