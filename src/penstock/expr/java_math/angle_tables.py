"""What the sine, cosine and tangent look up: pi, 2/pi, and series at the multiples of pi/32.

All of it is computed here, in whole numbers that stand for fractions of 2^-1400, in a few milliseconds. The
form is that of the methods which the Java machine uses on x86-64 (:mod:`.circular`, :mod:`.tangent`): which
number is split into which parts decides about last bits.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["SERIES_LENGTH", "sine_table", "tangent_table", "two_over_pi"]

_BITS = 1400
_ONE = 1 << _BITS
_STEPS = 32  # multiples of pi/32
# What is left of tan(k pi/32) after its 53 bits. The Java machine has these only to some 25 bits, so they are
# given here and not computed.
_REST_OF_TANGENT = tuple(
    map(
        float.fromhex,
        (
            "0x0p+0",
            "0x1.87d054e88f7a5p-58",
            "0x1.ef5d3593fe814p-61",
            "-0x1.d704d1dce993dp-57",
            "0x1.08b2fb68c1467p-56",
            "-0x1.e564bcdb625eap-55",
            "0x1.7a8c5209c7df1p-55",
            "-0x1.a6db8118e20e6p-56",
            "0x0p+0",
        ),
    )
)
SERIES_LENGTH = 16

Fixed = int
"""A number times 2^1400."""


def _arctan_of_inverse(n: int) -> Fixed:
    total, term, k = 0, _ONE // n, 1
    while term:
        total += term // k if k % 4 == 1 else -(term // k)
        term //= n * n
        k += 2
    return total


_PI: Fixed = 4 * (4 * _arctan_of_inverse(5) - _arctan_of_inverse(239))


def _times(a: Fixed, b: Fixed) -> Fixed:
    return a * b >> _BITS


def _over(a: Fixed, b: Fixed) -> Fixed:
    return (a << _BITS) // b


def _sine(angle: Fixed) -> Fixed:
    total, term, k = 0, angle, 1
    square = _times(angle, angle)
    while term not in (0, -1):
        total += term
        term = -_times(term, square) // ((k + 1) * (k + 2))
        k += 2
    return total


def _nearest(value: Fixed) -> float:
    if abs(value) < 1 << 64:  # what should be zero and is not for want of more bits
        return 0.0
    return float(Fraction(value, _ONE))


def _fixed(value: float) -> Fixed:
    return int(Fraction(value) * _ONE)


def two_over_pi() -> NDArray[np.uint64]:
    """2/pi in digits of 32 bits, after two zeros: as many as the largest double needs."""
    quotient = _over(2 * _ONE, _PI)
    digits = [quotient >> (_BITS - 32 * place) & 0xFFFFFFFF for place in range(1, 38)]
    return np.array([0, 0, *digits], np.uint64)


def sine_table() -> NDArray[np.float64]:
    """For each multiple B of pi/32: cos B - s, sin B, the rest of sin B in 24 bits, and s, the power of two
    next to cos B, with its sign."""
    rows = []
    for step in range(2 * _STEPS):
        sine, cosine = (_sine(_PI * (step + shift) // _STEPS) for shift in (0, _STEPS // 2))
        near = _near_power(_nearest(cosine))
        upper = _nearest(sine)
        lower = float(np.float32(_nearest(sine - _fixed(upper))))
        rows.append([_nearest(cosine - _fixed(near)), upper, lower, near])
    return np.array(rows)


def _near_power(value: float) -> float:
    if value == 0:
        return 0.0
    mantissa, exponent = np.frexp(abs(value))
    return float(np.copysign(np.ldexp(1.0 if mantissa >= 0.75 else 0.5, exponent), value))


def tangent_table() -> NDArray[np.float64]:
    """For each multiple B of pi/32 below pi, the series of tan(B + r): the coefficients from r^0 on (of which
    the first two are zero here), the constant in two parts, s and the coefficient of r less s, and last 1.0
    where B is nearer to pi/2 than pi/4 is. There the series is that of tan(B + r) + 1 / (B + r - pi/2)."""
    return np.array([_tangent_row(step) for step in range(_STEPS)])


def _tangent_row(step: int) -> list[float]:
    by_pole = abs(step - _STEPS // 2) < _STEPS // 4
    if by_pole:
        series = _series_by_pole(step - _STEPS // 2)
        constant = _in_40_bits(_nearest(series[0]))
        rest = _nearest(series[0] - _fixed(constant))
        near = 0.0
    else:
        series = _series(_over(_sine(_PI * step // _STEPS), _sine(_PI * (step + _STEPS // 2) // _STEPS)))
        constant = _nearest(series[0])
        rest = _REST_OF_TANGENT[min(step, _STEPS - step)] * (1 if step < _STEPS // 2 else -1)
        near = _near_power(_nearest(series[1]))
    linear = [near, _nearest(series[1] - _fixed(near))]
    return [0.0, 0.0, *map(_nearest, series[2:]), constant, rest, *linear, float(by_pole)]


def _in_40_bits(value: float) -> float:
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.rint(mantissa * 2**40), exponent - 40))


def _series(value: Fixed) -> list[Fixed]:
    """The series of tan at the point where it has this value, from tan' = 1 + tan^2."""
    series = [value]
    for k in range(SERIES_LENGTH - 1):
        square = sum(_times(series[i], series[k - i]) for i in range(k + 1))
        series.append((square + (_ONE if k == 0 else 0)) // (k + 1))
    return series


def _series_by_pole(step: int) -> list[Fixed]:
    """The series of 1 / (b + r) - cot(b + r) at b = step * pi/32."""
    if step == 0:
        return _series_at_pole()
    b = _PI * step // _STEPS
    cosine, sine = _sine(b + _PI // 2), _sine(b)
    # cot has the series of tan at pi/2 - b, with every other sign changed.
    mirrored = _series(_over(cosine, sine))
    power, result = _over(_ONE, b), []
    for k, coefficient in enumerate(mirrored):
        inverse = power if k % 2 == 0 else -power
        result.append(inverse - (coefficient if k % 2 == 0 else -coefficient))
        power = _over(power, b)
    return result


def _series_at_pole() -> list[Fixed]:
    """The series of g(r) = 1/r - cot(r), from g' = 1 - 2 g / r + g^2."""
    series: list[Fixed] = [0]
    for k in range(1, SERIES_LENGTH):
        square = sum(_times(series[i], series[k - 1 - i]) for i in range(k))
        series.append((square + (_ONE if k == 1 else 0)) // (k + 2))
    return series
