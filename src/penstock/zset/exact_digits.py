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
from penstock.zset.kernel import Number, kernel, part

__all__ = [
    "ABOVE",
    "BELOW",
    "BIN",
    "DIGIT_BITS",
    "DIGIT_MASK",
    "LIMB",
    "Int64s",
    "carry",
    "digits_of",
    "magnitude",
    "matrix_of",
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

ABOVE, BELOW = 2, 4  # places that a carry can reach, and empty ones below so that five can always be read


def digits_of(sums: Mapping[str, Int64s], kind: str) -> dict[int, Int64s]:
    """The digit columns of one kind by place."""
    return {int(key[len(kind) :]): column for key, column in sums.items() if key.startswith(kind)}


def needs_carry(weights: Int64s) -> bool:
    """Whether rows of these weights must be carried one by one, because their sum could overflow a digit."""
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
    """Each row's number times its weight. The given digits are below 2^32 in magnitude.

    ``carrying`` is the result of :func:`needs_carry` for all weights. ``top`` is the highest position
    allowed; without it new positions appear as needed.
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


def matrix_of(digits: Mapping[int, Int64s], rows: int) -> tuple[NDArray[np.int64], int]:
    """Digits as a matrix of one line per place, from the lowest place in use, which is returned beside it."""
    if not digits:
        return np.zeros((1, rows), np.int64), 0
    lowest, highest = min(digits), max(digits)
    matrix = np.zeros((highest - lowest + 1, rows), np.int64)
    for place, column in digits.items():
        matrix[place - lowest] = column
    return matrix, lowest


@part
def magnitude(matrix: Number, row: Number, number: Number) -> Number:
    """Writes the magnitude of a row's number into ``number``: ``BELOW`` empty places, then digits below 2^32.
    Returns whether the number is negative, and where its highest digit is (``BELOW`` for zero)."""
    places = len(matrix)
    top = places + ABOVE + BELOW
    mask = np.uint64(DIGIT_MASK)
    # In two's complement: digits in [0, 2^32), and the sign in what is left over.
    carried = np.int64(0)
    for place in range(top):
        digit = matrix[place - BELOW, row] if BELOW <= place < places + BELOW else np.int64(0)
        # Only the lower half meets the carry, so the addition stays inside int64.
        low = (digit & DIGIT_MASK) + carried
        number[place] = np.uint64(low & DIGIT_MASK)
        carried = (digit >> DIGIT_BITS) + (low >> DIGIT_BITS)
    if carried < 0:
        borrow = np.uint64(1)
        for place in range(top):
            flipped = (number[place] ^ mask) + borrow
            number[place] = flipped & mask
            borrow = flipped >> np.uint64(32)
    lead = top - 1
    while lead > BELOW and number[lead] == 0:
        lead -= 1
    return carried < 0, lead
