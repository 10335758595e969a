"""``asin``, ``acos``, ``atan`` and ``atan2``, to the bits of Java's StrictMath.

Below 1/2 the arc sine is x + x R(x^2) with a rational R; beyond, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)),
with the square root in two parts. The arc tangent is reduced to the nearest of 0, 1/2, 1, 3/2 and infinity.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.words import high, low_cleared
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["acos", "asin", "atan", "atan2"]

Doubles = NDArray[np.float64]

_PI = math.pi
_HALF_PI = math.pi / 2
_HALF_PI_LOW = float.fromhex("0x1.1a62633145c07p-54")
_PI_LOW = float.fromhex("0x1.1a62633145c07p-53")
_QUARTER_PI = math.pi / 4

_P0 = float.fromhex("0x1.5555555555555p-3")
_P1 = float.fromhex("-0x1.4d61203eb6f7dp-2")
_P2 = float.fromhex("0x1.9c1550e884455p-3")
_P3 = float.fromhex("-0x1.48228b5688f3bp-5")
_P4 = float.fromhex("0x1.9efe07501b288p-11")
_P5 = float.fromhex("0x1.23de10dfdf709p-15")
_Q1 = float.fromhex("-0x1.33a271c8a2d4bp+1")
_Q2 = float.fromhex("0x1.02ae59c598ac8p+1")
_Q3 = float.fromhex("-0x1.6066c1b8d0159p-1")
_Q4 = float.fromhex("0x1.3b8c5b12e9282p-4")

_T0 = float.fromhex("0x1.555555555550dp-2")
_T1 = float.fromhex("-0x1.999999998ebc4p-3")
_T2 = float.fromhex("0x1.24924920083ffp-3")
_T3 = float.fromhex("-0x1.c71c6fe231671p-4")
_T4 = float.fromhex("0x1.745cdc54c206ep-4")
_T5 = float.fromhex("-0x1.3b0f2af749a6dp-4")
_T6 = float.fromhex("0x1.10d66a0d03d51p-4")
_T7 = float.fromhex("-0x1.dde2d52defd9ap-5")
_T8 = float.fromhex("0x1.97b4b24760debp-5")
_T9 = float.fromhex("-0x1.2b4442c6a6c2fp-5")
_T10 = float.fromhex("0x1.0ad3ae322da11p-6")

_ATAN_HALF = float.fromhex("0x1.dac670561bb4fp-2")
_ATAN_HALF_LOW = float.fromhex("0x1.a2b7f222f65e2p-56")
_ATAN_ONE_LOW = float.fromhex("0x1.1a62633145c07p-55")
_ATAN_3_HALVES = float.fromhex("0x1.f730bd281f69bp-1")
_ATAN_3_HALVES_LOW = float.fromhex("0x1.007887af0cbbdp-56")

_NEARLY_ONE = 0x3FEF3333  # the high word of 0.975


@part
def _ratio(t: Number) -> Number:
    """R with asin(x) = x + x R(x^2)."""
    p = t * (_P0 + t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5)))))
    q = 1.0 + t * (_Q1 + t * (_Q2 + t * (_Q3 + t * _Q4)))
    return p / q


@part
def _asin(x: Number) -> Number:
    size = abs(x)
    if not size <= 1:
        return np.nan
    if size == 1:
        return x * _HALF_PI + x * _HALF_PI_LOW
    if size < 0.5:
        return x if size < 2.0**-27 else x + x * _ratio(x * x)
    t = (1.0 - size) * 0.5
    s = math.sqrt(t)
    if high(size) >= _NEARLY_ONE:
        angle = _HALF_PI - (2.0 * (s + s * _ratio(t)) - _HALF_PI_LOW)
    else:
        w = low_cleared(s)
        c = (t - w * w) / (s + w)
        p = 2.0 * s * _ratio(t) - (_HALF_PI_LOW - 2.0 * c)
        q = _QUARTER_PI - 2.0 * w
        angle = _QUARTER_PI - (p - q)
    return angle if x > 0 else -angle


@part
def _acos(x: Number) -> Number:
    size = abs(x)
    if not size <= 1:
        return np.nan
    if size == 1:
        return 0.0 if x > 0 else _PI + 2.0 * _HALF_PI_LOW
    if size < 0.5:
        if high(size) <= 0x3C600000:  # about 2^-57
            return _HALF_PI + _HALF_PI_LOW
        return _HALF_PI - (x - (_HALF_PI_LOW - x * _ratio(x * x)))
    if x < 0:
        z = (1.0 + x) * 0.5
        s = math.sqrt(z)
        return _PI - 2.0 * (s + (_ratio(z) * s - _HALF_PI_LOW))
    z = (1.0 - x) * 0.5
    s = math.sqrt(z)
    upper = low_cleared(s)
    c = (z - upper * upper) / (s + upper)
    return 2.0 * (upper + (_ratio(z) * s + c))


@part
def _atan_series(x: Number) -> Number:
    """x - atan(x), for small ``x``."""
    z = x * x
    w = z * z
    odd = z * (_T0 + w * (_T2 + w * (_T4 + w * (_T6 + w * (_T8 + w * _T10)))))
    even = w * (_T1 + w * (_T3 + w * (_T5 + w * (_T7 + w * _T9))))
    return x * (odd + even)


@part
def _atan(x: Number) -> Number:
    if np.isnan(x):
        return x
    size = abs(x)
    if size < 0.4375:
        return x if size < 2.0**-29 else x - _atan_series(x)
    if size >= 2.0**66:
        return math.copysign(_HALF_PI + _HALF_PI_LOW, x)
    if size < 0.6875:
        near, near_low, t = _ATAN_HALF, _ATAN_HALF_LOW, (2.0 * size - 1.0) / (2.0 + size)
    elif size < 1.1875:
        near, near_low, t = _QUARTER_PI, _ATAN_ONE_LOW, (size - 1.0) / (size + 1.0)
    elif size < 2.4375:
        near, near_low, t = _ATAN_3_HALVES, _ATAN_3_HALVES_LOW, (size - 1.5) / (1.0 + 1.5 * size)
    else:
        near, near_low, t = _HALF_PI, _HALF_PI_LOW, -1.0 / size
    return math.copysign(near - ((_atan_series(t) - near_low) - t), x)


@part
def _atan2(y: Number, x: Number) -> Number:
    if np.isnan(x) or np.isnan(y):
        return np.nan
    if x == 1:
        return _atan(y)
    left = math.copysign(1.0, x) < 0
    if y == 0:
        return math.copysign(_PI, y) if left else y
    if x == 0:
        return math.copysign(_HALF_PI, y)
    if math.isinf(x):
        if math.isinf(y):
            return math.copysign(3.0 * _QUARTER_PI if left else _QUARTER_PI, y)
        return math.copysign(_PI if left else 0.0, y)
    if math.isinf(y):
        return math.copysign(_HALF_PI, y)
    steps = (high(abs(y)) - high(abs(x))) >> 20
    if steps > 60:
        angle = _HALF_PI + 0.5 * _PI_LOW
    elif left and steps < -60:
        angle = 0.0
    else:
        angle = _atan(abs(y / x))
    if left:
        angle = _PI - (angle - _PI_LOW)
    return math.copysign(angle, y)


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def asin(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _asin(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def acos(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _acos(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def atan(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _atan(values[i])


@kernel(types.void(DOUBLES, DOUBLES, NEW_DOUBLES))
def atan2(ys: Doubles, xs: Doubles, results: Doubles) -> None:
    """Spark adds zero to both sides, which makes -0.0 positive."""
    for i in range(len(ys)):
        results[i] = _atan2(ys[i] + 0.0, xs[i] + 0.0)
