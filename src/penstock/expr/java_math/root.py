"""``cbrt`` and ``hypot``, to the bits of Java's StrictMath. (``sqrt`` is correctly rounded anyway.)"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.words import from_high, high, with_high
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["cbrt", "hypot"]

Doubles = NDArray[np.float64]

_NORMAL = 2.0**-1022
# A third of the high word, plus this, is the high word of a cube root to five bits.
_THIRD = 715094163
_THIRD_SUBNORMAL = 696219795  # the same after scaling by 2^54

_C = float.fromhex("0x1.15f15f15f15f1p-1")  # 19 / 35
_D = float.fromhex("-0x1.691de2532c834p-1")  # -864 / 1225
_E = float.fromhex("0x1.6a0ea0ea0ea0fp+0")  # 99 / 70
_F = float.fromhex("0x1.9b6db6db6db6ep+0")  # 45 / 28
_G = float.fromhex("0x1.6db6db6db6db7p-2")  # 5 / 14

_ONE_HIGHER = 0x100000
_SCALED_BY_600 = 600 * _ONE_HIGHER
_MUCH_LARGER = 60 * _ONE_HIGHER
_LARGE = float.fromhex("0x1.00000ffffffffp+500")


@part
def _cbrt(x: Number) -> Number:
    """A guess of 5 bits from the exponent, a rational step to 23 bits, and one Newton step to all of them."""
    if x == 0 or not math.isfinite(x):
        return x
    size = abs(x)
    if size < _NORMAL:
        enlarged = size * 2.0**54
        t = with_high(enlarged, high(enlarged) // 3 + _THIRD_SUBNORMAL)
    else:
        t = from_high(high(size) // 3 + _THIRD)
    r = t * t / size
    s = _C + r * t
    t *= _G + _F / (s + _E + _D / s)
    # Chopped to 20 bits and one unit more, so that its square is exact and it is the larger one.
    t = from_high(high(t) + 1)
    r = size / (t * t)
    r = (r - t) / (t + t + r)
    return math.copysign(t + t * r, x)


@part
def _hypot(x: Number, y: Number) -> Number:
    """sqrt(a^2 + b^2) with the squares split so that the larger part of each is exact."""
    a, b = abs(x), abs(y)
    if a == np.inf or b == np.inf:
        return np.inf
    if np.isnan(a) or np.isnan(b):
        return np.nan
    if b > a:
        a, b = b, a
    word_a, word_b = high(a), high(b)
    if word_a - word_b > _MUCH_LARGER:
        return a + b
    scale = 1.0
    if a > _LARGE:
        word_a -= _SCALED_BY_600
        word_b -= _SCALED_BY_600
        a *= 2.0**-600
        b *= 2.0**-600
        scale = 2.0**600
    if b < 2.0**-500:
        if b == 0:
            return a
        if b < _NORMAL:  # Java leaves the words as they are here
            a *= 2.0**1022
            b *= 2.0**1022
            scale *= 2.0**-1022
        else:
            word_a += _SCALED_BY_600
            word_b += _SCALED_BY_600
            a *= 2.0**600
            b *= 2.0**600
            scale *= 2.0**-600
    gap = a - b
    if gap > b:
        upper = from_high(word_a)
        lower = a - upper
        return scale * math.sqrt(upper * upper - (b * -b - lower * (a + upper)))
    twice = a + a
    b_upper = from_high(word_b)
    b_lower = b - b_upper
    upper = from_high(word_a + _ONE_HIGHER)
    lower = twice - upper
    return scale * math.sqrt(upper * b_upper - (gap * -gap - (upper * b_lower + lower * b)))


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def cbrt(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _cbrt(values[i])


@kernel(types.void(DOUBLES, DOUBLES, NEW_DOUBLES))
def hypot(xs: Doubles, ys: Doubles, results: Doubles) -> None:
    for i in range(len(xs)):
        results[i] = _hypot(xs[i], ys[i])
