"""Sums of doubles that are exact, so their order, grouping and later deletions cannot show.

Every finite double is an integer of 53 bits times a power of two, so it falls on at most three neighbouring
base-2^32 digits of one fixed-point number that reaches from 2^-1088 to beyond 2^1024. Digits add as integers
(:mod:`.exact_digits`); only reading the total rounds, once, to the nearest double (ties to even). NaN and the
two infinities are counted beside: while one is in the sum it decides, and once deleted it is gone.

Cost: a dozen passes over the rows plus three for each magnitude range of 2^32 that occurs; values of similar
size use two or three columns. Reading costs a few passes for each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.zset.exact_digits import (
    BIN,
    DIGIT_BITS,
    DIGIT_MASK,
    Int64s,
    digits_of,
    needs_carry,
    ripple,
    weigh,
)

__all__ = ["BLOCK_ROWS", "aligned", "join_doubles", "split_doubles", "spread"]

Doubles = NDArray[np.float64]

_NAN, _PLUS, _MINUS = "nan", "+inf", "-inf"

_FRACTION_BITS = 52
_FRACTION_MASK = np.int64((1 << _FRACTION_BITS) - 1)
_EXPONENT_MASK = np.int64(0x7FF)
_LOWEST_PLACE = -34  # 2^(32 * -34) = 2^-1088 is the first digit boundary below the smallest double, 2^-1074
_LOWEST_BIT = np.int64(-1074 - 32 * _LOWEST_PLACE)
_DROPPED_BITS = np.uint64(64 - 1 - _FRACTION_BITS)
BLOCK_ROWS = 1 << 13  # rows worked on at a time, so that what is computed in between stays in the cache


def split_doubles(values: Doubles, weights: Int64s) -> dict[str, Int64s]:
    """Columns of each row's contribution times its weight; only columns in which some row is not zero."""
    carrying = needs_carry(weights)
    columns: dict[str, Int64s] = {}
    for start in range(0, len(values), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        for key, part in _contributions(values[rows], weights[rows], carrying).items():
            if part.any():
                if key not in columns:
                    columns[key] = np.zeros(len(values), np.int64)
                columns[key][rows] = part
    return columns


def _contributions(values: Doubles, weights: Int64s, carrying: bool) -> dict[str, Int64s]:
    finite = np.isfinite(values)
    signed = np.where(np.signbit(values), -weights, weights)
    digits = weigh(_digits(values, finite), signed, carrying=carrying)
    columns = {f"{BIN}{place}": digit for place, digit in digits.items()}
    if not finite.all():
        special = {_NAN: np.isnan(values), _PLUS: values == np.inf, _MINUS: values == -np.inf}
        columns |= {key: np.where(which, weights, np.int64(0)) for key, which in special.items()}
    return columns


def _digits(values: Doubles, finite: NDArray[np.bool_]) -> dict[int, Int64s]:
    """The digits of the absolute values, each below 2^32."""
    return spread(*aligned(values, finite))


def aligned(values: Doubles, finite: NDArray[np.bool_]) -> tuple[Int64s, tuple[Int64s, ...]]:
    """The absolute values as three neighbouring digits below 2^32 each, and the place of the lowest.

    Where ``finite`` is false the value counts as 0."""
    bits = np.ascontiguousarray(values).view(np.int64)
    exponent = (bits >> np.int64(_FRACTION_BITS)) & _EXPONENT_MASK
    significand = bits & _FRACTION_MASK
    significand |= (exponent != 0).astype(np.int64) << np.int64(_FRACTION_BITS)
    significand[~finite] = 0
    # Subnormal numbers (exponent 0) have the same unit as those of exponent 1.
    unit = np.maximum(exponent, np.int64(1)) - np.int64(1) + _LOWEST_BIT
    place, shift = (unit >> np.int64(5)) + np.int64(_LOWEST_PLACE), unit & np.int64(31)
    lower = (significand & DIGIT_MASK) << shift
    upper = ((significand >> DIGIT_BITS) << shift) + (lower >> DIGIT_BITS)
    return place, (lower & DIGIT_MASK, upper & DIGIT_MASK, upper >> DIGIT_BITS)


def spread(place: Int64s, parts: Sequence[Int64s]) -> dict[int, Int64s]:
    """Neighbouring digits whose lowest stands at each row's own place, as one column per place in use."""
    digits: dict[int, Int64s] = {}
    nonzero = np.bitwise_or.reduce(parts) != 0
    if not nonzero.any():
        return digits
    lowest = place.min()
    used = np.flatnonzero(np.bincount(place[nonzero] - lowest)) + lowest
    for first in used.tolist():
        here = place == first if len(used) > 1 else None
        for step, part in enumerate(parts):
            digit = part if here is None else np.where(here, part, np.int64(0))
            if digit.any():
                key = first + step
                digits[key] = digits[key] + digit if key in digits else digit
    return digits


def join_doubles(sums: Mapping[str, Int64s], length: int) -> Doubles:
    """The exact total of each row's columns as the nearest double; 0.0 where the total is zero."""
    total = np.zeros(length, np.float64)
    digits = digits_of(sums, BIN)
    if digits:
        for start in range(0, length, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, length))
            total[rows] = _nearest({place: column[rows] for place, column in digits.items()})
    none = np.zeros(length, np.bool_)
    nan, plus, minus = (sums[key] != 0 if key in sums else none for key in (_NAN, _PLUS, _MINUS))
    total[plus] = np.inf
    total[minus] = -np.inf
    total[nan | (plus & minus)] = np.nan
    return total


