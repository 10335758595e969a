"""Covariance, correlation and linear regression, from exact sums over the rows that have both values.

As in :mod:`.moments`, ``n * sum(x * y) - sum(x) * sum(y)`` is taken exactly, and a value that is NaN or
infinite makes the answer NaN. (Spark's answer with infinities depends on the order of rows.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators.base import Linear, Sums, Weights, masked, number
from penstock.circuit.accumulators.moments import finite
from penstock.circuit.accumulators.totals import Product, Total, counted
from penstock.zset import ExactNumbers

__all__ = ["PAIRS", "PairFunction"]

Doubles = NDArray[np.float64]
_POWERS = {"x": (1, 0), "y": (0, 1), "xy": (1, 1), "xx": (2, 0), "yy": (0, 2)}


@dataclass(frozen=True)
class PairStatistics:
    """Of each group the number of pairs, the means, and the sums of products of deviations from the means."""

    n: Doubles
    x: Doubles
    y: Doubles
    xy: Doubles
    xx: Doubles
    yy: Doubles


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
            value, null = pair.answer(_statistics(pair.sums, totals, count))
        single = (count == 1) & pair.needs_two
        value = np.where(single, np.nan, value)
        return masked(value, (count > 0) & ~null & ~(single & self.null_on_zero), pa.float64())

    @property
    def title(self) -> str:
        return self.function


def _statistics(names: Sequence[str], totals: Sequence[Sums], count: Weights) -> PairStatistics:
    size = len(count)
    n = np.where(count == 0, 1.0, count)
    exact = {name: ExactNumbers.of(total, size) for name, total in zip(names, totals, strict=False)}
    known = {"x": finite(totals[0], size), "y": finite(totals[1], size)}
    counts = ExactNumbers.of_counts(count)

    def mean(name: str) -> Doubles:
        return np.where(known[name], exact[name].to_doubles() / n, np.nan)

    def deviations(name: str) -> Doubles:
        if name not in exact:
            return np.zeros(size)
        first, second = name[0], name[1]
        sums = (counts * exact[name] - exact[first] * exact[second]).to_doubles() / n
        return np.where(known[first] & known[second], sums, np.nan)

    return PairStatistics(n, mean("x"), mean("y"), deviations("xy"), deviations("xx"), deviations("yy"))


@dataclass(frozen=True)
class Pair:
    """A function of pairs: the sums it needs (x and y always first), and its answer."""

    sums: tuple[str, ...]
    answer: Callable[[PairStatistics], Answer]
    needs_two: bool = False


def _never(s: PairStatistics) -> NDArray[np.bool_]:
    return np.zeros(len(s.n), bool)


def _correlation(s: PairStatistics) -> Answer:
    divisor = np.sqrt(s.xx * s.yy)
    return s.xy / divisor, divisor == 0


def _slope(s: PairStatistics) -> Answer:
    return s.xy / s.yy, s.yy == 0


def _intercept(s: PairStatistics) -> Answer:
    return s.x - s.xy / s.yy * s.y, s.yy == 0


def _determination(s: PairStatistics) -> Answer:
    correlation, _ = _correlation(s)
    return np.where(s.xx == 0, 1.0, correlation * correlation), s.yy == 0


PAIRS: Mapping[str, Pair] = {
    "covar_pop": Pair(("x", "y", "xy"), lambda s: (s.xy / s.n, _never(s))),
    "covar_samp": Pair(("x", "y", "xy"), lambda s: (s.xy / np.maximum(s.n - 1, 1), _never(s)), True),
    "corr": Pair(("x", "y", "xy", "xx", "yy"), _correlation, True),
    "regr_sxy": Pair(("x", "y", "xy"), lambda s: (s.xy, _never(s))),
    "regr_slope": Pair(("x", "y", "xy", "yy"), _slope),
    "regr_intercept": Pair(("x", "y", "xy", "yy"), _intercept),
    "regr_r2": Pair(("x", "y", "xy", "xx", "yy"), _determination),
}
"""The functions. In those named ``regr_`` the first argument, x here, is the dependent variable."""
