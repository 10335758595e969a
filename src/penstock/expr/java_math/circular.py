"""``sin`` and ``cos``, to the bits of Java's Math on x86-64.

These, and the tangent, are the functions for which Spark calls ``java.lang.Math`` and the Java machine has
methods of its own, which differ from StrictMath in the last bit of about one in thirty answers. That of sine
and cosine on x86-64: x = N pi/32 + r + c, where c is what rounding r lost; with B = N pi/32,
sin(B + r) = sin B + cos B * r + sin B (cos r - 1) + cos B (sin r - r), where the first two terms are added
with their rounding errors kept.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.angle import reduced
from penstock.expr.java_math.angle_tables import sine_table
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["cos", "sin"]

Doubles = NDArray[np.float64]

_TABLE = sine_table()
_PER_STEP = 32 / math.pi
# pi/32 in three parts, of which the first two times any N in use are exact.
_STEP_HIGH = float.fromhex("0x1.921fb54400000p-4")
_STEP_MIDDLE = float.fromhex("0x1.0b4611a600000p-38")
_STEP_LOW = float.fromhex("0x1.3198a2e037073p-73")
_PI4_HIGH = float.fromhex("0x1.921fb40000000p-1")
_PI4_LOW = float.fromhex("0x1.4442d18469899p-25")

_LARGE = 90112.0
_TINY = 2.0**-252
_QUARTER_TURN = 16  # in steps


@part
def _sine_of_sum(x: Number, tail: Number, steps: Number) -> Number:
    """The sine of ``x + tail`` and a number of steps of pi/32."""
    n = np.int64(_PER_STEP * x + math.copysign(0.5, x))
    whole = np.float64(n)
    row = (n + steps) & 63
    excess, sine, sine_rest, near = _TABLE[row, 0], _TABLE[row, 1], _TABLE[row, 2], _TABLE[row, 3]
    r1 = x - whole * _STEP_HIGH
    m2 = whole * _STEP_MIDDLE
    r = r1 - m2
    minus_c = whole * _STEP_LOW - ((r1 - r) - m2) - tail
    cosine = excess + near
    r2 = r * r
    r4 = r2 * r2
    odd = (-1 / 6 + 1 / 120 * r2) + ((1 / 362880 * r1) * r + -1 / 5040) * r4
    even = (-0.5 + 1 / 24 * r2) + ((1 / 40320 * r1) * r + -1 / 720) * r4
    step = near * r
    partial = step + sine
    middle = r * excess
    total = middle + partial
    rest = minus_c * (sine * r - cosine) + sine_rest
    rest += (sine - partial) + step
    rest += (partial - total) + middle
    rest += odd * ((cosine * r) * r2)
    rest += even * (sine * r2)
    return total + rest


@part
def _sin(x: Number) -> Number:
    size = abs(x)
    if size < _TINY:
        return x
    if size < _LARGE:
        return _sine_of_sum(x, 0.0, 0)
    if not size < np.inf:
        return np.nan
    n, r, c = reduced(x, 1, _PI4_HIGH, _PI4_LOW)
    return _sine_of_sum(r, c, 8 * n)


@part
def _cos(x: Number) -> Number:
    size = abs(x)
    if size < _TINY:
        return 1.0
    if size < _LARGE:
        return _sine_of_sum(x, 0.0, _QUARTER_TURN)
    if not size < np.inf:
        return np.nan
    n, r, c = reduced(x, 1, _PI4_HIGH, _PI4_LOW)
    return _sine_of_sum(r, c, 8 * n + _QUARTER_TURN)


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def sin(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _sin(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def cos(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _cos(values[i])
