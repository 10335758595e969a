"""Quotients of exact numbers and their roots are the nearest doubles, against Python's fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.zset import ExactNumbers, nearest_quotients, nearest_roots, split_products

WHOLE = st.one_of(
    st.integers(-(10**6), 10**6),
    st.integers(-(2**62), 2**62),
    st.sampled_from([1, -1, 3, 2**53 + 1, 2**54 - 1, 2**61 - 1]),
)
POWERS = st.integers(-40, 40)


def exact(values: list[tuple[int, int]]) -> ExactNumbers:
    """Whole numbers times powers of 2^32."""
    digits: dict[int, np.ndarray] = {}
    for row, (value, place) in enumerate(values):
        for step, digit in enumerate((value & 0xFFFFFFFF, value >> 32)):
            digits.setdefault(place + step, np.zeros(len(values), np.int64))[row] += digit
    return ExactNumbers(digits, len(values))


def fraction(value: tuple[int, int]) -> Fraction:
    return Fraction(value[0]) * Fraction(2) ** (32 * value[1])


def nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_nearest_root(found: float, square: Fraction) -> bool:
    """Whether no double is nearer to the root; of two equally near ones it must be the even one."""
    largest = float(np.finfo(np.float64).max)
    beyond = Fraction(largest) + Fraction(2) ** 970  # half a unit above the largest double
    if math.isinf(found):
        return square >= beyond * beyond
    lower = max(Fraction(0), (Fraction(found) + Fraction(math.nextafter(found, -math.inf))) / 2)
    upper = beyond if found == largest else (Fraction(found) + Fraction(math.nextafter(found, math.inf))) / 2
    if square in (lower * lower, upper * upper):
        return int(np.float64(found).view(np.int64)) % 2 == 0
    return lower * lower <= square <= upper * upper


@given(st.lists(st.tuples(WHOLE, POWERS, WHOLE.filter(bool), POWERS), min_size=1, max_size=8))
@settings(deadline=None, max_examples=300)
@example([(17, 0, 21, 0), (2**53 + 1, 0, 1, 0), (2**53 + 3, 0, 1, 0), (0, 0, 7, 0), (2**54 - 1, 0, 2, 0)])
@example([(1, -34, 3, 0), (1, 32, 3, 0), (3, -33, 2, 0), (2**53 + 1, -40, -4, -5)])
def test_a_quotient_is_the_nearest_double(rows: list[tuple[int, int, int, int]]) -> None:
    above, below = [(a, p) for a, p, _, _ in rows], [(b, q) for _, _, b, q in rows]
    found = nearest_quotients(exact(above), exact(below)).tolist()
    assert found == [nearest(fraction(a) / fraction(b)) for a, b in zip(above, below, strict=True)]


@given(
    st.lists(st.tuples(WHOLE.map(abs), POWERS, WHOLE.filter(bool).map(abs), POWERS), min_size=1, max_size=8)
)
@settings(deadline=None, max_examples=300)
@example([(4, 0, 9, 0), (2, 0, 1, 0), ((2**27 + 1) ** 2, 0, 1, 0), (0, 3, 7, 0), (1, -40, 3, 39)])
@example([((2**30 + 1) ** 2, 0, 2**60, 0), (2**62 - 2**32, 0, 1, 0), (1, 40, 7, -24)])
def test_a_root_is_the_nearest_double(rows: list[tuple[int, int, int, int]]) -> None:
    above, below = [(a, p) for a, p, _, _ in rows], [(b, q) for _, _, b, q in rows]
    for found, a, b in zip(nearest_roots(exact(above), exact(below)), above, below, strict=True):
        assert is_nearest_root(float(found), fraction(a) / fraction(b))


def test_a_root_in_the_middle_of_two_doubles_is_the_even_one() -> None:
    middles = [Fraction(2**53 + 1), Fraction(2**53 + 3), Fraction(2**53 + 5)]
    ones = ExactNumbers.of_counts(np.ones(3, np.int64))
    halves = np.array([float(2**52), float(2**52 + 1), float(2**52 + 2)])
    # (2h + 1)^2 for h with 53 bits: its root has 54.
    weights = np.ones(3, np.int64)
    square = ExactNumbers.of(split_products([halves, halves], weights), 3)
    line = ExactNumbers.of(split_products([halves, np.ones(3)], weights), 3)
    found = nearest_roots(square * 4 + line * 4 + ones, ones)
    assert found.tolist() == [float(m) for m in middles]


def test_what_cannot_be_divided_is_not_a_number() -> None:
    numbers = ExactNumbers.of_counts(np.array([0, 5, -4], np.int64))
    divisors = ExactNumbers.of_counts(np.array([0, 0, 2], np.int64))
    assert np.isnan(nearest_quotients(numbers, divisors)).tolist() == [True, True, False]
    assert np.isnan(nearest_roots(numbers, divisors)).all()
