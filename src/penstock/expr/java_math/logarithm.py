"""``log``, ``log10`` and ``log1p``, to the bits of Java's StrictMath.

A number is 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) is an odd polynomial in
s = f / (2 + f), and k ln 2 is added in two parts.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.exponential import LN2_HIGH, LN2_LOW
from penstock.expr.java_math.words import high, with_high
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["log", "log1p", "log1p_of", "log10", "log_of"]

Doubles = NDArray[np.float64]

_L1 = float.fromhex("0x1.5555555555593p-1")
_L2 = float.fromhex("0x1.999999997fa04p-2")
_L3 = float.fromhex("0x1.2492494229359p-2")
_L4 = float.fromhex("0x1.c71c51d8e78afp-3")
_L5 = float.fromhex("0x1.7466496cb03dep-3")
_L6 = float.fromhex("0x1.39a09d078c69fp-3")
_L7 = float.fromhex("0x1.2f112df3e5244p-3")

_PER_LN10 = float.fromhex("0x1.bcb7b1526e50ep-2")
_LOG10_2_HIGH = float.fromhex("0x1.34413509f6p-2")
_LOG10_2_LOW = float.fromhex("0x1.9fef311f12b36p-42")

_FRACTION = 0xFFFFF
_ONE = 0x3FF00000
_NORMAL = 2.0**-1022


@part
def log_of(x: Number) -> Number:
    if np.isnan(x) or x < 0:
        return np.nan
    if x == 0:
        return -np.inf
    if x == np.inf:
        return x
    k = np.int64(0)
    if x < _NORMAL:
        k -= 54
        x *= 2.0**54
    word = high(x)
    k += (word >> 20) - 1023
    word &= _FRACTION
    above = (word + 0x95F64) & 0x100000  # whether the fraction is beyond sqrt(2)
    f = with_high(x, word | (above ^ _ONE)) - 1.0
    k += above >> 20
    if _FRACTION & (2 + word) < 3:  # |f| < 2^-20: two terms of the series will do
        if f == 0:
            return k * LN2_HIGH + k * LN2_LOW
        r = f * f * (0.5 - 0.33333333333333333 * f)
        return f - r if k == 0 else k * LN2_HIGH - ((r - k * LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (_L2 + w * (_L4 + w * _L6))
    odd = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
    r = odd + even
    if (word - 0x6147A) | (0x6B851 - word) > 0:  # 1 + f between about 1.38 and 1.42
        half = 0.5 * f * f
        if k == 0:
            return f - (half - s * (half + r))
        return k * LN2_HIGH - ((half - (s * (half + r) + k * LN2_LOW)) - f)
    if k == 0:
        return f - s * (f - r)
    return k * LN2_HIGH - ((s * (f - r) - k * LN2_LOW) - f)


@part
def _log10_of(x: Number) -> Number:
    if not (0 < x < np.inf):
        return log_of(x)
    k = np.int64(0)
    if x < _NORMAL:
        k -= 54
        x *= 2.0**54
    word = high(x)
    k += (word >> 20) - 1023
    below = np.int64(k < 0)
    mantissa = with_high(x, (word & _FRACTION) | ((0x3FF - below) << 20))
    y = np.float64(k + below)
    z = y * _LOG10_2_LOW + _PER_LN10 * log_of(mantissa)
    return z + y * _LOG10_2_HIGH


@part
def log1p_of(x: Number) -> Number:
    if np.isnan(x) or x < -1:
        return np.nan
    if x == -1:
        return -np.inf
    if x == np.inf:
        return x
    size = high(abs(x))
    if size < 0x3E200000:  # 2^-29
        return x if size < 0x3C900000 else x - x * x * 0.5
    k = np.int64(0)
    f = x
    lost = 0.0  # what rounding 1 + x took away, relative to it
    word = np.int64(1)
    if (x > 0 and size >= 0x3FDA827A) or (x < 0 and size > 0x3FD2BEC3):  # not in [sqrt(1/2), sqrt(2)] - 1
        u = x
        if size < 0x43400000:  # 2^53
            u = 1.0 + x
            k = (high(u) >> 20) - 1023
            lost = (1.0 - (u - x) if k > 0 else x - (u - 1.0)) / u
        else:
            k = (high(u) >> 20) - 1023
        word = high(u) & _FRACTION
        if word < 0x6A09E:
            u = with_high(u, word | _ONE)
        else:
            k += 1
            u = with_high(u, word | 0x3FE00000)
            word = (0x100000 - word) >> 2
        f = u - 1.0
    half = 0.5 * f * f
    if word == 0:  # |f| < 2^-20
        if f == 0:
            return 0.0 if k == 0 else k * LN2_HIGH + (lost + k * LN2_LOW)
        r = half * (1.0 - 0.66666666666666666 * f)
        return f - r if k == 0 else k * LN2_HIGH - ((r - (k * LN2_LOW + lost)) - f)
    s = f / (2.0 + f)
    z = s * s
    r = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    if k == 0:
        return f - (half - s * (half + r))
    return k * LN2_HIGH - ((half - (s * (half + r) + (k * LN2_LOW + lost))) - f)


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def log(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = log_of(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def log10(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _log10_of(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def log1p(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = log1p_of(values[i])
