"""Quotients of exact numbers, and square roots of quotients, each as the nearest double (ties to even).

Both numbers are read as two doubles (a high one and what it lacks, together 105 bits), divided in that form,
and the sum of quotient and remainder is rounded. The error before that is below 2^-98 of the answer, so the
rounding can be wrong only if the answer is that close to the middle between two doubles. Such answers (exact
ties, and one in 2^44 of the others), and those below the smallest normal number, are computed again in whole
numbers, one by one.

Exponents are kept apart, so nothing overflows before the answer itself does. Cost: one pass over all digits.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.exact_digits import ABOVE, BELOW, magnitude
from penstock.zset.exact_products import ExactNumbers
from penstock.zset.kernel import NEW_DOUBLES, NEW_WORDS, Number, kernel, part

__all__ = ["nearest_quotients", "nearest_roots"]

Doubles = NDArray[np.float64]

_SPLITTER = 2.0**27 + 1
_ERROR = 2.0**-98
_NORMAL = 2.0**-1022
_MATRIX = types.Array(types.int64, 2, "C")
_NEW_BOOLS = types.Array(types.boolean, 1, "C")


def nearest_quotients(numerators: ExactNumbers, denominators: ExactNumbers) -> Doubles:
    """Each numerator divided by its denominator; NaN where that is zero."""
    result, unsure = _computed(numerators, denominators, root=False)
    for row in np.flatnonzero(unsure).tolist():
        result[row] = _nearest(*_fraction(numerators, denominators, row))
    return result


def nearest_roots(numerators: ExactNumbers, denominators: ExactNumbers) -> Doubles:
    """The square root of each quotient; NaN where it is negative or the denominator is zero."""
    result, unsure = _computed(numerators, denominators, root=True)
    for row in np.flatnonzero(unsure).tolist():
        result[row] = _nearest_root(*_fraction(numerators, denominators, row))
    return result


def _fraction(numerators: ExactNumbers, denominators: ExactNumbers, row: int) -> tuple[int, int]:
    (above, place), (below, other) = numerators.exactly(row), denominators.exactly(row)
    shift = 32 * (place - other)
    return (above << shift, below) if shift > 0 else (above, below << -shift)


def _nearest(above: int, below: int) -> float:
    try:
        return above / below  # which Python rounds correctly, however large the two are
    except OverflowError:
        return math.inf if (above > 0) == (below > 0) else -math.inf


def _nearest_root(above: int, below: int) -> float:
    # 66 bits of the root at least, and one more that says whether anything follows.
    above, below = abs(above), abs(below)
    shift = 66 + max(0, (below.bit_length() - above.bit_length()) // 2 + 1)
    root = math.isqrt((above << 2 * shift) // below)
    return _nearest(2 * root + (root * root * below != above << 2 * shift), 2 << shift)


def _computed(
    numerators: ExactNumbers, denominators: ExactNumbers, *, root: bool
) -> tuple[Doubles, NDArray[np.bool_]]:
    above, lowest_above = numerators.matrix()
    below, lowest_below = denominators.matrix()
    space = np.empty(max(len(above), len(below)) + ABOVE + BELOW, np.uint64)
    result = np.empty(above.shape[1], np.float64)
    unsure = np.empty(above.shape[1], np.bool_)
    _divide(above, lowest_above, below, lowest_below, root, space, result, unsure)
    return result, unsure


@part
def _leading(matrix: Number, row: Number, number: Number) -> Number:
    """The sign of a number, its first 129 bits or more in two doubles (the first between 2^-32 and 1), and
    the place above them, counted from the lowest."""
    negative, lead = magnitude(matrix, row, number)
    upper: Number = 0.0
    lower: Number = 0.0
    unit = 1.0
    for step in range(5):
        unit *= 2.0**-32
        digit = np.float64(number[lead - step]) * unit
        total = upper + digit
        # What the addition lost; digits fall, so the first term is the larger one.
        lower += digit - (total - upper)
        upper = total
    total = upper + lower
    return -1.0 if negative else 1.0, total, lower - (total - upper), lead - BELOW + 1


@part
def _product_error(x: Number, y: Number, product: Number) -> Number:
    """What rounding ``x * y`` to ``product`` lost."""
    t = _SPLITTER * x
    x_upper = t - (t - x)
    x_lower = x - x_upper
    t = _SPLITTER * y
    y_upper = t - (t - y)
    y_lower = y - y_upper
    return ((x_upper * y_upper - product) + x_upper * y_lower + x_lower * y_upper) + x_lower * y_lower


@kernel(
    types.void(_MATRIX, types.int64, _MATRIX, types.int64, types.boolean, NEW_WORDS, NEW_DOUBLES, _NEW_BOOLS)
)
def _divide(
    above: NDArray[np.int64],
    lowest_above: Number,
    below: NDArray[np.int64],
    lowest_below: Number,
    root: bool,
    space: NDArray[np.uint64],
    result: Doubles,
    unsure: NDArray[np.bool_],
) -> None:
    """Quotients, or roots of quotients, and which of them are not certain; ``space`` is working space."""
    for row in range(above.shape[1]):
        sign, a, a_rest, a_place = _leading(above, row, space)
        other, b, b_rest, b_place = _leading(below, row, space)
        unsure[row] = False
        if b == 0 or (root and a != 0 and sign != other):
            result[row] = np.nan
            continue
        if a == 0:
            result[row] = 0.0
            continue
        q = a / b
        p = q * b
        rest = (((a - p) - _product_error(q, b, p)) + (a_rest - q * b_rest)) / b
        exponent = 32 * ((a_place + lowest_above) - (b_place + lowest_below))
        if root:
            y = math.sqrt(q)
            p = y * y
            rest = (((q - p) - _product_error(y, y, p)) + rest) / (2.0 * y)
            q = y
            exponent //= 2
        else:
            sign *= other
        nearest = q + rest
        rest = (q - nearest) + rest
        # A power of two has a smaller gap below it than above.
        unit = math.ldexp(1.0, math.frexp(nearest)[1] - 53)
        gap = unit * 0.5 if rest < 0 and math.frexp(nearest)[0] == 0.5 else unit
        value = math.ldexp(nearest, exponent)
        unsure[row] = abs(abs(rest) - 0.5 * gap) <= _ERROR * nearest or value < _NORMAL
        result[row] = sign * value
