"""Grouped and global aggregation against recomputation from scratch, and sums that stay exact."""

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
    ArrayType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    LongType,
    StringType,
    YearMonthIntervalType,
)

from penstock.circuit.operators import Distinct, PartialAggregate
from penstock.errors import EvaluationError
from penstock.expr.nodes import Call, Expr, Literal
from penstock.zset import ReferenceZSet
from penstock.zset.reference import canonical
from tests.circuit.alone import Rows, histories
from tests.circuit.grouping import ONE, Grouping, call, check, column, present
from tests.circuit.sums import exact_sum
from tests.trace.reference import spark_order

LONG, DOUBLE, TEXT = LongType(), DoubleType(), StringType()


@pytest.mark.parametrize(
    ("width", "collide"),
    [(0, False), (1, False), (1, True), (2, False)],
    ids=["global", "one", "collide", "two"],
)
@given(
    history=histories(
        st.tuples(
            st.sampled_from(["a", "b", None]),
            st.integers(0, 1),
            st.one_of(st.none(), st.integers(-(2**40), 2**40), st.integers(-3, 3)),
        )
    )
)
@settings(deadline=None, max_examples=15)
def test_count_sum_avg_min_max_of_integers(history: list[Rows], width: int, collide: bool) -> None:
    n = column(LONG, 2)
    calls = (
        call("Max", LONG, n),
        call("Count", LONG, ONE),
        call("Count", LONG, n),
        call("Sum", LONG, n),
        call("Min", LONG, n),
        call("Average", DOUBLE, n),
    )
    answers = (
        lambda part: max(present(part, 2), default=None),
        len,
        lambda part: len(present(part, 2)),
        lambda part: sum(present(part, 2)) if present(part, 2) else None,
        lambda part: min(present(part, 2), default=None),
        lambda part: sum(present(part, 2)) / len(present(part, 2)) if present(part, 2) else None,
    )
    check(Grouping([TEXT, LONG, LONG], width, calls, collide=collide), width, history, answers)


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


def test_a_group_whose_answer_stays_says_nothing() -> None:
    grouping = Grouping([TEXT, LONG], 1, (call("Sum", LONG, column(LONG, 1)),))
    grouping.step([(("a", 1), 1), (("a", 5), 1)])
    assert len(grouping.step([(("a", 1), -1), (("a", 5), -1), (("a", 6), 1)])) == 0
    assert grouping.step([(("a", 6), -1)]) == ReferenceZSet({("a", 6): -1})
    assert grouping.aggregate.spines[0].batches == ()


def test_a_group_with_only_null_values_exists() -> None:
    grouping = Grouping(
        [TEXT, TEXT], 1, (call("Count", LONG, column(TEXT, 1)), call("Min", TEXT, column(TEXT, 1)))
    )
    assert grouping.step([(("a", None), 1)]) == ReferenceZSet({("a", 0, None): 1})
    assert grouping.step([(("a", "x"), 1)]) == ReferenceZSet({("a", 0, None): -1, ("a", 1, "x"): 1})
    assert grouping.step([(("a", "x"), -1)]) == ReferenceZSet({("a", 0, None): 1, ("a", 1, "x"): -1})


def test_a_global_aggregate_exists_on_one_worker_only_and_without_rows() -> None:
    grouping = Grouping([TEXT, LONG], 0, (call("Count", LONG, ONE), call("Sum", LONG, column(LONG, 1))))
    grouping.aggregate.owner = False
    assert len(grouping.step([], opening=True)) == 0
    grouping.aggregate.owner = True
    assert grouping.step([], opening=True) == ReferenceZSet({(0, None): 1})
    assert grouping.step([(("a", 3), 1)]) == ReferenceZSet({(0, None): -1, (1, 3): 1})


X = column(LONG, 1)
NOT_ZERO = Call(BooleanType(), True, "GreaterThan", (X, Literal(LONG, False, 0)))


