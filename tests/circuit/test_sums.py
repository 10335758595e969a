"""Sums and averages: exact, whatever the type, the order and the size; beyond the type as Spark has it."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    YearMonthIntervalType,
)

from penstock.errors import EvaluationError
from penstock.zset import ReferenceZSet
from penstock.zset.reference import canonical
from tests.circuit.alone import Rows, histories
from tests.circuit.grouping import ONE, Grouping, call, check, column, present
from tests.circuit.sums import exact_sum
from tests.trace.reference import spark_order

LONG, DOUBLE, TEXT = LongType(), DoubleType(), StringType()
X = column(LONG, 1)


@given(
    history=histories(
        st.tuples(
            st.sampled_from([0.0, -0.0, 1.5, None]),
            st.one_of(
                st.none(),
                st.sampled_from([1e300, -1e300, 1.0, 2.0**-1074, 0.1, math.nan, math.inf, -math.inf, -0.0]),
                st.floats(-1e6, 1e6),
            ),
        )
    )
)
@settings(deadline=None, max_examples=36)
def test_sums_of_doubles_are_exact_and_leave_no_residue(history: list[Rows]) -> None:
    x = column(DOUBLE, 1)
    calls = (call("Sum", DOUBLE, x), call("Max", DOUBLE, x))

    def largest(part: list[tuple[Any, ...]]) -> Hashable:
        return max((row[1] for row in part if row[1] is not None), key=spark_order, default=None)

    def total(part: list[tuple[Any, ...]]) -> Any:
        return exact_sum([math.nan if v == ("NaN",) else v for v in present(part, 1)])

    check(Grouping([DOUBLE, DOUBLE], 1, calls), 1, history, (total, largest))


@given(
    history=histories(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.one_of(st.none(), st.integers(-(10**9), 10**9).map(lambda i: Decimal(i).scaleb(-2))),
            st.sampled_from(["", "abcd", "abcde", "abcdf", None]),
        )
    )
)
@settings(deadline=None, max_examples=24)
def test_decimals_and_strings(history: list[Rows]) -> None:
    d, s = column(DecimalType(12, 2), 1), column(TEXT, 2)
    calls = (
        call("Sum", DecimalType(22, 2), d),
        call("Average", DecimalType(16, 6), d),
        call("Max", TEXT, s),
        call("Min", TEXT, s),
        call("Min", DecimalType(12, 2), d),
    )

    def mean(part: list[tuple[Any, ...]]) -> Any:
        values = present(part, 1)
        if not values:
            return None
        return (sum(values) / len(values)).quantize(Decimal("0.000001"), ROUND_HALF_UP)

    answers = (
        lambda part: sum(present(part, 1)) if present(part, 1) else None,
        mean,
        lambda part: max(present(part, 2), default=None),
        lambda part: min(present(part, 2), default=None),
        lambda part: min(present(part, 1), default=None),
    )
    check(Grouping([TEXT, DecimalType(12, 2), TEXT], 1, calls), 1, history, answers)


def test_a_sum_beyond_its_type_is_an_error_in_ansi_mode_and_what_spark_says_otherwise() -> None:
    top = 2**63 - 1
    with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
        Grouping([TEXT, LONG], 1, (call("Sum", LONG, X),)).step([(("a", top), 1), (("a", 1), 1)])
    tried = Grouping([TEXT, LONG], 1, (call("Sum", LONG, X, options=(("mode", "TRY"),)),))
    assert tried.step([(("a", top), 1), (("a", 2), 1)]) == ReferenceZSet({("a", None): 1})
    wraps = Grouping([TEXT, LONG], 1, (call("Sum", LONG, X, options=(("mode", "LEGACY"),)),))
    assert wraps.step([(("a", top), 1), (("a", 2), 1), (("b", 5), 1)]) == ReferenceZSet(
        {("a", -(2**63) + 1): 1, ("b", 5): 1}
    )
    assert wraps.step([(("a", 2), -1)]) == ReferenceZSet({("a", -(2**63) + 1): -1, ("a", top): 1})
    wide = DecimalType(38, 0)
    nulls = Grouping([TEXT, wide], 1, (call("Sum", wide, column(wide, 1), options=(("mode", "TRY"),)),))
    most = Decimal(10**38 - 1)
    assert nulls.step([(("a", most), 1), (("a", Decimal(1)), 1)]) == ReferenceZSet({("a", None): 1})


def test_sums_stay_exact_however_often_a_huge_group_is_touched() -> None:
    # Two billion rows of -1 in one group: digits that were never carried would overflow int64.
    grouping = Grouping([TEXT, LONG], 1, (call("Sum", LONG, X), call("Count", LONG, ONE)))
    many = 2**31 - 1
    for step in range(1, 5):
        out = grouping.step([(("a", -1), many)])
        assert out[("a", -many * step, many * step)] == 1


def test_results_do_not_depend_on_the_order_or_the_cut_of_the_input() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=200) * 10.0 ** rng.integers(-200, 200, 200)
    rows = [(("a", float(v)), 1) for v in values]
    wanted = canonical(math.fsum(values))
    for size in (1, 7, 200):
        grouping = Grouping([TEXT, DOUBLE], 1, (call("Sum", DOUBLE, column(DOUBLE, 1)),))
        total = ReferenceZSet({})
        rng.shuffle(rows)  # type: ignore[arg-type]
        for start in range(0, len(rows), size):
            total = total.add(grouping.step(rows[start : start + size]))
        assert total == ReferenceZSet({("a", wanted): 1})


INTERVALS: list[tuple[DataType, list[Any], Any, Any]] = [
    (YearMonthIntervalType(0, 1), [1, 2], 3, 2),
    (YearMonthIntervalType(0, 1), [-1, -2], -3, -2),
    (YearMonthIntervalType(0, 1), [7, 7, 8], 22, 7),
    (DayTimeIntervalType(0, 3), [timedelta(microseconds=1), timedelta(microseconds=2)], 3, 2),
    (DayTimeIntervalType(0, 3), [timedelta(microseconds=-5), timedelta(0), timedelta(0)], -5, -2),
]


@pytest.mark.parametrize(("kind", "values", "total", "mean"), INTERVALS)
def test_intervals_add_up_and_their_mean_is_rounded_half_away_from_zero(
    kind: DataType, values: list[Any], total: Any, mean: Any
) -> None:
    x = column(kind, 1)
    grouping = Grouping([TEXT, kind], 1, [call("Sum", kind, x), call("Average", kind, x)])
    if isinstance(kind, DayTimeIntervalType):
        total, mean = timedelta(microseconds=total), timedelta(microseconds=mean)
    out = grouping.step([(("a", v), 1) for v in [*values, None]])
    assert out == ReferenceZSet.of_rows([(("a", total, mean), 1)])
    assert grouping.step([(("b", None), 1)]) == ReferenceZSet.of_rows([(("b", None, None), 1)])


def test_an_interval_beyond_its_type_is_an_error_even_without_ansi() -> None:
    kind = YearMonthIntervalType(0, 1)
    for function, mode in (("Sum", "ANSI"), ("Sum", "LEGACY"), ("Average", "LEGACY")):
        grouping = Grouping(
            [TEXT, kind], 1, [call(function, kind, column(kind, 1), options=(("mode", mode),))]
        )
        with pytest.raises(EvaluationError, match="INTERVAL_ARITHMETIC_OVERFLOW"):
            grouping.step([(("a", 2**31 - 1), 2)])
    for function in ("Sum", "Average"):
        tried = Grouping([TEXT, kind], 1, [call(function, kind, column(kind, 1), options=(("mode", "TRY"),))])
        assert tried.step([(("a", 2**31 - 1), 2)]) == ReferenceZSet({("a", None): 1})


def test_averages_of_integers_beyond_a_double_are_rounded_once() -> None:
    grouping = Grouping([TEXT, LONG], 1, [call("Average", DOUBLE, X)])
    top = 2**63 - 1
    assert grouping.step([(("a", top), 3), (("a", -1), 1)]) == ReferenceZSet({("a", (3 * top - 1) / 4): 1})
