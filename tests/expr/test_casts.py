"""Casts between all pairs of types, in the three evaluation modes."""

from __future__ import annotations

import pytest

from tests.expr.checker import Checker

_NUMBERS = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "decimal(5,2)",
    "decimal(20,0)",
]


def test_numbers_become_numbers_or_null(checker: Checker) -> None:
    checker.check(
        f"try_cast({column} as {kind})"
        for column in ["b", "i1", "i2", "i4", "i8", "dec", "big", "whole", "tiny"]
        for kind in [*_NUMBERS, "decimal(38,10)", "decimal(38,38)", "string"]
    )


def test_floats_become_numbers_or_null(checker: Checker) -> None:
    """Not text, nor decimals of more than 15 digits: before Java 19 those come from a longer text form."""
    checker.check(
        f"try_cast({column} as {kind})"
        for column in ("f4", "f8")
        for kind in [
            "boolean",
            "tinyint",
            "smallint",
            "int",
            "bigint",
            "float",
            "double",
            "decimal(5,2)",
            "decimal(15,3)",
        ]
    )


def test_ordinary_floats_print_like_java(checker: Checker) -> None:
    checker.check(
        """
        cast(n as string); cast(k/8 as string); cast(n*1e10 as string);
        cast(double('nan') + n as string); cast(n/1e5 as string); cast(cast(k as float)/4 as string);
        cast(-1/nullif(n,0) as string); cast(cast(n as float) as string); cast(n*0 as string)
        """
    )


def test_text_is_parsed_like_spark_or_null(checker: Checker) -> None:
    checker.check(
        [f"try_cast(num as {kind})" for kind in [*_NUMBERS, "decimal(38,10)", "decimal(38,38)"]]
        + [f"try_cast(tim as {kind})" for kind in ("date", "timestamp", "timestamp_ntz")]
    )


def test_legacy_mode_wraps_numbers_and_makes_null_of_bad_text(checker: Checker) -> None:
    numbers = ["i1", "i2", "i4", "i8", "dec", "big", "whole"]
    texts = [f"cast({column} as {kind})" for column in numbers for kind in [*_NUMBERS, "timestamp"]]
    targets = ("tinyint", "int", "bigint", "timestamp")
    texts += [f"cast({column} as {kind})" for column in ("f4", "f8") for kind in targets]
    texts += [f"cast(num as {kind})" for kind in _NUMBERS]
    texts += [f"cast(tim as {kind})" for kind in ("date", "timestamp", "timestamp_ntz")]
    texts += ["cast(big as string)", "cast(tiny as string)", "cast(ts as int)", "cast(ts as boolean)"]
    checker.check([*texts, "cast(b as timestamp)"], ansi=False)


def test_dates_and_timestamps_cross_the_time_zone(checker: Checker) -> None:
    checker.check(
        """
        cast(ts as date); cast(ts as string); cast(ntz as string); cast(d as string);
        cast(d as timestamp); cast(d as timestamp_ntz); cast(ts as timestamp_ntz);
        cast(ntz as timestamp); cast(ntz as date); cast(ts as bigint); try_cast(ts as int);
        try_cast(ts as tinyint); cast(ts as double); cast(ts as float); try_cast(ts as decimal(20,6));
        cast(i4 as timestamp); try_cast(f8 as timestamp); try_cast(big as timestamp);
        cast(dec as timestamp); cast(cast(ts as string) as timestamp)=ts
        """
    )


def test_intervals_binary_and_nested_values(checker: Checker) -> None:
    checker.check(
        """
        cast(s as binary); cast(cast(s as binary) as string); cast(dt as string); cast(ym as string);
        cast(dt as interval day); cast(dt as interval hour to minute); cast(ym as interval year);
        cast(cast(dt as interval second) as bigint); cast(cast(dt as interval hour) as int);
        cast(null as int); cast(cast(dt as interval day) as string);
        cast(cast(ym as interval month) as string); cast(array(i4,i4b) as array<bigint>);
        cast(array(i4,k) as array<string>); cast(struct(i4,k) as struct<x:string,y:double>);
        cast(if(b,array(i4),null) as array<string>)
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("cast(num as int)", "'12x' AS num", "CAST_INVALID_INPUT"),
        ("cast(num as tinyint)", "'128' AS num", "CAST_INVALID_INPUT"),
        ("cast(num as double)", "'1..2' AS num", "CAST_INVALID_INPUT"),
        ("cast(num as boolean)", "'maybe' AS num", "CAST_INVALID_INPUT"),
        ("cast(num as decimal(5,2))", "'x' AS num", "CAST_INVALID_INPUT"),
        ("cast(num as decimal(5,2))", "'1234.5' AS num", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
        ("cast(num as decimal(5,2))", "'1e9' AS num", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
        ("cast(tim as date)", "'2024-02-30' AS tim", "CAST_INVALID_INPUT"),
        ("cast(tim as timestamp)", "'2024-02-29 25:00:00' AS tim", "CAST_INVALID_INPUT"),
        ("cast(i8 as int)", "2147483648L AS i8", "CAST_OVERFLOW"),
        ("cast(i8 as decimal(5,2))", "1000L AS i8", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
        ("cast(f8 as int)", "1e10D AS f8", "CAST_OVERFLOW"),
        ("cast(f8 as bigint)", "double('nan') AS f8", "CAST_OVERFLOW"),
        ("cast(f8 as decimal(5,2))", "999.995D AS f8", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
        ("cast(f8 as timestamp)", "double('nan') AS f8", "CAST_INVALID_INPUT"),
        ("cast(dec as tinyint)", "CAST(128 AS DECIMAL(12,2)) AS dec", "CAST_OVERFLOW"),
        ("cast(whole as bigint)", "CAST(1e30 AS DECIMAL(38,0)) AS whole", "CAST_OVERFLOW"),
        (
            "cast(dec as decimal(3,2))",
            "CAST(10 AS DECIMAL(12,2)) AS dec",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        ),
        ("cast(ts as int)", "timestamp'9999-01-01' AS ts", "CAST_OVERFLOW"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)
