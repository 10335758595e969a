"""Grouped and global aggregation against recomputation from scratch, and sums that stay exact."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    LongType,
    StringType,
)

from penstock.circuit.operators import Distinct, PartialAggregate
from penstock.expr.nodes import Call, Expr, Literal
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Rows, histories
from tests.circuit.grouping import ONE, Grouping, call, check, column, present

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
