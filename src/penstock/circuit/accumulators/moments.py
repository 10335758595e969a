"""Variance, standard deviation, skewness and kurtosis, from exact sums of powers.

With n values and exact power sums s1 … s4, ``n * s2 - s1^2`` is n times the sum of squared deviations, and so
on for the higher moments. Every answer is a quotient of two such exact numbers, or the root of one, and is
rounded once: it is the double nearest to the true answer, whatever the mean. Values that are all equal have a
spread of exactly zero, on which Spark's NULLs depend. A value that is NaN or infinite makes the answer NaN.

Spark's formulas go through intermediate results. Where one of those is beyond the doubles, or too small for
them, the answer is that of Spark's formula (:func:`unless_extreme`): infinite, zero or NaN, not the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.totals import ExactSum, Product, Total, counted
from penstock.zset import ExactNumbers, nearest_quotients, nearest_roots

__all__ = ["MOMENTS", "Moment", "finite", "unless_extreme"]

Doubles = NDArray[np.float64]
Answer = tuple[Doubles, NDArray[np.bool_]]
"""Numbers, and where the answer is not one (NULL, or NaN if the session wants that)."""


@dataclass(frozen=True)
class Moment(Linear):
    """``function`` is one of :data:`MOMENTS`. ``null_on_zero``: where the divisor is zero the answer is NULL,
    otherwise (Spark's legacy setting) NaN."""

    function: str
    null_on_zero: bool = True

    @property
    def totals(self) -> tuple[Total, ...]:
        order, _ = MOMENTS[self.function]
        powers = tuple(Product(self.args, self.filter, (power,)) for power in range(2, order + 1))
        return ExactSum(self.args, self.filter), *powers, *counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        order, function = MOMENTS[self.function]
        count = number(rows, totals[order] if len(totals) > order else None)
        powers = [ExactNumbers.of(total, len(rows)) for total in totals[:order]]
        with np.errstate(all="ignore"):
            value, undefined = function(PowerSums(count, powers, finite(totals[0], len(rows))))
        value = np.where(undefined, np.nan, value)
        return masked(value, (count > 0) & ~(undefined & self.null_on_zero), pa.float64())

    @property
    def title(self) -> str:
        return self.function


def finite(sums: Sums, length: int) -> NDArray[np.bool_]:
    """Where all values of a sum are numbers."""
    result = np.ones(length, bool)
    for name in ("nan", "+inf", "-inf"):
        if name in sums:
            result &= sums[name] == 0
    return result


def unless_extreme(exact: Doubles, formula: Doubles, divisor: Doubles) -> Doubles:
    """``exact``, except where the divisor or the result of Spark's ``formula`` is zero, infinite or NaN:
    there the formula's result."""
    ordinary = np.isfinite(formula) & np.isfinite(divisor) & (divisor != 0)
    return np.where(ordinary, exact, formula)


class PowerSums:
    """Of each group the number of values, their power sums, and whether all are finite (else NaN is)."""

    def __init__(self, count: Weights, powers: Sequence[ExactNumbers], known: NDArray[np.bool_]) -> None:
        self.count, self.powers, self._known = count, powers, known
        self.n: Doubles = np.where(count == 0, 1.0, count)
        self.exact_n = ExactNumbers.of_counts(np.where(count == 0, 1, count))
        self.square = self.exact_n * powers[1] - powers[0] * powers[0]
        """n times the sum of squared deviations from the mean."""
        self.m2 = self.quotient(self.square, self.exact_n)
        """The sum of squared deviations from the mean."""

    def quotient(self, above: ExactNumbers, below: ExactNumbers) -> Doubles:
        """The nearest doubles of quotients; NaN where a value was not finite."""
        return np.where(self._known, nearest_quotients(above, below), np.nan)

    def variance(self, divisor: Weights) -> Doubles:
        """The sum of squared deviations over ``divisor``."""
        exact = self.quotient(self.square, self.exact_n * ExactNumbers.of_counts(divisor))
        return unless_extreme(exact, self.m2 / divisor, self.m2)

    def deviation(self, divisor: Weights) -> Doubles:
        """The root of the variance, without rounding that first."""
        exact = nearest_roots(self.square, self.exact_n * ExactNumbers.of_counts(divisor))
        return unless_extreme(exact, np.sqrt(self.m2 / divisor), self.m2)


def _all(s: PowerSums) -> Weights:
    return np.maximum(s.count, 1)


def _all_but_one(s: PowerSums) -> Weights:
    return np.maximum(s.count - 1, 1)


def _never(s: PowerSums) -> NDArray[np.bool_]:
    return np.zeros(len(s.n), bool)


def _skewness(s: PowerSums) -> Answer:
    c, (s1, s2, s3) = s.exact_n, s.powers
    third = c * c * s3 - c * s1 * s2 * 3 + s1 * s1 * s1 * 2
    m3 = s.quotient(third, c * c)
    divisor = np.sqrt(s.m2 * s.m2 * s.m2)
    # sqrt(n) m3 / m2^(3/2), with all powers of n gone.
    exact = np.copysign(nearest_roots(third * third, s.square * s.square * s.square), m3)
    return unless_extreme(exact, np.sqrt(s.n) * m3 / divisor, divisor), s.m2 == 0


def _kurtosis(s: PowerSums) -> Answer:
    c, (s1, s2, s3, s4) = s.exact_n, s.powers
    mean = s1 * s1
    fourth = c * c * (c * s4 - s1 * s3 * 4) + c * mean * s2 * 6 - mean * mean * 3
    m4 = s.quotient(fourth, c * c * c)
    below = s.square * s.square
    divisor = s.m2 * s.m2
    exact = s.quotient(fourth - below * 3, below)
    return unless_extreme(exact, s.n * m4 / divisor - 3.0, divisor), s.m2 == 0


MOMENTS: Mapping[str, tuple[int, Callable[[PowerSums], Answer]]] = {
    "var_pop": (2, lambda s: (s.variance(_all(s)), _never(s))),
    "var_samp": (2, lambda s: (s.variance(_all_but_one(s)), s.count == 1)),
    "stddev_pop": (2, lambda s: (s.deviation(_all(s)), _never(s))),
    "stddev_samp": (2, lambda s: (s.deviation(_all_but_one(s)), s.count == 1)),
    "regr_squares": (2, lambda s: (s.m2, _never(s))),
    "skewness": (3, _skewness),
    "kurtosis": (4, _kurtosis),
}
"""The functions: how many powers each needs and how the answer is made of them."""
