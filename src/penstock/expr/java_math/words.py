"""The two halves of a double, in which Java's mathematical library thinks.

Its methods choose a branch, split a factor, or add to an exponent by looking at the high 32 bits (sign,
exponent and 20 bits of the fraction) alone. To come to the same bits, the same halves have to be taken.
"""

from __future__ import annotations

import numpy as np

from penstock.zset.kernel import Number, part

__all__ = ["from_high", "high", "low_cleared", "scaled", "with_high"]

_HALF = np.int64(32)
_LOW = np.int64(0xFFFFFFFF)
_FRACTION_BITS = np.int64(52)


@part
def high(x: Number) -> Number:
    """The upper half as a signed number: negative for negative ``x``."""
    return np.float64(x).view(np.int64) >> _HALF


@part
def from_high(word: Number) -> Number:
    """The double with this upper half and zeros below."""
    return np.int64(np.int64(word) << _HALF).view(np.float64)


@part
def with_high(x: Number, word: Number) -> Number:
    """``x`` with another upper half."""
    return np.int64((np.float64(x).view(np.int64) & _LOW) | (np.int64(word) << _HALF)).view(np.float64)


@part
def low_cleared(x: Number) -> Number:
    """``x`` with zeros in its lower half: few enough bits that a product with another such is exact."""
    return np.int64(np.float64(x).view(np.int64) & ~_LOW).view(np.float64)


@part
def scaled(x: Number, power: Number) -> Number:
    """``x * 2**power`` by its exponent; the result must be a normal number."""
    return np.int64(np.float64(x).view(np.int64) + (np.int64(power) << _FRACTION_BITS)).view(np.float64)