def _nearest(digits: Mapping[int, Int64s]) -> Doubles:
    matrix, lowest, negative = _magnitude(digits)
    places, rows = matrix.shape
    used = matrix != 0
    lead = places - 1 - np.argmax(used[::-1], axis=0)  # of a zero total: the top, whose digit is 0
    below = np.zeros((places, rows), np.bool_)
    np.logical_or.accumulate(used[:-1], axis=0, out=below[1:])
    row = np.arange(rows)
    # _magnitude leaves two empty places at the bottom, so these never leave the matrix.
    first, second, third = (matrix[lead - back, row] for back in range(3))
    sticky = below[lead - 2, row]

    gap = np.uint64(32) - np.frexp(first.astype(np.float64))[1].astype(np.uint64)
    window = ((first << np.uint64(32)) | second) << gap
    window |= third >> (np.uint64(32) - gap)
    sticky |= ((third << gap) & np.uint64(DIGIT_MASK)) != 0
    exponent = (lead + lowest) * 32 + 31 - gap.astype(np.int64)  # of the window's highest bit

    result = np.zeros(rows)
    with np.errstate(over="ignore"):  # a total beyond the largest double is infinite
        np.ldexp(_round(window, sticky), exponent - 52, out=result, where=first != 0)
    np.negative(result, out=result, where=negative)
    return result


def _magnitude(digits: Mapping[int, Int64s]) -> tuple[NDArray[np.uint64], int, NDArray[np.bool_]]:
    """Absolute values as a matrix of digits in [0, 2^32), lowest place first; its lowest place; the signs."""
    balanced = ripple(digits, None)
    lowest, highest = min(balanced), max(balanced)
    rows = len(balanced[lowest])
    zero = np.zeros(rows, np.int64)
    sign = zero.copy()
    for place in sorted(balanced):  # the highest digit that is not zero has the sign of the whole
        np.copyto(sign, np.sign(balanced[place]), where=balanced[place] != 0)
    matrix = np.zeros((highest - lowest + 3, rows), np.uint64)
    borrow = zero
    for place in range(lowest, highest + 1):
        digit = balanced.get(place, zero) * sign + borrow
        matrix[place - lowest + 2] = (digit & DIGIT_MASK).view(np.uint64)
        borrow = digit >> DIGIT_BITS
    return matrix, lowest - 2, sign < 0


def _round(window: NDArray[np.uint64], sticky: NDArray[np.bool_]) -> Doubles:
    """The highest 53 bits of ``window``, rounded to nearest, ties to even; ``sticky``: more bits follow.

    Subnormal totals have fewer bits but need no rounding: every total is a multiple of the smallest double.
    """
    kept = window >> _DROPPED_BITS
    rest = window & ((np.uint64(1) << _DROPPED_BITS) - np.uint64(1))
    half = np.uint64(1) << (_DROPPED_BITS - np.uint64(1))
    odd = (kept & np.uint64(1)) != 0
    kept += (rest > half) | ((rest == half) & (sticky | odd))
    return kept.astype(np.float64)
