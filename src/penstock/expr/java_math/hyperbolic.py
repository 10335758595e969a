"""``sinh``, ``cosh`` and ``tanh`` to the bits of Java's StrictMath; ``asinh`` and ``acosh`` to Spark's own.

All are made of ``exp``, ``expm1``, ``log`` and ``log1p``, each in the form that loses least where it is used.
"""

from __future__ import annotations

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.expr.java_math.exponential import exp_of, expm1_of
from penstock.expr.java_math.logarithm import log1p_of, log_of
from penstock.expr.java_math.words import high
from penstock.zset.kernel import DOUBLES, NEW_DOUBLES, Number, kernel, part

__all__ = ["acosh", "asinh", "cosh", "sinh", "tanh"]

Doubles = NDArray[np.float64]

_LN2 = float.fromhex("0x1.62e42fefa39efp-1")
_LARGEST_EXP = 0x40862E42  # the high word from which on exp(x) may be infinite
_LARGEST = float.fromhex("0x1.633ce8fb9f87dp+9")  # beyond it sinh and cosh are infinite
_HALF_LN2 = 0x3FD62E43


@part
def _sinh(x: Number) -> Number:
    size = abs(x)
    if not size < np.inf or size < 2.0**-28:
        return x
    h = math.copysign(0.5, x)
    if size < 22:
        t = expm1_of(size)
        return h * (2.0 * t - t * t / (t + 1.0)) if size < 1 else h * (t + t / (t + 1.0))
    if high(size) < _LARGEST_EXP:
        return h * exp_of(size)
    if size <= _LARGEST:
        w = exp_of(0.5 * size)
        return (h * w) * w
    return math.copysign(np.inf, x)


@part
def _cosh(x: Number) -> Number:
    size = abs(x)
    if np.isnan(x):
        return x
    word = high(size)
    if word < _HALF_LN2:
        t = expm1_of(size)
        w = 1.0 + t
        return w if word < 0x3C800000 else 1.0 + (t * t) / (w + w)
    if size < 22:
        t = exp_of(size)
        return 0.5 * t + 0.5 / t
    if word < _LARGEST_EXP:
        return 0.5 * exp_of(size)
    if size <= _LARGEST:
        w = exp_of(0.5 * size)
        return (0.5 * w) * w
    return np.inf


@part
def _tanh(x: Number) -> Number:
    if np.isnan(x):
        return x
    size = abs(x)
    if size < 2.0**-55:
        return x * (1.0 + x)
    if size >= 22:
        z = 1.0
    elif size >= 1:
        z = 1.0 - 2.0 / (expm1_of(2.0 * size) + 2.0)
    else:
        t = expm1_of(-2.0 * size)
        z = -t / (t + 2.0)
    return math.copysign(z, x)


@part
def _asinh(x: Number) -> Number:
    size = abs(x)
    if not size < np.inf or size < 2.0**-28:
        return x
    if size > 2.0**28:
        w = log_of(size) + _LN2
    elif size > 2:
        w = log_of(2.0 * size + 1.0 / (math.sqrt(x * x + 1.0) + size))
    else:
        t = x * x
        w = log1p_of(size + t / (1.0 + math.sqrt(1.0 + t)))
    return math.copysign(w, x)


@part
def _acosh(x: Number) -> Number:
    if not x >= 1:
        return np.nan
    if x >= 2.0**28:
        return log_of(x) + _LN2
    if x > 2:
        return log_of(2.0 * x - 1.0 / (x + math.sqrt(x * x - 1.0)))
    t = x - 1.0
    return log1p_of(t + math.sqrt(2.0 * t + t * t))


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def sinh(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _sinh(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def cosh(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _cosh(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def tanh(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _tanh(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def asinh(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _asinh(values[i])


@kernel(types.void(DOUBLES, NEW_DOUBLES))
def acosh(values: Doubles, results: Doubles) -> None:
    for i in range(len(values)):
        results[i] = _acosh(values[i])
