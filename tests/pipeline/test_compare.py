"""When two results count as the same."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.pipeline.compare import consolidate, difference

NAN, INF = float("nan"), float("inf")
SCHEMA = pa.schema({"a": pa.int64(), "s": pa.string(), "x": pa.float64(), "d": pa.decimal128(38, 2)})
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": st.none() | st.integers(0, 2),
            "s": st.sampled_from([None, "", "x", "ß"]),
            "x": st.sampled_from([None, 0.0, -0.0, NAN, INF, -INF, 1.5]),
            "d": st.sampled_from([None, Decimal("1.00"), Decimal("-99999999999999999999.25")]),
        }
    ),
    max_size=8,
)


def identity(row: dict[str, Any]) -> tuple[Any, ...]:
    x = row["x"]
    return (row["a"], row["s"], "nan" if x is not None and math.isnan(x) else x, row["d"])


@settings(deadline=None)
@given(ROWS, ROWS)
def test_rows_are_compared_as_multisets(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> None:
    mine, theirs = pa.Table.from_pylist(left, SCHEMA), pa.Table.from_pylist(right, SCHEMA)
    same = Counter(map(identity, left)) == Counter(map(identity, right))
    assert (difference(mine, theirs) is None) == same
    assert difference(mine, mine.take(pa.array(range(len(left))[::-1], pa.int64()))) is None


@settings(deadline=None)
@given(ROWS, st.data())
def test_consolidation_keeps_the_sum_of_weights(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(-2, 2), min_size=len(rows), max_size=len(rows)))
    table, summed = consolidate(pa.Table.from_pylist(rows, SCHEMA), np.array(weights, np.int64))
    totals: Counter[Any] = Counter()
    for row, weight in zip(rows, weights, strict=True):
        totals[identity(row)] += weight
    found = {identity(row): int(weight) for row, weight in zip(table.to_pylist(), summed, strict=True)}
    assert found == {key: weight for key, weight in totals.items() if weight}


def floats(*values: float | None) -> pa.Table:
    return pa.table({"g": ["g"] * len(values), "x": pa.array(values, pa.float64())})


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ((0.1 + 0.2,), (0.3,), True),
        ((1e300,), (1e300 * (1 + 1e-12),), True),
        ((1e300,), (1e300 * (1 + 1e-6),), False),
        ((1.0,), (1.001,), False),
        ((1e-12,), (-1e-12,), True),
        ((NAN,), (NAN,), True),
        ((NAN,), (1.0,), False),
        ((INF,), (INF,), True),
        ((INF,), (-INF,), False),
        ((INF,), (1e308,), False),
        ((None,), (None,), True),
        ((None,), (0.0,), False),
        ((None,), (NAN,), False),
        ((-0.0,), (0.0,), True),
        ((1.0, 2.0), (2.0 + 1e-12, 1.0), True),
        ((1.0, 1.0), (1.0,), False),
        ((1.0, 1.0, 2.0), (1.0, 2.0, 2.0), False),
    ],
)
def test_approximate_columns_may_differ_in_the_last_digits_only(left: Any, right: Any, same: bool) -> None:
    assert (difference(floats(*left), floats(*right), approx=["x"]) is None) == same


def test_exact_columns_keep_approximate_rows_apart() -> None:
    mine = pa.table({"g": [1, 2], "x": [1.0, 2.0]})
    theirs = pa.table({"g": [1, 2], "x": [2.0, 1.0]})
    assert difference(mine, theirs, approx=["x"]) is not None


def test_neighbours_that_rounding_swaps_still_find_each_other() -> None:
    mine = pa.table({"x": [1.0, 1.0 + 1e-12], "y": [5.0, 7.0]})
    theirs = pa.table({"x": [1.0 + 1e-12, 1.0], "y": [5.0, 7.0]})
    assert difference(mine, theirs, approx=["x", "y"]) is None


def test_without_tolerance_the_last_bit_counts() -> None:
    assert difference(floats(0.1 + 0.2), floats(0.3)) is not None


def test_a_difference_shows_rows_of_both_sides() -> None:
    mismatch = difference(pa.table({"k": [1, 1, 2]}), pa.table({"k": [1, 3]}))
    assert mismatch is not None
    assert mismatch.summary == "2 rows too many, 1 missing"
    assert sorted(mismatch.surplus) == ["1 x {'k': 1}", "1 x {'k': 2}"]
    assert mismatch.missing == ("1 x {'k': 3}",)


def test_types_and_names_are_part_of_a_result() -> None:
    longs = pa.table({"k": pa.array([1], pa.int64())})
    mismatch = difference(longs, pa.table({"k": pa.array([1], pa.int32())}))
    assert mismatch is not None and mismatch.summary == "column k is int64, expected int32"
    mismatch = difference(longs, longs.rename_columns(["q"]))
    assert mismatch is not None and mismatch.summary == "columns are ['k'], expected ['q']"


def test_nested_values_are_compared_by_value() -> None:
    def rows(x: float) -> pa.Table:
        return pa.table({"v": [[{"x": x, "at": dt.date(2024, 2, 29)}], None, []]})

    assert difference(rows(-0.0), rows(0.0)) is None
    assert difference(rows(NAN), rows(NAN)) is None
    assert difference(rows(1.0), rows(2.0)) is not None


def test_empty_results_are_equal() -> None:
    empty = pa.table({"k": pa.array([], pa.int64()), "v": pa.array([], pa.list_(pa.string()))})
    assert difference(empty, empty) is None
    assert difference(empty, empty, approx=["k"]) is None
