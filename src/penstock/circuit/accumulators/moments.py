"""Variance, standard deviation, skewness and kurtosis, from exact sums of powers.

With n values and exact power sums s1 … s4, ``n * s2 - s1^2`` is n times the sum of squared deviations, and so
on for the higher moments. These differences of large numbers are taken exactly and rounded afterwards, so
the answers are good to the last bits whatever the mean, and values that are all equal have a spread of
exactly zero, on which Spark's NULLs depend. A value that is NaN or infinite makes the answer NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.totals import ExactSum, Product, Total, counted
from penstock.zset import ExactNumbers

__all__ = ["MOMENTS", "Moment", "finite"]

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


class PowerSums:
    """Of each group the number of values, their power sums, and whether all are finite (else NaN is)."""

    def __init__(self, count: Weights, powers: Sequence[ExactNumbers], known: NDArray[np.bool_]) -> None:
        self.count, self.powers, self._known = count, powers, known
        self.n: Doubles = np.where(count == 0, 1.0, count)
        self.exact_n = ExactNumbers.of_counts(count)
        self.m2 = self.rounded(self.exact_n * powers[1] - powers[0] * powers[0]) / self.n
        """The sum of squared deviations from the mean."""

    def rounded(self, exact: ExactNumbers) -> Doubles:
        """Doubles of exact numbers; NaN where a value was not finite."""
        return np.where(self._known, exact.to_doubles(), np.nan)


def _variance(s: PowerSums) -> Answer:
    return s.m2 / s.n, np.zeros(len(s.n), bool)


def _sample_variance(s: PowerSums) -> Answer:
    return s.m2 / np.maximum(s.n - 1, 1), s.count == 1


def _root(function: Callable[[PowerSums], Answer]) -> Callable[[PowerSums], Answer]:
    def rooted(s: PowerSums) -> Answer:
        value, undefined = function(s)
        return np.sqrt(value), undefined

    return rooted


def _squares(s: PowerSums) -> Answer:
    return s.m2, np.zeros(len(s.n), bool)


def _skewness(s: PowerSums) -> Answer:
    c, (s1, s2, s3) = s.exact_n, s.powers
    m3 = s.rounded(c * c * s3 - c * s1 * s2 * 3 + s1 * s1 * s1 * 2) / s.n / s.n
    return np.sqrt(s.n) * m3 / np.sqrt(s.m2 * s.m2 * s.m2), s.m2 == 0


def _kurtosis(s: PowerSums) -> Answer:
    c, (s1, s2, s3, s4) = s.exact_n, s.powers
    square = s1 * s1
    m4 = s.rounded(c * c * (c * s4 - s1 * s3 * 4) + c * square * s2 * 6 - square * square * 3)
    return m4 / s.n / s.n / (s.m2 * s.m2) - 3.0, s.m2 == 0


MOMENTS: Mapping[str, tuple[int, Callable[[PowerSums], Answer]]] = {
    "var_pop": (2, _variance),
    "var_samp": (2, _sample_variance),
    "stddev_pop": (2, _root(_variance)),
    "stddev_samp": (2, _root(_sample_variance)),
    "regr_squares": (2, _squares),
    "skewness": (3, _skewness),
    "kurtosis": (4, _kurtosis),
}
"""The functions: how many powers each needs and how the answer is made of them."""
