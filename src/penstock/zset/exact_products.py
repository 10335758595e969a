"""Sums of products of doubles that are exact, and exact arithmetic on the totals.

The product of two doubles has up to 106 significant bits, so rounding it to a double would already lose what
a variance is made of: ``n * sum(x * x) - sum(x) * sum(x)`` is a small difference of large numbers. Here a
row's product is formed in base-2^32 digits at absolute places, as :mod:`.exact_doubles` has them, and the
totals are multiplied and subtracted in the same form; only the final number is rounded. So a variance of
equal values is exactly zero, and no answer depends on the order of rows or on what was added and taken away.

A row with a factor that is NaN or infinite contributes nothing: the sum of the factor itself counts those.

Cost: splitting a product of k doubles takes about ``9 * k^2 / 2`` passes over the rows, in blocks that stay
in the cache; multiplying totals of a and b digits takes about ``6 * a * b`` passes over the groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.zset.exact_digits import (
    BIN,
    DIGIT_BITS,
    DIGIT_MASK,
    Int64s,
    digits_of,
    matrix_of,
    needs_carry,
    ripple,
    weigh,
)
from penstock.zset.exact_doubles import BLOCK_ROWS, Doubles, aligned, join_doubles, spread

__all__ = ["ExactNumbers", "split_products"]

_MASK = np.uint64(DIGIT_MASK)
_BITS = np.uint64(32)
_Limbs = list[NDArray[np.uint64]]


def split_products(factors: Sequence[Doubles], weights: Int64s) -> dict[str, Int64s]:
    """Columns of each row's product of all factors times its weight; only columns some row needs."""
    carrying = needs_carry(weights)
    bases = list({id(factor): factor for factor in factors}.values())
    which = [next(i for i, base in enumerate(bases) if base is factor) for factor in factors]
    columns: dict[str, Int64s] = {}
    for start in range(0, len(weights), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        for place, part in _block([b[rows] for b in bases], which, weights[rows], carrying).items():
            if part.any():
                key = f"{BIN}{place}"
                if key not in columns:
                    columns[key] = np.zeros(len(weights), np.int64)
                columns[key][rows] = part
    return columns


def _block(
    bases: Sequence[Doubles], which: Sequence[int], weights: Int64s, carrying: bool
) -> dict[int, Int64s]:
    finite = np.logical_and.reduce([np.isfinite(base) for base in bases])
    negative = np.logical_xor.reduce([np.signbit(bases[i]) for i in which])
    splits = [aligned(base, finite) for base in bases]
    limbs = [[part.view(np.uint64) for part in parts] for _, parts in splits]
    product = limbs[which[0]]
    for i in which[1:]:
        product = _times(product, limbs[i])
    place = np.add.reduce([splits[i][0] for i in which])
    digits = spread(place, [limb.view(np.int64) for limb in product])
    return weigh(digits, np.where(negative, -weights, weights), carrying=carrying)


def _times(left: _Limbs, right: _Limbs) -> _Limbs:
    """The product of two numbers given as digits below 2^32, in the same form."""
    result = [np.zeros(len(left[0]), np.uint64) for _ in range(len(left) + len(right))]
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            product = one * other
            result[i + j] += product & _MASK
            result[i + j + 1] += product >> _BITS
    for lower, upper in pairwise(result):
        upper += lower >> _BITS
        lower &= _MASK
    return result


class ExactNumbers:
    """One exact number for each group: totals as :func:`split_products` and ``split_doubles`` make them."""

    def __init__(self, digits: Mapping[int, Int64s], length: int) -> None:
        self._digits, self._length = ripple(digits, None), length

    @staticmethod
    def of(sums: Mapping[str, Int64s], length: int) -> ExactNumbers:
        """The finite part of the totals ``sums``."""
        return ExactNumbers(digits_of(sums, BIN), length)

    @staticmethod
    def of_counts(counts: Int64s) -> ExactNumbers:
        """Whole numbers."""
        return ExactNumbers({0: counts & DIGIT_MASK, 1: counts >> DIGIT_BITS}, len(counts))

    def __mul__(self, other: ExactNumbers | int) -> ExactNumbers:
        if isinstance(other, int):
            return ExactNumbers({place: digit * other for place, digit in self._digits.items()}, self._length)
        product: dict[int, Int64s] = {}
        for place, digit in self._digits.items():
            for other_place, other_digit in other._digits.items():
                # Digits are within 2^31, so a product fits int64 and its halves can be added by the million.
                part = digit * other_digit
                _add_at(product, place + other_place, part & DIGIT_MASK)
                _add_at(product, place + other_place + 1, part >> DIGIT_BITS)
        return ExactNumbers(product, self._length)

    def __add__(self, other: ExactNumbers) -> ExactNumbers:
        total = {place: digit.copy() for place, digit in self._digits.items()}
        for place, digit in other._digits.items():
            _add_at(total, place, digit)
        return ExactNumbers(total, self._length)

    def __sub__(self, other: ExactNumbers) -> ExactNumbers:
        return self + other * -1

    def matrix(self) -> tuple[NDArray[np.int64], int]:
        """The digits, one line per place, and the lowest place."""
        return matrix_of(self._digits, self._length)

    def exactly(self, row: int) -> tuple[int, int]:
        """One of the numbers: an integer, and the power of 2^32 to multiply it by."""
        lowest = min(self._digits, default=0)
        whole = sum(int(digit[row]) << 32 * (place - lowest) for place, digit in self._digits.items())
        return whole, lowest

    def to_doubles(self) -> Doubles:
        """Each number as the nearest double; infinite beyond the largest."""
        return join_doubles({f"{BIN}{place}": digit for place, digit in self._digits.items()}, self._length)


def _add_at(digits: dict[int, Int64s], place: int, part: Int64s) -> None:
    if place in digits:
        digits[place] += part
    elif part.any():
        digits[place] = part.copy()
