"""Arithmetic of every numeric type in the three evaluation modes."""

from __future__ import annotations

import pytest

from tests.expr.checker import Checker


def test_operators_give_null_in_try_mode_where_ansi_mode_fails(checker: Checker) -> None:
    checker.check(
        f"{name}({pair})"
        for name in ("try_add", "try_subtract", "try_multiply", "try_divide", "try_mod")
        for pair in ("i1,i1b", "i2,i2b", "i4,i4b", "i8,i8b", "f4,f4b", "f8,f8b", "dec,dec2", "mid,small")
    )


def test_decimals_of_extreme_scales_round_once_and_overflow_like_spark(checker: Checker) -> None:
    checker.check(
        [f"{name}({pair})" for name in ("try_add", "try_subtract", "try_multiply", "try_divide")
         for pair in ("big,big2", "big,dec", "whole,tiny", "tiny,whole", "tiny,tiny", "whole,whole")]
        + ["try_mod(big,dec)", "try_mod(big,big2)", "dec+dec2", "dec-mid", "dec*dec2", "-dec", "abs(mid)"]
    )  # fmt: skip


def test_operators_wrap_around_in_legacy_mode(checker: Checker) -> None:
    checker.check(
        """
        i4+i4b; i4-i4b; i4*i4b; i8*i8b; i1+i1b; i1*i1b; -i4; -i8; abs(i1); abs(i8); i4/i4b; i8 div i8b;
        i4 % i4b; i8 % i8b; f8/f8b; f8%f8b; dec div dec2; big div dec; mid div small; big*big2;
        big/big2; dec % small; whole+whole; pmod(i1,i1b); pmod(i2,i2b); pmod(i4,i4b); pmod(i8,i8b);
        pmod(f8,f8b); pmod(f4,f4b); pmod(dec,dec2); pmod(dec,mid); dec div 7; i4 div 3
        """,
        ansi=False,
    )


def test_floats_and_intervals_never_fail(checker: Checker) -> None:
    checker.check(
        """
        f8+f8b; f8-f8b; f8*f8b; f4+f4b; f4*f4b; -f8; abs(f8); abs(f4); -f4; f8/2; f8%3; i4/7.0; dt+dt;
        dt-dt; ym+ym; -dt; -ym; abs(dt); n*n-n
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("i4+i4b", "2147483647 AS i4, 1 AS i4b", "ARITHMETIC_OVERFLOW"),
        ("i4-i4b", "-2147483648 AS i4, 1 AS i4b", "ARITHMETIC_OVERFLOW"),
        ("i8*i8b", "9223372036854775807L AS i8, 2L AS i8b", "ARITHMETIC_OVERFLOW"),
        ("i1+i1b", "127Y AS i1, 1Y AS i1b", "BINARY_ARITHMETIC_OVERFLOW"),
        ("i2*i2b", "32767S AS i2, 2S AS i2b", "BINARY_ARITHMETIC_OVERFLOW"),
        ("-i4", "-2147483648 AS i4", "ARITHMETIC_OVERFLOW"),
        ("abs(i8)", "-9223372036854775808L AS i8", "ARITHMETIC_OVERFLOW"),
        ("i8 div i8b", "-9223372036854775808L AS i8, -1L AS i8b", "ARITHMETIC_OVERFLOW"),
        ("i4/i4b", "1 AS i4, 0 AS i4b", "DIVIDE_BY_ZERO"),
        ("f8/f8b", "1D AS f8, 0D AS f8b", "DIVIDE_BY_ZERO"),
        ("dec/dec2", "CAST(1 AS DECIMAL(12,2)) AS dec, CAST(0 AS DECIMAL(12,2)) AS dec2", "DIVIDE_BY_ZERO"),
        ("i8 div i8b", "1L AS i8, 0L AS i8b", "DIVIDE_BY_ZERO"),
        ("i4 % i4b", "1 AS i4, 0 AS i4b", "REMAINDER_BY_ZERO"),
        ("pmod(f8,f8b)", "1D AS f8, 0D AS f8b", "REMAINDER_BY_ZERO"),
        (
            "whole+whole",
            "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0)) AS whole",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        ),
        (
            "big*big2",
            "CAST(1e27 AS DECIMAL(38,10)) AS big, CAST(1e27 AS DECIMAL(38,10)) AS big2",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        ),
        (
            "-whole",
            "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0)) AS whole",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
        ),
        ("dt+dt", "INTERVAL '106751991' DAY AS dt", "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)
