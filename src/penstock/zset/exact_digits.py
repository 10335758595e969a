"""Numbers as columns of signed base-2^32 digits that can be added in any order without losing a bit.

An exact sum is kept as several ``int64`` columns, each named ``kind:place`` and worth ``2^(32 * place)``:
``bin:`` for doubles (places may be negative, and new ones may appear), ``limb:`` for integers (places from 0,
as many as the type has). Columns of the same name add; a place has 31 spare bits for that.

Invariant of :func:`weigh`: the contributions it returns can be added over all rows of a batch, in any
grouping, without overflow. Invariant of :func:`carry`: the number stays the same and every digit is in
``[-2^31, 2^31)`` (the highest limb excepted), in which form a number has exactly one set of digits. So
batches whose digits were carried can be added up by the billion before they must be carried again.

Cost: one pass over all digits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.errors import EvaluationError
from penstock.zset.kernel import kernel

__all__ = [
    "BIN",
    "DIGIT_BITS",
    "DIGIT_MASK",
    "LIMB",
    "Int64s",
    "carry",
    "digits_of",
    "needs_carry",
    "ripple",
    "weigh",
]

BIN = "bin:"
LIMB = "limb:"

Int64s = NDArray[np.int64]

DIGIT_BITS = np.int64(32)
DIGIT_MASK = np.int64((1 << 32) - 1)

_WEIGHT_LIMIT = 1 << 31


def digits_of(sums: Mapping[str, Int64s], kind: str) -> dict[int, Int64s]:
    """The digit columns of one kind by place."""
    return {int(key[len(kind) :]): column for key, column in sums.items() if key.startswith(kind)}


def needs_carry(weights: Int64s) -> bool:
    """Whether rows of these weights must be carried one by one, lest a sum over them overflows a digit."""
    # In doubles, because the sum of absolute weights may itself leave int64.
    magnitudes = np.abs(weights.astype(np.float64))
    if magnitudes.max(initial=0.0) >= _WEIGHT_LIMIT:
        raise EvaluationError(
            "ARITHMETIC_OVERFLOW", "a row that occurs 2^31 times or more in one change cannot be summed"
        )
    return bool(magnitudes.sum() >= _WEIGHT_LIMIT)


def weigh(
    digits: Mapping[int, Int64s], weights: Int64s, *, carrying: bool, top: int | None = None
) -> dict[int, Int64s]:
    """Each row's number times its weight. Digits given are below 2^32 in magnitude.

    ``carrying`` is what :func:`needs_carry` said of all weights. ``top`` is the highest place there may be;
    without it new places appear as needed.
    """
    products = {place: digit * weights for place, digit in digits.items()}
    return ripple(products, top) if carrying else products


def carry(sums: Mapping[str, Int64s]) -> dict[str, Int64s]:
    """The same numbers with small digits; columns that are not digits (counts of NaN) pass through."""
    carried = {key: column for key, column in sums.items() if not key.startswith((BIN, LIMB))}
    bins, limbs = digits_of(sums, BIN), digits_of(sums, LIMB)
    carried |= {f"{BIN}{place}": digit for place, digit in ripple(bins, None).items()}
    carried |= {f"{LIMB}{place}": digit for place, digit in ripple(limbs, max(limbs, default=0)).items()}
    return carried


def ripple(digits: Mapping[int, Int64s], top: int | None) -> dict[int, Int64s]:
    """Carry from the lowest place upwards, leaving digits in ``[-2^31, 2^31)``.

    The place ``top`` keeps whatever arrives there. Places that were given stay; others appear where needed.
    """
    if not digits:
        return {}
    lowest, highest = min(digits), max(digits)
    # Beyond the highest place given, two more take any carry.
    last = highest + 2 if top is None else top
    matrix = np.zeros((last - lowest + 1, len(digits[lowest])), np.int64)
    for place, digit in digits.items():
        matrix[place - lowest] = digit
    _ripple(matrix, top is not None)
    return {lowest + row: digit for row, digit in enumerate(matrix) if lowest + row in digits or digit.any()}


@kernel(types.void(types.Array(types.int64, 2, "C"), types.boolean))
def _ripple(matrix: Int64s, open_top: bool) -> None:
    """Carries in place, from the first row to the last, which keeps what arrives there if ``open_top``."""
    places, length = matrix.shape
    for i in range(length):
        incoming = np.int64(0)
        for place in range(places):
            if open_top and place == places - 1:
                matrix[place, i] += incoming
                break
            # Splitting before adding keeps the addition of the carry inside int64.
            digit = matrix[place, i]
            high = (digit >> DIGIT_BITS) + ((digit >> np.int64(31)) & np.int64(1))
            low = digit - (high << DIGIT_BITS) + incoming
            more = (low >> DIGIT_BITS) + ((low >> np.int64(31)) & np.int64(1))
            matrix[place, i] = low - (more << DIGIT_BITS)
            incoming = high + more
