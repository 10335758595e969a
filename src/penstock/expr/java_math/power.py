"""``pow``, to the bits of Java's StrictMath.

log2(x) is computed in two doubles (21 bits and a tail), multiplied by y likewise, and 2 is raised to the sum:
its whole part goes into the exponent, the rest through the approximation that ``exp`` uses too. Unlike in C,
1 to the power of NaN is NaN, and so is 1 or -1 to the power of an infinity.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.exponential import exponential_ratio
from penstock.expr.java_math.words import from_high, high, low_cleared, scaled, with_high
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["power"]

Doubles = NDArray[np.float64]

_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_PER_LN2_HIGH = float.fromhex("0x1.715476p+0")
_PER_LN2_LOW = float.fromhex("0x1.4ae0bf85ddf44p-26")

_SCALE = float.fromhex("0x1.ec709dc3a03fdp-1")  # 2 / (3 ln 2)
_SCALE_HIGH = float.fromhex("0x1.ec709ep-1")
_SCALE_LOW = float.fromhex("-0x1.e2fe0145b01f5p-28")

_LOG2_3_HALVES_HIGH = float.fromhex("0x1.2b8034p-1")
_LOG2_3_HALVES_LOW = float.fromhex("0x1.cfdeb43cfd006p-27")

_L1 = float.fromhex("0x1.3333333333303p-1")
_L2 = float.fromhex("0x1.b6db6db6fabffp-2")
_L3 = float.fromhex("0x1.55555518f264dp-2")
_L4 = float.fromhex("0x1.17460a91d4101p-2")
_L5 = float.fromhex("0x1.d864a93c9db65p-3")
_L6 = float.fromhex("0x1.a7e284a454eefp-3")

_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_LN2_HIGH = float.fromhex("0x1.62e43p-1")
_LN2_LOW = float.fromhex("-0x1.05c610ca86c39p-29")

_OVERFLOW_MARGIN = 8.0085662595372944372e-17  # how far below 1024 log2 of the largest double is
_HUGE_EXPONENT = float.fromhex("0x1.00000ffffffffp+31")
_NEARLY_ONE_BELOW = float.fromhex("0x1.fffff00000000p-1")
_NEARLY_ONE_ABOVE = float.fromhex("0x1.00000ffffffffp+0")
_LARGEST = np.finfo(np.float64).max


@part
def _is_whole(y: Number) -> Number:
    """Whether ``y`` is a whole number; every double from 2^53 on is."""
    return abs(y) >= 2.0**53 or math.floor(y) == y


@part
def _is_odd(y: Number) -> Number:
    return abs(y) < 2.0**53 and math.floor(y) == y and np.int64(y) & 1 == 1


@part
def _log2_near_one(x: Number) -> Number:
    """log2 in two parts, for ``x`` within 2^-20 of 1."""
    t = x - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u = _PER_LN2_HIGH * t
    v = t * _PER_LN2_LOW - w * _PER_LN2
    upper = low_cleared(u + v)
    return upper, v - (upper - u)


@part
def _log2(x: Number) -> Number:
    """log2 of a positive number in two parts, the first of few bits."""
    n = np.int64(0)
    if x < 2.0**-1022:
        x *= 2.0**53
        n -= 53
    word = high(x)
    n += (word >> 20) - 0x3FF
    fraction = word & 0xFFFFF
    word = fraction | 0x3FF00000
    near, near_high, near_low, step = 1.0, 0.0, 0.0, 0
    if 0x3988E < fraction < 0xBB67A:  # between sqrt(3/2) and sqrt(3): relative to 3/2
        near, near_high, near_low, step = 1.5, _LOG2_3_HALVES_HIGH, _LOG2_3_HALVES_LOW, 0x40000
    elif fraction >= 0xBB67A:
        n += 1
        word -= 0x100000
    x = with_high(x, word)
    u = x - near
    v = 1.0 / (x + near)
    s = u * v
    s_high = low_cleared(s)
    t_high = from_high(((word >> 1) | 0x20000000) + 0x80000 + step)
    t_low = x - (t_high - near)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    square = s * s
    series = _L1 + square * (_L2 + square * (_L3 + square * (_L4 + square * (_L5 + square * _L6))))
    r = square * square * series + s_low * (s_high + s)
    square = s_high * s_high
    t_high = low_cleared(3.0 + square + r)
    t_low = r - ((t_high - 3.0) - square)
    u = s_high * t_high
    v = s_low * t_high + t_low * s
    p_high = low_cleared(u + v)
    p_low = v - (p_high - u)
    z_high = _SCALE_HIGH * p_high
    z_low = _SCALE_LOW * p_high + p_low * _SCALE + near_low
    whole = np.float64(n)
    upper = low_cleared(((z_high + z_low) + near_high) + whole)
    return upper, z_low - (((upper - whole) - near_high) - z_high)


@part
def _exp2(z: Number, p_high: Number, p_low: Number) -> Number:
    """2 to the power of ``p_high + p_low``, which is ``z`` rounded; neither too large nor too small."""
    n = np.int64(0)
    if high(abs(z)) > 0x3FE00000:
        whole = math.floor(abs(z) + 0.5)
        n = np.int64(math.copysign(whole, z))
        p_high -= np.float64(n)
    t = low_cleared(p_low + p_high)
    u = t * _LN2_HIGH
    v = (p_low - (t - p_high)) * _LN2 + t * _LN2_LOW
    z = u + v
    w = v - (z - u)
    c = exponential_ratio(z)
    r = (z * c) / (c - 2.0) - (w + z * w)
    z = 1.0 - (r - z)
    if (high(z) >> 20) + n <= 0:
        return scaled(z, n + 200) * 2.0**-200
    return scaled(z, n)


@part
def _special(x: Number, y: Number) -> Number:
    """The answer where the magnitude of ``x`` is zero, one or infinite."""
    z = abs(x) if y > 0 else 1.0 / abs(x)
    if math.copysign(1.0, x) < 0:
        if abs(x) == 1 and not _is_whole(y):
            return np.nan
        if _is_odd(y):
            return -z
    return z


@part
def _to_infinity(x: Number, y: Number) -> Number:
    """The answer for an infinite ``y``."""
    size = abs(x)
    if size == 1:
        return np.nan
    return np.inf if (size > 1) == (y > 0) else 0.0


@part
def _power(x: Number, y: Number) -> Number:
    if y == 0:
        return 1.0
    if np.isnan(x) or np.isnan(y):
        return np.nan
    if y == 2:
        return x * x
    if y == 0.5 and x >= -_LARGEST:
        return math.sqrt(x + 0.0)
    if abs(y) == 1:
        return x if y == 1 else 1.0 / x
    if abs(y) == np.inf:
        return _to_infinity(x, y)
    size = abs(x)
    if size == 0 or size == 1 or size == np.inf:
        return _special(x, y)
    if x < 0 and not _is_whole(y):
        return np.nan
    sign = -1.0 if x < 0 and _is_odd(y) else 1.0
    if abs(y) > _HUGE_EXPONENT:
        if size < _NEARLY_ONE_BELOW:
            return sign * np.inf if y < 0 else sign * 0.0
        if size > _NEARLY_ONE_ABOVE:
            return sign * np.inf if y > 0 else sign * 0.0
        upper, lower = _log2_near_one(size)
    else:
        upper, lower = _log2(size)
    y_high = low_cleared(y)
    p_low = (y - y_high) * upper + y * lower
    p_high = y_high * upper
    z = p_low + p_high
    if z > 1024 or (z == 1024 and p_low + _OVERFLOW_MARGIN > z - p_high):
        return sign * np.inf
    if z < -1075 or (z == -1075 and p_low <= z - p_high):
        return sign * 0.0
    return sign * _exp2(z, p_high, p_low)


@kernel(types.void(DOUBLES, DOUBLES, NEW_DOUBLES))
def power(bases: Doubles, exponents: Doubles, results: Doubles) -> None:
    for i in range(len(bases)):
        results[i] = _power(bases[i], exponents[i])
