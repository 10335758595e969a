"""Covariance, correlation and linear regression, from exact sums over the rows that have both values.

As in :mod:`.moments`, ``n * sum(x * y) - sum(x) * sum(y)`` is taken exactly, every answer is the double
nearest to the true one, and a value that is NaN or infinite makes it NaN. (Spark's answer with infinities
depends on the order of rows.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.moments import finite, unless_extreme
from penstock.circuit.accumulators.totals import Product, Total, counted
from penstock.zset import ExactNumbers, nearest_quotients, nearest_roots

__all__ = ["PAIRS", "PairFunction"]

Doubles = NDArray[np.float64]
_POWERS = {"x": (1, 0), "y": (0, 1), "xy": (1, 1), "xx": (2, 0), "yy": (0, 2)}


class PairSums:
    """Of each group the number of pairs, the means, and the sums of products of deviations from the means:
    as doubles, and times n as exact numbers."""

    def __init__(self, names: Sequence[str], totals: Sequence[Sums], count: Weights) -> None:
        size = len(count)
        self.count = np.maximum(count, 1)
        self.n = ExactNumbers.of_counts(self.count)
        self.sums = {name: ExactNumbers.of(total, size) for name, total in zip(names, totals, strict=False)}
        self._known = {"x": finite(totals[0], size), "y": finite(totals[1], size)}
        self.exact = {
            name: self.n * total - self.sums[name[0]] * self.sums[name[1]]
            for name, total in self.sums.items()
            if len(name) == 2
        }

    def mean(self, name: str) -> Doubles:
        """Of ``x`` or ``y``."""
        return self._where_known(name, self.sums[name].to_doubles() / self.count)

    def deviations(self, name: str) -> Doubles:
        """Of ``xy``, ``xx`` or ``yy``."""
        return self._where_known(name, nearest_quotients(self.exact[name], self.n))

    def _where_known(self, name: str, values: Doubles) -> Doubles:
        return np.where(np.logical_and.reduce([self._known[letter] for letter in name]), values, np.nan)

    def covariance(self, divisor: Weights) -> Doubles:
        """The sum of products of deviations over ``divisor``."""
        xy = self.deviations("xy")
        exact = nearest_quotients(self.exact["xy"], self.n * ExactNumbers.of_counts(divisor))
        return unless_extreme(exact, xy / divisor, xy)


Answer = tuple[Doubles, NDArray[np.bool_]]
"""Numbers, and where the answer is not one but NULL."""


@dataclass(frozen=True)
class PairFunction(Linear):
    """``function`` is one of :data:`PAIRS`; ``args`` are the function's, the first called x here.

    ``null_on_zero``: where the divisor is zero for want of rows, the answer is NULL; otherwise NaN."""

    function: str
    null_on_zero: bool = True

    @property
    def totals(self) -> tuple[Total, ...]:
        needed = PAIRS[self.function].sums
        sums = tuple(Product(self.args, self.filter, _POWERS[name]) for name in needed)
        return *sums, *counted(self.args, self.filter)

    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        pair = PAIRS[self.function]
        needed = len(pair.sums)
        count = number(rows, totals[needed] if len(totals) > needed else None)
        with np.errstate(all="ignore"):
            value, null = pair.answer(PairSums(pair.sums, totals, count))
        single = (count == 1) & pair.needs_two
        value = np.where(single, np.nan, value)
        return masked(value, (count > 0) & ~null & ~(single & self.null_on_zero), pa.float64())

    @property
    def title(self) -> str:
        return self.function


@dataclass(frozen=True)
class Pair:
    """A function of pairs: the sums it needs (x and y always first), and its answer."""

    sums: tuple[str, ...]
    answer: Callable[[PairSums], Answer]
    needs_two: bool = False


def _never(s: PairSums) -> NDArray[np.bool_]:
    return np.zeros(len(s.count), bool)


def _correlation(s: PairSums) -> Answer:
    xy = s.deviations("xy")
    divisor = np.sqrt(s.deviations("xx") * s.deviations("yy"))
    root = nearest_roots(s.exact["xy"] * s.exact["xy"], s.exact["xx"] * s.exact["yy"])
    return unless_extreme(np.copysign(root, xy), xy / divisor, divisor), divisor == 0


def _slope(s: PairSums) -> Answer:
    yy = s.deviations("yy")
    exact = nearest_quotients(s.exact["xy"], s.exact["yy"])
    return unless_extreme(exact, s.deviations("xy") / yy, yy), yy == 0


def _intercept(s: PairSums) -> Answer:
    yy = s.deviations("yy")
    above = s.sums["x"] * s.exact["yy"] - s.exact["xy"] * s.sums["y"]
    formula = s.mean("x") - s.deviations("xy") / yy * s.mean("y")
    return unless_extreme(nearest_quotients(above, s.n * s.exact["yy"]), formula, yy), yy == 0


def _determination(s: PairSums) -> Answer:
    xx, yy = s.deviations("xx"), s.deviations("yy")
    divisor = np.sqrt(xx * yy)
    correlation = s.deviations("xy") / divisor
    exact = nearest_quotients(s.exact["xy"] * s.exact["xy"], s.exact["xx"] * s.exact["yy"])
    square = unless_extreme(exact, correlation * correlation, divisor)
    return np.where(xx == 0, 1.0, square), yy == 0


PAIRS: Mapping[str, Pair] = {
    "covar_pop": Pair(("x", "y", "xy"), lambda s: (s.covariance(s.count), _never(s))),
    "covar_samp": Pair(
        ("x", "y", "xy"), lambda s: (s.covariance(np.maximum(s.count - 1, 1)), _never(s)), True
    ),
    "corr": Pair(("x", "y", "xy", "xx", "yy"), _correlation, True),
    "regr_sxy": Pair(("x", "y", "xy"), lambda s: (s.deviations("xy"), _never(s))),
    "regr_slope": Pair(("x", "y", "xy", "yy"), _slope),
    "regr_intercept": Pair(("x", "y", "xy", "yy"), _intercept),
    "regr_r2": Pair(("x", "y", "xy", "xx", "yy"), _determination),
}
"""The functions. In those named ``regr_`` the first argument, x here, is the dependent variable."""
