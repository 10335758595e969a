"""Functions of a group's values: by order, by position, by frequency, side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
)

from penstock.errors import EvaluationError
from penstock.expr.nodes import Literal
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Rows, histories
from tests.circuit.grouping import Grouping, call, check, column, present
from tests.trace.reference import spark_order

LONG, DOUBLE, TEXT = LongType(), DoubleType(), StringType()
X, S, N = column(DOUBLE, 1), column(TEXT, 2), column(LONG, 3)
TYPES: list[DataType] = [TEXT, DOUBLE, TEXT, LONG]
ROWS = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.one_of(st.none(), st.sampled_from([1.0, 2.0, -0.0, 0.0, math.nan, math.inf]), st.floats(-10, 10)),
    st.sampled_from(["", "x", "yy", "é", None]),
    st.one_of(st.none(), st.integers(0, 4)),
)
MODES = [(0, 1), (1, 1), (1, 3)]


def literal(kind: DataType, value: Any) -> Literal:
    return Literal(kind, False, value)


def ordered(part: list[Any], ordinal: int) -> list[Any]:
    return sorted(present(part, ordinal), key=spark_order)


@pytest.mark.parametrize(("width", "workers"), MODES)
@given(history=histories(ROWS))
@settings(deadline=None, max_examples=25)
def test_collected_values_come_in_their_order(history: list[Rows], width: int, workers: int) -> None:
    many = ArrayType(TEXT)
    calls = (
        call("CollectList", many, S),
        call("CollectSet", many, S),
        call("CollectList", many, S, distinct=True),
        call("CollectList", many, S, options=(("ignoreNulls", False),)),
        call("CollectList", ArrayType(DOUBLE), X),
    )
    answers = (
        lambda part: tuple(ordered(part, 2)),
        lambda part: tuple(sorted(set(present(part, 2)))),
        lambda part: tuple(sorted(set(present(part, 2)))),
        lambda part: (*(None for row in part if row[2] is None), *ordered(part, 2)),
        lambda part: tuple(ordered(part, 1)),
    )
    grouping = Grouping(TYPES, width, calls, workers)
    assert len(grouping.aggregate.operator.feeds) == 4  # type: ignore[attr-defined]  # the first three share one
    check(grouping, width, history, answers)


@pytest.mark.parametrize(("width", "workers"), MODES)
@given(history=histories(ROWS))
@settings(deadline=None, max_examples=25)
def test_texts_are_joined_in_the_order_asked_for(history: list[Rows], width: int, workers: int) -> None:
    comma, nothing = literal(TEXT, ", "), Literal(TEXT, True, None)
    calls = (
        call("ListAgg", TEXT, S, comma, S, options=(("order", ((True, True),)),)),
        call("ListAgg", TEXT, S, comma, N, S, options=(("order", ((False, False), (True, True))),)),
        call("ListAgg", TEXT, S, comma, N, S, options=(("order", ((False, True), (False, False))),)),
        call("ListAgg", TEXT, S, nothing),
        call("ListAgg", TEXT, S, comma, S, distinct=True, options=(("order", ((False, False),)),)),
    )

    def joined(values: list[str], between: str = ", ") -> Any:
        return between.join(values) if values else None

    def by_number(nulls_first: bool, down: bool) -> Callable[[list[Any]], Any]:
        def answer(part: list[Any]) -> Any:
            rows = sorted((r for r in part if r[2] is not None), key=lambda r: r[2].encode(), reverse=down)
            null = math.inf if nulls_first else -math.inf
            return joined([r[2] for r in sorted(rows, key=lambda r: -(null if r[3] is None else r[3]))])

        return answer

    answers = (
        lambda part: joined(ordered(part, 2)),
        by_number(False, False),
        by_number(True, True),
        lambda part: joined(ordered(part, 2), ""),
        lambda part: joined(sorted(set(present(part, 2)), key=str.encode, reverse=True)),
    )
    check(Grouping(TYPES, width, calls, workers), width, history, answers)


def test_bytes_are_joined_too() -> None:
    raw = BinaryType()
    listagg = call("ListAgg", raw, column(raw, 1), literal(raw, b"\x00"))
    out = Grouping([TEXT, raw], 1, [listagg]).step([(("a", b"2"), 2), (("a", b"1"), 1), (("b", None), 1)])
    assert set(out.weights) == {("a", b"1\x002\x002"), ("b", None)}


def percentile(values: list[float], p: float, *, reverse: bool = False) -> Any:
    """Spark's interpolation, on a list."""
    if not values:
        return None
    values = values[::-1] if reverse else values
    position = (len(values) - 1) * p
    low, high = values[math.floor(position)], values[math.ceil(position)]
    if math.floor(position) == math.ceil(position) or low == high:
        return low
    return low + (position - math.floor(position)) * (high - low)


def discrete(values: list[float], p: float) -> Any:
    return values[max(math.ceil(len(values) * p) - 1, 0)] if values else None


