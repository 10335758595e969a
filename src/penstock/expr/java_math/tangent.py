"""``tan``, to the bits of Java's Math on x86-64 (see :mod:`.circular`).

x = N pi/32 + r, and tan is a polynomial of degree 15 in r, one for each N. Near the pole at pi/2 the
polynomial is that of tan(x) + 1/y, where y is what x is beyond the pole; the reciprocal of y, correct to more
than 53 bits, is taken away afterwards.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.angle import reduced
from penstock.expr.java_math.angle_tables import SERIES_LENGTH, tangent_table
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["tan"]

Doubles = NDArray[np.float64]

_TABLE = tangent_table()
_PER_STEP = 32 / math.pi
_PER_POLE = 2 / math.pi
# pi/32 in three parts, once for multiples of 16 steps (poles) and once for all.
_POLE_HIGH = float.fromhex("0x1.921fb54444000p-4")
_POLE_MIDDLE = float.fromhex("-0x1.2e7b967674000p-44")
_POLE_LOW = float.fromhex("0x1.8a2e03707344ap-85")
_POLE_ROUGH = float.fromhex("0x1.2e7b9676733afp-44")  # what _POLE_HIGH is too much
_STEP_HIGH = float.fromhex("0x1.921fb54440000p-4")
_STEP_MIDDLE = float.fromhex("0x1.68c234c4c0000p-43")
_STEP_LOW = float.fromhex("0x1.98a2e03707345p-81")
_PI4_HIGH = float.fromhex("0x1.921fb00000000p-1")
_PI4_LOW = float.fromhex("0x1.5110b4611a626p-23")

_Q3 = float.fromhex("0x1.5555555555612p-2")
_Q5 = float.fromhex("0x1.1111111092746p-3")
_Q7 = float.fromhex("0x1.ba1ba52c4c8abp-5")
_Q9 = float.fromhex("0x1.664a0bf847a43p-6")
_Q11 = float.fromhex("0x1.2609ab8fe4d77p-7")

_SMALL = 0.1015625
_TINY = 2.0**-29
_LARGE = 12800.0
_NOT_18_BITS = np.int64(~((1 << 18) - 1))
_NOT_35_BITS = np.int64(~((1 << 35) - 1))

_CONSTANT, _CONSTANT_REST, _NEAR, _EXCESS, _BY_POLE = range(SERIES_LENGTH, SERIES_LENGTH + 5)


@part
def _polynomial(row: Number, r: Number) -> Number:
    """The terms from r^2 on."""
    c = _TABLE[row]
    r2 = r * r
    r4 = r2 * r2
    r5 = r * r4
    low = ((c[1] * r + c[0]) + (c[3] * r + c[2]) * r2) + c[4] * r4
    low += ((c[6] * r + c[5]) + c[7] * r2) * r5
    high = ((c[9] * r + c[8]) + (c[11] * r + c[10]) * r2) + c[12] * r4
    high += ((c[14] * r + c[13]) + c[15] * r2) * r5
    return (r4 * r4) * high + low


@part
def _tangent_of_sum(x: Number, tail: Number, steps: Number) -> Number:
    """The tangent of ``x + tail`` and a number of steps of pi/32."""
    poles = 16.0 * np.float64(np.int64(_PER_POLE * x + math.copysign(0.5, x)))
    n = np.int64(_PER_STEP * x + math.copysign(0.5, x))
    whole = np.float64(n)
    row = (n + steps) & 31
    r1 = x - _STEP_HIGH * whole
    m2 = _STEP_MIDDLE * whole
    r = r1 - m2
    c = ((r1 - r) - m2) - _STEP_LOW * whole + tail
    near, excess = _TABLE[row, _NEAR], _TABLE[row, _EXCESS]
    step = near * r
    middle = step + excess * r
    middle_rest = excess * r + (step - middle)
    rest = _polynomial(row, r) + (((near + excess) * c + _TABLE[row, _CONSTANT_REST]) + middle_rest)
    inverse = 0.0
    correction = 0.0
    if _TABLE[row, _BY_POLE] != 0:
        y1 = x - _POLE_HIGH * poles
        y2 = _POLE_MIDDLE * poles
        y = y1 - y2
        rough = _POLE_ROUGH * poles + y1
        rough = np.int64(np.float64(rough).view(np.int64) & _NOT_18_BITS).view(np.float64)
        y_rest = (((y1 - y) - y2) - _POLE_LOW * poles + tail) + (y - rough)
        reciprocal = 1.0 / rough
        inverse = np.int64(np.float64(reciprocal).view(np.int64) & _NOT_35_BITS).view(np.float64)
        correction = ((1.0 - rough * inverse) - y_rest * reciprocal) * reciprocal
    inverse -= _TABLE[row, _CONSTANT]
    total = middle - inverse
    rest += middle - (inverse + total)
    rest -= correction
    return rest + total


@part
def _tan(x: Number) -> Number:
    size = abs(x)
    if size < _TINY:
        return x
    if size < _SMALL:
        x2 = x * x
        return x + ((((_Q11 * x2 + _Q9) * x2 + _Q7) * x2 + _Q5) * x2 + _Q3) * (x * x2)
    if size < _LARGE:
        return _tangent_of_sum(x, 0.0, 0)
    if not size < np.inf:
        return np.nan
    n, r, c = reduced(x, 2, _PI4_HIGH, _PI4_LOW)
    return _tangent_of_sum(r, c, 16 * n)


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def tan(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _tan(values[i])
