"""Sums of products are exact whatever the magnitudes, and so is arithmetic on them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.zset import ExactNumbers, carry, split_doubles, split_products

FINITE = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1.7e308, 0.1, 1 / 3, 2.0**-537]),
)

TINY = partial(pytest.approx, rel=0, abs=5e-324)  # a total below the smallest normal number is rounded twice


def nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def summed(columns: dict[str, Any]) -> ExactNumbers:
    whole = {name: np.array([column.sum()]) for name, column in columns.items()}
    return ExactNumbers.of(carry(whole), 1)


@pytest.mark.parametrize("power", [2, 3, 4])
@given(rows=st.lists(st.tuples(FINITE, st.integers(-3, 3)), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_powers_add_up_exactly(power: int, rows: list[tuple[float, int]]) -> None:
    values, weights = np.array([v for v, _ in rows]), np.array([w for _, w in rows], np.int64)
    total = summed(split_products([values] * power, weights)).to_doubles()[0]
    assert total == TINY(nearest(Fraction(sum(Fraction(v) ** power * w for v, w in rows))))


@given(rows=st.lists(st.tuples(FINITE, FINITE), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_a_covariance_is_the_rounded_exact_one(rows: list[tuple[float, float]]) -> None:
    x, y = np.array([a for a, _ in rows]), np.array([b for _, b in rows])
    ones = np.ones(len(rows), np.int64)
    product = summed(split_products([x, y], ones))
    left, right = summed(split_doubles(x, ones)), summed(split_doubles(y, ones))
    got = (ExactNumbers.of_counts(np.array([len(rows)])) * product - left * right).to_doubles()[0]
    a, b = [Fraction(v) for v in x.tolist()], [Fraction(v) for v in y.tolist()]
    wanted = len(rows) * sum(p * q for p, q in zip(a, b, strict=True)) - sum(a) * sum(b)
    assert got == TINY(nearest(Fraction(wanted)))


def test_equal_values_far_from_zero_have_no_spread_at_all() -> None:
    x = np.full(1000, 1e15 + 0.1)
    ones = np.ones(1000, np.int64)
    square, total = summed(split_products([x, x], ones)), summed(split_doubles(x, ones))
    assert (ExactNumbers.of_counts(np.array([1000])) * square - total * total).to_doubles()[0] == 0.0


def test_what_is_taken_away_leaves_nothing_and_numbers_that_are_not_finite_count_as_nothing() -> None:
    x = np.array([1.5e200, math.nan, math.inf, 3e-200, 1.5e200, 3e-200])
    columns = split_products([x, x, x], np.array([1, 1, 1, 1, -1, -1], np.int64))
    assert summed(columns).to_doubles()[0] == 0.0


def test_counts_of_any_size_multiply_exactly() -> None:
    big = ExactNumbers.of_counts(np.array([2**62 + 1, 7]))
    assert (big * big - big * big).to_doubles().tolist() == [0.0, 0.0]
    assert (big * 3).to_doubles().tolist() == [float(3 * (2**62 + 1)), 21.0]