def test_a_filtered_aggregate_evaluates_its_argument_on_the_rows_it_takes_only() -> None:
    as_double: Expr = Call(DOUBLE, True, "Cast", (X,), (("mode", "ANSI"),))
    ratio = Call(DOUBLE, True, "Divide", (Literal(DOUBLE, False, 6.0), as_double), (("mode", "ANSI"),))
    grouping = Grouping(
        [TEXT, LONG],
        1,
        (call("Sum", DOUBLE, ratio, filter=NOT_ZERO), call("Count", LONG, X, filter=NOT_ZERO)),
    )
    assert grouping.step([(("a", 0), 1), (("a", 2), 1), (("b", 0), 1), (("a", None), 1)]) == ReferenceZSet(
        {("a", 3.0, 1): 1, ("b", None, 0): 1}
    )


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


def test_functions_of_the_same_argument_share_their_totals() -> None:
    n = column(LONG, 1)
    calls = [call(f, kind, n) for f, kind in (("Sum", LONG), ("Average", DOUBLE), ("Count", LONG))]
    partial = next(
        node.operator
        for node in Grouping([TEXT, LONG], 1, calls).nodes
        if isinstance(node.operator, PartialAggregate)
    )
    assert len(partial.totals) == 2  # the sum and the number of values
    never_null = column(LONG, 1, nullable=False)
    calls = [call(f, kind, never_null) for f, kind in (("Sum", LONG), ("Average", DOUBLE), ("Count", LONG))]
    partial = next(
        node.operator
        for node in Grouping([TEXT, LONG], 1, calls).nodes
        if isinstance(node.operator, PartialAggregate)
    )
    assert len(partial.totals) == 1


KEYED = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.integers(-2, 2)),
    st.one_of(st.none(), st.sampled_from(["x", "y"])),
)


@pytest.mark.parametrize(("width", "workers"), [(0, 3), (1, 1), (1, 3)])
@given(history=histories(KEYED))
@settings(deadline=None, max_examples=25)
def test_distinct_and_plain_functions_mix(history: list[Rows], width: int, workers: int) -> None:
    n, s = column(LONG, 1), column(TEXT, 2)
    calls = (
        call("Count", LONG, n, distinct=True),
        call("Sum", LONG, n),
        call("Sum", LONG, n, distinct=True),
        call("Count", LONG, n, s, distinct=True),
        call("Average", DOUBLE, n, distinct=True, filter=NOT_ZERO),
        call("Max", LONG, n, distinct=True),
        call("Count", LONG, ONE),
    )

    def total(values: list[Any]) -> Any:
        return sum(values) if values else None

    def positive(part: list[Any]) -> Any:
        values = {v for v in present(part, 1) if v > 0}
        return sum(values) / len(values) if values else None

    answers = (
        lambda part: len(set(present(part, 1))),
        lambda part: total(present(part, 1)),
        lambda part: total(list(set(present(part, 1)))),
        lambda part: len(set(present(part, 1, 2))),
        positive,
        lambda part: max(present(part, 1), default=None),
        len,
    )
    check(Grouping([TEXT, LONG, TEXT], width, calls, workers), width, history, answers)


def test_distinct_functions_of_the_same_arguments_share_one_feed() -> None:
    n = column(LONG, 1)
    calls = [
        call(f, kind, n, distinct=True) for f, kind in (("Sum", LONG), ("Average", DOUBLE), ("Count", LONG))
    ]
    grouping = Grouping([TEXT, LONG], 1, calls)
    assert sum(isinstance(node.operator, Distinct) for node in grouping.nodes) == 1
    assert len(grouping.aggregate.operator.feeds) == 2  # type: ignore[attr-defined]


def test_state_of_groups_that_are_gone_is_gone() -> None:
    n = column(LONG, 1)
    calls = [
        call("Sum", LONG, n, distinct=True),
        call("Max", LONG, n),
        call("VarianceSamp", DOUBLE, Call(DOUBLE, True, "Cast", (n,), (("mode", "ANSI"),))),
        call("CollectList", ArrayType(LONG), n),
    ]
    grouping = Grouping([TEXT, LONG], 1, calls)
    rows = [(("a", i), 1) for i in range(5)]
    grouping.step(rows)
    grouping.step([(row, -1) for row, _ in rows])
    assert all(not spine.batches for alone in grouping.workers[0] for spine in alone.spines.values())


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