@pytest.mark.parametrize(("width", "workers"), MODES)
@given(history=histories(ROWS))
@settings(deadline=None, max_examples=40)
def test_percentiles(history: list[Rows], width: int, workers: int) -> None:
    one, many = literal(LONG, 1), ArrayType(DOUBLE)
    at = literal(many, (0.0, 0.25, 0.6, 1.0))
    calls = (
        call("Percentile", DOUBLE, N, literal(DOUBLE, 0.5), one),
        call("Percentile", many, N, at, one),
        call("Percentile", DOUBLE, N, literal(DOUBLE, 0.3), one, options=(("reverse", True),)),
        call("Percentile", DOUBLE, N, literal(DOUBLE, 0.5), one, distinct=True),
        call("PercentileDisc", DOUBLE, N, literal(DOUBLE, 0.4)),
        call("ApproximatePercentile", LONG, N, literal(DOUBLE, 0.5), literal(IntegerType(), 10000)),
    )

    def floats(part: list[Any]) -> list[float]:
        return [float(v) for v in sorted(present(part, 3))]

    answers = (
        lambda part: percentile(floats(part), 0.5),
        lambda part: (
            tuple(percentile(floats(part), p) for p in (0.0, 0.25, 0.6, 1.0)) if floats(part) else None
        ),
        lambda part: percentile(floats(part), 0.3, reverse=True),
        lambda part: percentile(sorted(set(floats(part))), 0.5),
        lambda part: discrete(floats(part), 0.4),
        lambda part: discrete(sorted(present(part, 3)), 0.5),
    )
    grouping = Grouping(TYPES, width, calls, workers)
    assert len(grouping.aggregate.operator.feeds) == 2  # type: ignore[attr-defined]  # all share one
    check(grouping, width, history, answers)


@given(history=histories(ROWS))
@settings(deadline=None, max_examples=25)
def test_a_percentile_may_count_rows_by_a_frequency(history: list[Rows]) -> None:
    calls = [call("Percentile", DOUBLE, X, literal(DOUBLE, 0.5), N)]

    def answer(part: list[Any]) -> Any:
        rows = sorted(present(part, 1, 3), key=lambda row: spark_order(row[0]))
        values = [math.nan if x == ("NaN",) else x for x, times in rows for _ in range(times)]
        return percentile(values, 0.5)

    check(Grouping(TYPES, 1, calls), 1, history, [answer])


def test_a_negative_frequency_is_an_error() -> None:
    grouping = Grouping(TYPES, 1, [call("Percentile", DOUBLE, X, literal(DOUBLE, 0.5), N)])
    with pytest.raises(EvaluationError, match="NEGATIVE_VALUES_IN_FREQUENCY"):
        grouping.step([(("a", 1.0, "x", -1), 1)])


@pytest.mark.parametrize(
    ("kind", "answer", "values", "median"),
    [
        (DecimalType(5, 2), DOUBLE, ["1.25", "2.50"], 1.875),
        (DecimalType(12, 2), DOUBLE, ["3.01"], 3.01),
        (DayTimeIntervalType(0, 3), DayTimeIntervalType(0, 3), [1000001, 2000004], 1500002),
    ],
    ids=["decimal", "one decimal", "interval"],
)
def test_medians_of_decimals_and_intervals(
    kind: DataType, answer: DataType, values: list[Any], median: Any
) -> None:
    interval = isinstance(kind, DayTimeIntervalType)
    rows = [timedelta(microseconds=v) if interval else Decimal(v) for v in values]
    median_call = call("Percentile", answer, column(kind, 1), literal(DOUBLE, 0.5), literal(LONG, 1))
    out = Grouping([TEXT, kind], 1, [median_call]).step([(("a", v), 1) for v in rows])
    assert out == ReferenceZSet.of_rows([(("a", timedelta(microseconds=median) if interval else median), 1)])


@pytest.mark.parametrize(("width", "workers"), MODES)
@given(history=histories(ROWS))
@settings(deadline=None, max_examples=25)
def test_the_most_frequent_value(history: list[Rows], width: int, workers: int) -> None:
    calls = [call("Mode", TEXT, S, options=(("reverseOpt", low),)) for low in (True, False)]

    def mode(part: list[Any], *, smallest: bool) -> Any:
        counts = Counter(present(part, 2))
        best = [v for v in counts if counts[v] == max(counts.values())]
        return (min if smallest else max)(best, key=str.encode) if best else None

    answers = [lambda part: mode(part, smallest=True), lambda part: mode(part, smallest=False)]
    check(Grouping(TYPES, width, calls, workers), width, history, answers)


def test_values_without_an_order_can_be_collected() -> None:
    kind = MapType(TEXT, IntegerType())
    grouping = Grouping([TEXT, kind], 1, [call("CollectList", ArrayType(kind), column(kind, 1))])
    out = grouping.step([(("a", [("k", 1)]), 1), (("a", [("k", 2)]), 1), (("a", [("k", 1)]), 1)])
    [row] = out.weights
    assert len(row[1]) == 3
    assert len(set(row[1])) == 2


def test_a_group_that_is_not_touched_says_nothing() -> None:
    grouping = Grouping(TYPES, 1, [call("CollectList", ArrayType(TEXT), S)])
    grouping.step([(("a", None, "x", None), 1000), (("b", None, "y", None), 1)])
    assert set(grouping.step([(("b", None, "z", None), 1)]).weights) == {("b", ("y",)), ("b", ("y", "z"))}


def test_rows_become_columns_by_their_pivot_value() -> None:
    kind = ArrayType(LONG)
    pivot = call(
        "PivotFirst", kind, column(TEXT, 1), column(LONG, 2), options=(("values", ("x", None, "z")),)
    )
    grouping = Grouping([TEXT, TEXT, LONG], 1, [pivot])
    out = grouping.step([(("a", "x", 1), 1), (("a", None, 2), 1), (("a", "y", 3), 1), (("b", "z", 4), 1)])
    assert set(out.weights) == {("a", (1, 2, None)), ("b", (None, None, 4))}
    gone = grouping.step([(("b", "z", 4), -1), (("a", None, 2), -1)])
    assert gone.weights == {("a", (1, 2, None)): -1, ("a", (1, None, None)): 1, ("b", (None, None, 4)): -1}
