"""``exp`` and ``expm1``, to the bits of Java's StrictMath.

Both write x = k ln 2 + r with r at most ln 2 / 2 in magnitude, take a rational approximation of the
exponential of r, and put k into the exponent. The multiple of ln 2 is subtracted in two parts, of which the
first is exact.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.words import from_high, high, scaled
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["LN2_HIGH", "LN2_LOW", "exp", "exp_of", "expm1", "expm1_of", "exponential_ratio"]

Doubles = NDArray[np.float64]

LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")

_LARGEST = float.fromhex("0x1.62e42fefa39efp+9")  # beyond it the exponential is infinite,
_SMALLEST = float.fromhex("-0x1.74910d52d3051p+9")  # and below it zero

# High words at which another branch begins.
_HALF_LN2, _THREE_HALVES_LN2 = 0x3FD62E42, 0x3FF0A2B2
_TINY_EXP, _TINY_EXPM1 = 0x3E300000, 0x3C900000  # 2^-28, 2^-54
_MINUS_ONE = 0x4043687A  # from 56 ln 2 on, expm1(-x) is -1

_E1 = float.fromhex("0x1.555555555553ep-3")
_E2 = float.fromhex("-0x1.6c16c16bebd93p-9")
_E3 = float.fromhex("0x1.1566aaf25de2cp-14")
_E4 = float.fromhex("-0x1.bbd41c5d26bf1p-20")
_E5 = float.fromhex("0x1.6376972bea4d0p-25")

_M1 = float.fromhex("-0x1.11111111110f4p-5")
_M2 = float.fromhex("0x1.a01a019fe5585p-10")
_M3 = float.fromhex("-0x1.4ce199eaadbb7p-14")
_M4 = float.fromhex("0x1.0cfca86e65239p-18")
_M5 = float.fromhex("-0x1.afdb76e09c32dp-23")


@part
def _multiple_of_ln2(x: Number, size: Number) -> Number:
    """The whole number of ln 2 in ``x``, whose magnitude has the high word ``size``."""
    if size < _THREE_HALVES_LN2:
        return np.int64(1) if x > 0 else np.int64(-1)
    return np.int64(_PER_LN2 * x + math.copysign(0.5, x))


@part
def exponential_ratio(r: Number) -> Number:
    """c with e^r = 1 + 2r / (2 - c), for small ``r`` and to within its rounding."""
    t = r * r
    return r - t * (_E1 + t * (_E2 + t * (_E3 + t * (_E4 + t * _E5))))


@part
def exp_of(x: Number) -> Number:
    if np.isnan(x):
        return x
    if x > _LARGEST:
        return np.inf
    if x < _SMALLEST:
        return 0.0
    size = high(abs(x))
    if size < _TINY_EXP:
        return 1.0 + x
    if size <= _HALF_LN2:
        c = exponential_ratio(x)
        return 1.0 - ((x * c) / (c - 2.0) - x)
    k = _multiple_of_ln2(x, size)
    upper = x - k * LN2_HIGH
    lower = k * LN2_LOW
    r = upper - lower
    c = exponential_ratio(r)
    y = 1.0 - ((lower - (r * c) / (2.0 - c)) - upper)
    # Results below the normal numbers are rounded once more, by the last product.
    return scaled(y, k) if k >= -1021 else scaled(y, k + 1000) * 2.0**-1000


@part
def expm1_of(x: Number) -> Number:
    if np.isnan(x):
        return x
    if x > _LARGEST:
        return np.inf
    size = high(abs(x))
    if x < 0 and size >= _MINUS_ONE:
        return -1.0
    if size < _TINY_EXPM1:
        return x
    k = np.int64(0)
    lost = 0.0  # what rounding the reduced argument took away
    if size > _HALF_LN2:
        k = _multiple_of_ln2(x, size)
        upper = x - k * LN2_HIGH
        lower = k * LN2_LOW
        x = upper - lower
        lost = (upper - x) - lower
    half = 0.5 * x
    square = x * half
    r = 1.0 + square * (_M1 + square * (_M2 + square * (_M3 + square * (_M4 + square * _M5))))
    t = 3.0 - r * half
    e = square * ((r - t) / (6.0 - x * t))
    if k == 0:
        return x - (x * e - square)
    e = x * (e - lost) - lost
    e -= square
    if k == -1:
        return 0.5 * (x - e) - 0.5
    if k == 1:
        return -2.0 * (e - (x + 0.5)) if x < -0.25 else 1.0 + 2.0 * (x - e)
    if k <= -2 or k > 56:
        return scaled(1.0 - (e - x), k) - 1.0
    if k < 20:
        return scaled(from_high(0x3FF00000 - (0x200000 >> k)) - (e - x), k)
    return scaled((x - (e + from_high((0x3FF - k) << 20))) + 1.0, k)


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def exp(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = exp_of(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def expm1(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = expm1_of(values[i])
