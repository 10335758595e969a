"""Numbers as columns of signed base-2^32 digits that can be added in any order without losing a bit.

An exact sum is kept as several ``int64`` columns, each named ``kind:place`` and worth ``2^(32 * place)``:
``bin:`` for doubles (places may be negative, and new ones may appear), ``limb:`` for integers (places from 0,
as many as the type has). Columns of the same name add; a place has 31 spare bits for that.

Invariant of :func:`weigh`: the contributions it returns can be added over all rows of a batch, in any
grouping, without overflow. Invariant of :func:`carry`: the number stays the same and every digit is in
``[-2^31, 2^31)`` (the highest limb excepted), in which form a number has exactly one set of digits. So
batches whose digits were carried can be added up by the billion before they must be carried again.

Cost: a few passes per digit column.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from penstock.errors import EvaluationError

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
    result: dict[int, Int64s] = {}
    if not digits:
        return result
    place, last = min(digits), max(digits)
    incoming: Int64s | None = None
    while place <= last or incoming is not None:
        digit = digits.get(place)
        if digit is None and incoming is None:
            place += 1
            continue
        if place == top:
            result[place] = _sum(digit, incoming)
            break
        # Splitting before adding keeps the addition of the carry inside int64.
        high, low = (np.int64(0), None) if digit is None else _split(digit)
        more, low = _split(_sum(low, incoming))
        if digit is not None or low.any():
            result[place] = low
        outgoing = more + high
        incoming = outgoing if outgoing.any() else None
        place += 1
    return result


def _sum(left: Int64s | None, right: Int64s | None) -> Int64s:
    if left is None or right is None:
        only = right if left is None else left
        assert only is not None
        return only
    return left + right


def _split(digit: Int64s) -> tuple[Int64s, Int64s]:
    """``(high, low)`` with ``digit == high * 2^32 + low`` and ``low`` in ``[-2^31, 2^31)``."""
    high = digit >> DIGIT_BITS
    high += (digit >> np.int64(31)) & np.int64(1)  # round to nearest, so small negatives carry nothing
    return high, digit - (high << DIGIT_BITS)
