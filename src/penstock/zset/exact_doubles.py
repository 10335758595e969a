"""Exact sums of doubles, so that order, grouping and later deletions make no difference.

Every finite double is an integer of 53 bits times a power of two, so it falls on at most three neighbouring
base-2^32 digits of one fixed-point number that reaches from 2^-1088 to beyond 2^1024. Digits add as integers
(:mod:`.exact_digits`); only reading the total rounds, once, to the nearest double (ties to even). NaN and the
two infinities are counted separately: they determine the sum while they are in it, and stop doing so when
they are deleted.

Cost: a dozen passes over the rows plus three for each magnitude range of 2^32 that occurs; values of similar
size use two or three columns. Reading costs a few passes for each column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.zset.exact_digits import (
    ABOVE,
    BELOW,
    BIN,
    DIGIT_BITS,
    DIGIT_MASK,
    Int64s,
    digits_of,
    magnitude,
    matrix_of,
    needs_carry,
    weigh,
)
from penstock.zset.kernel import BOOLS, INT64S, NEW_INT64S, NEW_WORDS, Number, kernel

__all__ = ["BLOCK_ROWS", "aligned", "join_doubles", "split_doubles", "spread"]

Doubles = NDArray[np.float64]

_NAN, _PLUS, _MINUS = "nan", "+inf", "-inf"

_FRACTION_BITS = np.int64(52)
_FRACTION_MASK = np.int64((1 << 52) - 1)
_EXPONENT_MASK = np.int64(0x7FF)
_LOWEST_PLACE = np.int64(
    -34
)  # 2^(32 * -34) = 2^-1088 is the first digit boundary below the smallest double, 2^-1074
_LOWEST_BIT = np.int64(-1074 + 32 * 34)
_DROPPED_BITS = np.uint64(64 - 1 - 52)
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
    place, lower, middle, upper = np.empty((4, len(values)), np.int64)
    _align(np.ascontiguousarray(values).view(np.int64), finite, place, lower, middle, upper)
    return place, (lower, middle, upper)


@kernel(types.void(INT64S, BOOLS, NEW_INT64S, NEW_INT64S, NEW_INT64S, NEW_INT64S))
def _align(
    values: Int64s,
    finite: NDArray[np.bool_],
    place: Int64s,
    lower: Int64s,
    middle: Int64s,
    upper: Int64s,
) -> None:
    """``values`` are the bits of doubles."""
    for i in range(len(values)):
        exponent = (values[i] >> _FRACTION_BITS) & _EXPONENT_MASK
        significand = values[i] & _FRACTION_MASK
        if exponent != 0:
            significand |= np.int64(1) << _FRACTION_BITS
        else:
            exponent = np.int64(1)  # subnormal numbers have the same unit as those of exponent 1
        if not finite[i]:
            significand = np.int64(0)
        unit = exponent - np.int64(1) + _LOWEST_BIT
        shift = unit & np.int64(31)
        low = (significand & DIGIT_MASK) << shift
        high = ((significand >> DIGIT_BITS) << shift) + (low >> DIGIT_BITS)
        place[i] = (unit >> np.int64(5)) + _LOWEST_PLACE
        lower[i] = low & DIGIT_MASK
        middle[i] = high & DIGIT_MASK
        upper[i] = high >> DIGIT_BITS


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
            some = {place: column[rows] for place, column in digits.items()}
            total[rows] = _nearest(some, rows.stop - start)
    if sums.keys().isdisjoint((_NAN, _PLUS, _MINUS)):
        return total
    none = np.zeros(length, np.bool_)
    nan, plus, minus = (sums[key] != 0 if key in sums else none for key in (_NAN, _PLUS, _MINUS))
    total[plus] = np.inf
    total[minus] = -np.inf
    total[nan | (plus & minus)] = np.nan
    return total


def _nearest(digits: Mapping[int, Int64s], length: int) -> Doubles:
    """The nearest double of each row of digits."""
    matrix, lowest = matrix_of(digits, length)
    result = np.empty(length, np.float64)
    _round(matrix, lowest, np.empty(len(matrix) + ABOVE + BELOW, np.uint64), result)
    return result


@kernel(
    types.void(types.Array(types.int64, 2, "C"), types.int64, NEW_WORDS, types.Array(types.float64, 1, "C"))
)
def _round(matrix: NDArray[np.int64], lowest: Number, number: NDArray[np.uint64], result: Doubles) -> None:
    """Rounds each column of ``matrix``, digits from place ``lowest`` upwards; ``number`` is working space."""
    mask = np.uint64(DIGIT_MASK)
    for row in range(matrix.shape[1]):
        negative, lead = magnitude(matrix, row, number)
        first, second, third = number[lead], number[lead - 1], number[lead - 2]
        if first == 0:
            result[row] = 0.0
            continue
        gap = np.uint64(0)
        while first >> (np.uint64(31) - gap) == 0:
            gap += np.uint64(1)
        window = ((first << np.uint64(32)) | second) << gap
        window |= third >> (np.uint64(32) - gap)
        sticky = (third << gap) & mask != 0
        for place in range(lead - 2):
            sticky = sticky or number[place] != 0
        # The highest 53 bits, to nearest, ties to even. Subnormal totals have fewer bits but need no
        # rounding: every total is a multiple of the smallest double.
        kept = window >> _DROPPED_BITS
        rest = window & ((np.uint64(1) << _DROPPED_BITS) - np.uint64(1))
        half = np.uint64(1) << (_DROPPED_BITS - np.uint64(1))
        if rest > half or (rest == half and (sticky or kept & np.uint64(1) != 0)):
            kept += np.uint64(1)
        exponent = (lead - BELOW + lowest) * 32 + 31 - np.int64(gap) - 52
        # A total beyond the largest double is infinite.
        value = math.ldexp(np.float64(kept), exponent)
        result[row] = -value if negative else value
