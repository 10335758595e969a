"""Mathematical functions, rounding and bits."""

from __future__ import annotations

import pytest

from tests.expr.checker import Checker


def test_elementary_functions_agree_to_the_last_bit(checker: Checker) -> None:
    checker.check(
        """
        sqrt(f8); exp(f8); ln(f8); log(2,f8); log(n,f8); log10(f8); log2(f8); log1p(f8); expm1(f8);
        power(f8,n); power(f8,f8b); power(n,2); sin(n); cos(n); tan(n); sin(f8); asin(n); acos(n);
        atan(f8); sinh(n); cosh(n); tanh(f8); asinh(f8); acosh(f8); atanh(n); cot(n); sec(n); csc(n);
        atan2(f8,f8b); degrees(f8); radians(f8); cbrt(f8); hypot(f8,f8b)
        """
    )


def test_last_bits_that_decide_about_whole_numbers(checker: Checker) -> None:
    checker.check(
        """
        floor(power(abs(k)+26,1/3D)); floor(log(abs(k)+2,243)); floor(power(k*k,1/2D));
        floor(power(abs(k*k*k),1/3D));
        floor(log(3,power(3,k%40))); floor(log10(power(10,k%19))); ceil(cbrt(k*k*k)); floor(exp(ln(k)))
        """
    )


def test_rounding_goes_by_the_decimal_form(checker: Checker) -> None:
    checker.check(
        """
        round(f8,2); round(f8); round(f8,-2); round(f8,15); round(f4,2); round(f4,-1); round(n,1);
        bround(f8,1); bround(f8); bround(n); round(dec,1); round(dec,-1); round(dec,5); bround(dec,1);
        bround(mid,2); round(i4,1); round(dec); round(k,-1); bround(k*5,-1); round(f8/3,3)
        """
    )


def test_ceil_floor_and_sign(checker: Checker) -> None:
    checker.check(
        """
        ceil(dec); floor(dec); ceil(mid); floor(small); ceil(n); floor(n); ceil(dec,1); floor(dec,1);
        floor(dec,-1); ceil(i4); floor(i8); rint(f8); signum(f8); signum(dt); width_bucket(n,0,10,5);
        width_bucket(f8,10,0,5); factorial(k)
        """
    )


def test_legacy_mode_saturates_and_wraps(checker: Checker) -> None:
    checker.check(
        """
        ceil(f8); floor(f8); ceil(f4); round(i4,-1); round(i1,-2); round(i8,-3); bround(i8,-18)
        """,
        ansi=False,
    )


def test_bits_of_integers(checker: Checker) -> None:
    checker.check(
        """
        i4&i4b; i4|i4b; i8^i8b; ~i1; ~i8; shiftleft(i4,k); i8>>k; i8<<k; shiftrightunsigned(i8,k);
        shiftrightunsigned(i4,3); bit_count(i4); bit_count(i1); bit_count(b)
        """
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("ceil(f8)", "1e30D AS f8", "ARITHMETIC_OVERFLOW"),
        ("round(i4,-1)", "2147483647 AS i4", "ARITHMETIC_OVERFLOW"),
        (
            "round(whole,-1)",
            "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0)) AS whole",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION",
        ),
        ("conv(s,36,10)", "'zzzzzzzzzzzzzzzzzz' AS s", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)
