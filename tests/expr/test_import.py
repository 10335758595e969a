"""From Catalyst's JSON to expressions: types, refusals, and what only the live tree knows."""

from __future__ import annotations

import datetime
import decimal
import json
import re
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr import Call, Column, Literal, expression_from_json, may_raise, to_arrow, type_from_json
from penstock.expr.functions import lookup, names
from penstock.expr.literals import literal_value
from tests.expr.checker import Checker


@pytest.mark.parametrize(
    "kind",
    [
        t.BooleanType(),
        t.ByteType(),
        t.ShortType(),
        t.IntegerType(),
        t.LongType(),
        t.FloatType(),
        t.DoubleType(),
        t.StringType(),
        t.BinaryType(),
        t.DateType(),
        t.TimestampType(),
        t.TimestampNTZType(),
        t.NullType(),
        t.DecimalType(12, 2),
        t.DayTimeIntervalType(0, 3),
        t.DayTimeIntervalType(1, 1),
        t.YearMonthIntervalType(0, 1),
        t.ArrayType(t.LongType(), False),
        t.MapType(t.StringType(), t.DecimalType(5, 0), True),
        t.StructType([t.StructField("a", t.ArrayType(t.DateType(), True), False)]),
    ],
)
def test_types_are_read_as_spark_writes_them(kind: t.DataType) -> None:
    assert type_from_json(json.loads(kind.json())) == kind
    assert isinstance(to_arrow(kind), pa.DataType)


@pytest.mark.parametrize("word", ["interval", "string collate UTF8_LCASE", "variant", "nonsense"])
def test_types_without_a_columnar_form_are_refused(word: str) -> None:
    with pytest.raises(UnsupportedQuery, match=re.escape(word)):
        type_from_json(word)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("true", t.BooleanType(), True),
        ("-7", t.LongType(), -7),
        ("1.0E300", t.DoubleType(), 1e300),
        ("-Infinity", t.DoubleType(), float("-inf")),
        ("1.50", t.DecimalType(12, 2), decimal.Decimal("1.50")),
        ("2024-02-29", t.DateType(), datetime.date(2024, 2, 29)),
        ("+10000-01-01", t.DateType(), 2932897),
        ("2020-03-01 12:00:00.123", t.TimestampType(), 1583092800123000),
        ("1583064000123000", t.TimestampNTZType(), 1583064000123000),
        ("86400000000", t.DayTimeIntervalType(0, 0), 86400000000),
        ("14", t.YearMonthIntervalType(0, 1), 14),
        ("0x00ff", t.BinaryType(), b"\x00\xff"),
        (None, t.StringType(), None),
        ([["1", None], ["2", "x"]], t.MapType(t.IntegerType(), t.StringType()), ((1, None), (2, "x"))),
    ],
)
def test_literals_are_read_back(text: Any, kind: t.DataType, value: Any) -> None:
    read = literal_value(text, kind, "America/Los_Angeles")
    assert read == value
    pa.scalar(read, to_arrow(kind))
    hash(Literal(kind, False, read))


def test_an_unknown_function_is_named_in_the_refusal(checker: Checker) -> None:
    with pytest.raises(UnsupportedQuery, match="XPath"):
        checker.plan(["xpath_string(s,'a/b')"])


def test_a_binary_literal_that_lost_its_bytes_is_refused() -> None:
    nodes = [{"class": "x.Literal", "num-children": 0, "value": "[B@4bbb99c7", "dataType": "binary"}]
    with pytest.raises(UnsupportedQuery, match="literal of type binary"):
        expression_from_json(nodes, lambda _: Column(t.LongType(), True, 0), True, "UTC")


def test_a_caller_may_read_nodes_its_own_way() -> None:
    nodes = [
        {"class": "x.Add", "num-children": 2, "evalContext": None},
        {"class": "x.ScalarSubquery", "num-children": 0},
        {"class": "x.Literal", "num-children": 0, "value": "1", "dataType": "long"},
    ]
    joined = Column(t.LongType(), True, 3)
    expr = expression_from_json(
        nodes, lambda _: joined, False, "UTC", lambda node, args: None if args or "value" in node else joined
    )
    assert expr == Call(
        t.LongType(), True, "Add", (joined, Literal(t.LongType(), False, 1)), (("mode", "LEGACY"),)
    )


def test_equal_queries_import_as_equal_expressions(checker: Checker) -> None:
    first, second = checker.plan(["cast(num as int)+i4 > 3 and s like 'a%b'"] * 2)[0]
    assert first == second and hash(first) == hash(second)


def test_what_cannot_fail_says_so(checker: Checker) -> None:
    texts = [
        "f8+f8b",
        "n/2",
        "cast(i4 as bigint)",
        "upper(s)",
        "cast(ts as date)",
        "try_add(i4,i4b)",
        "dec*dec2",
        "dec-mid",
        "cast(i8 as decimal(20,0))",
        "cast(i1 as decimal(5,2))",
        "s like '_a_b'",
        "regexp_extract(s,'(a)(b)',2)",
    ]
    assert not any(may_raise(expr) for expr in checker.plan(texts)[0])
    risky = [
        "i4+i4b",
        "n/f8",
        "cast(i8 as int)",
        "cast(s as date)",
        "upper(cast(cast(s as int) as string))",
        "big*big2",
        "big+whole",
        "cast(i8 as decimal(18,0))",
        "cast(i1 as decimal(4,2))",
        "s like s2",
        "regexp_extract(s,'(a)(b)',k)",
    ]
    assert all(may_raise(expr) for expr in checker.plan(risky)[0])


def test_every_declared_function_can_be_called() -> None:
    for name in names():
        function = lookup(name)
        assert function is not None and (function.kernel is None) != (function.lazy is None), name
