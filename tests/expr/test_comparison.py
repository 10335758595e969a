"""The order of values, and the functions that rest on it."""

from __future__ import annotations

from tests.expr.checker import Checker

_PAIRS = """
    i1,i1b i8,i8b f4,f4b f8,f8b s,s2 bin,bin2 d,d2 ts,ts2 ntz,ntz2 dec,dec2 b,b2 big,whole dec,mid tiny,whole
    i4,f8
"""


def test_every_operator_orders_every_type_like_spark(checker: Checker) -> None:
    checker.check(
        f"{left} {operator} {right}"
        for left, right in (pair.split(",") for pair in _PAIRS.split())
        for operator in ("=", "<", "<=", ">", ">=", "<=>")
    )


def test_constants_compare_like_columns(checker: Checker) -> None:
    checker.check(
        """
        f8=double('nan'); f8<double('nan'); f8>=double('nan'); f8=-0.0D; f8<double('infinity'); s<=>'a';
        b<=>null; d>'2020-01-01'; ts>'2020-01-01'; ts=timestamp'2024-11-03 01:30:00';
        ts>timestamp'2024-11-03 09:30:00Z'; ntz=timestamp_ntz'2024-11-03 01:30:00'; bin=X'ff00';
        dec=1.5; f8=1e300D; f4=1.5f; i4>'5'; dec>5; f8>dec; dt=interval 1 day; ym<interval 1 year;
        s between 'a' and 'b'; i4 is distinct from i4b
        """
    )


def test_structs_compare_field_by_field_with_null_lowest(checker: Checker) -> None:
    checker.check(
        """
        struct(i4,s)=struct(i4b,s2); struct(b,k)<struct(b2,i4); struct(f8)<struct(f8b);
        struct(s)>=struct(s2); struct(i4,s)<=>struct(i4b,s2);
        greatest(struct(b as p,k as q),struct(b2 as p,i4 as q))
        """
    )


def test_greatest_and_least_pass_over_null_and_keep_the_first_of_equals(checker: Checker) -> None:
    checker.check(
        """
        greatest(f8,f8b,0.0D); least(f8,f8b,n); greatest(s,s2); least(i4,i4b,k); greatest(dec,dec2);
        least(d,d2); greatest(b,b2); least(ts,ts2); greatest(bin,bin2)
        """
    )


def test_in_is_null_when_not_found_among_null(checker: Checker) -> None:
    checker.check(
        """
        i4 in (1,2,3); i4 in (1,2,null); s in ('a','b',''); s in ('a',s2);
        f8 in (0.0D,double('nan'),1.0D); f8 in (-0.0D); i4 not in (1,i4b);
        d in (date'2024-02-29',date'0001-01-01'); dec in (1.00,0.15); b in (true);
        ts in (timestamp'1969-12-31 16:00:00'); k in (k/1)
        """
    )
