"""Large angles modulo pi/2, as the Java machine reduces them on x86-64.

x is m * 2^e with a whole number m. Of 2/pi only those digits matter that meet m near the point: the ones
before it give whole turns, the ones far behind it nothing that counts. So m is multiplied by seven digits of
32 bits, and from the product come the number of the nearest multiple and the rest, in two doubles. Whole
multiples are of pi/4 for sine and cosine, of pi/2 for the tangent.
"""

from __future__ import annotations

import numpy as np

from penstock.expr.java_math.angle_tables import two_over_pi
from penstock.zset.kernel import Number, part

__all__ = ["reduced"]

_DIGITS = two_over_pi()
_MASK = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)
_FRACTION = np.uint64((1 << 52) - 1)
_UNIT = np.uint64(1)
_ZERO = np.uint64(0)


@part
def _product(m: Number, first: Number) -> Number:
    """m times seven digits of 2/pi from ``first`` on, in three words of 64 bits; what is above is lost."""
    low, high = m & _MASK, m >> _WORD
    # Column by column, from that of the lowest digit kept.
    column = ((_DIGITS[first + 5] * low) & _MASK) + _DIGITS[first + 6] * high
    bottom = column & _MASK
    column = _DIGITS[first + 5] * high + ((_DIGITS[first + 5] * low) >> _WORD) + (column >> _WORD)
    column += (_DIGITS[first + 4] * low) & _MASK
    bottom |= (column & _MASK) << _WORD
    column = _DIGITS[first + 4] * high + ((_DIGITS[first + 4] * low) >> _WORD) + (column >> _WORD)
    column += (_DIGITS[first + 3] * low) & _MASK
    middle = column & _MASK
    column = _DIGITS[first + 3] * high + ((_DIGITS[first + 3] * low) >> _WORD) + (column >> _WORD)
    column += (_DIGITS[first + 2] * low) & _MASK
    middle |= (column & _MASK) << _WORD
    column = _DIGITS[first + 2] * high + ((_DIGITS[first + 2] * low) >> _WORD) + (column >> _WORD)
    column += (_DIGITS[first + 1] * low) & _MASK
    top = column & _MASK
    column = _DIGITS[first + 1] * high + ((_DIGITS[first + 1] * low) >> _WORD) + (column >> _WORD)
    column += _DIGITS[first] * low
    return top | (column << _WORD), middle, bottom


@part
def _leading_bit(word: Number) -> Number:
    """The place of the highest bit that is set."""
    place = np.int64(0)
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(place + step):
            place += step
    return place


@part
def reduced(x: Number, quarters: Number, pi4_high: Number, pi4_low: Number) -> Number:
    """n, r and c with x = n * u + r + c modulo 2 pi, and r at most u/2 in magnitude.

    u is pi/4 (``quarters`` is 1) or pi/2 (2); pi/4 comes in the two parts that the caller's method uses. The
    magnitude of ``x`` is at least 2^13."""
    bits = np.float64(x).view(np.uint64)
    exponent = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF)) - 1014
    m = (bits & _FRACTION) | (_UNIT << np.uint64(52))
    top, middle, bottom = _product(m, exponent >> 5)
    places = 60 - (exponent & 31)  # bits of ``top`` behind the point, in units of pi/4
    point = np.uint64(places + quarters - 1)
    n = np.int64((top >> point) & np.uint64(7 if quarters == 1 else 3))
    top &= (_UNIT << point) - _UNIT
    sign = 1.0
    if top >> (point - _UNIT):  # the next multiple is nearer
        n += 1
        sign = -1.0
        borrow_middle = np.uint64(bottom != _ZERO)
        borrow_top = np.uint64(middle != _ZERO or bottom != _ZERO)
        top = (_UNIT << point) - top - borrow_top
        middle = _ZERO - middle - borrow_middle
        bottom = _ZERO - bottom
    for _ in range(2):
        if top == _ZERO:
            places += 64
            top, middle, bottom = middle, bottom, _ZERO
    # The first 30 bits, and the 63 after them.
    shift = 29 - _leading_bit(top)
    if shift > 0:
        top = (top << np.uint64(shift)) | (middle >> np.uint64(64 - shift))
        middle = (middle << np.uint64(shift)) | (bottom >> np.uint64(64 - shift))
    elif shift < 0:
        middle = (middle >> np.uint64(-shift)) | (top << np.uint64(64 + shift))
        top = top >> np.uint64(-shift)
    places += shift
    if x < 0:
        n = -n
        sign = -sign
    unit = sign * np.int64((1023 - places) << 52).view(np.float64)
    upper = np.float64(np.int64(top)) * unit
    lower = np.float64(np.int64(middle >> _UNIT)) * (unit * 2.0**-63)
    rest = pi4_low * (upper + lower) + lower * pi4_high
    product = upper * pi4_high
    r = product + rest
    return n, r, rest + (product - r)
