"""Decimal arithmetic against Python's own, where quotients are hard to estimate: near powers of two."""

from __future__ import annotations

import decimal
import random

import pyarrow as pa
import pytest

from penstock.expr.functions import decimals

D = decimal.Decimal
EXACT = decimal.Context(prec=200)


def awkward(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Dividends and divisors whose quotients have digits of all ones in base 2^32."""
    found = []
    while len(found) < count:
        power = 2 ** rng.randrange(33, 63)
        divisor = rng.choice(
            [power - rng.randrange(1, 5), power + rng.randrange(1, 5), rng.randrange(1, power)]
        )
        quotient = rng.choice([2**32 - 1, 2**33 - 1, rng.randrange(1, 2**40)])
        found.append((divisor * quotient + rng.choice([-1, 0, 1]), divisor * rng.choice([1, -1])))
    return found


@pytest.mark.parametrize("digits", [(28, 20), (38, 20), (30, 25)])
def test_quotients_are_exact(digits: tuple[int, int]) -> None:
    pairs = awkward(random.Random(1), 1000)
    pairs = [(a, b) for a, b in pairs if abs(a) < 10 ** digits[0] and abs(b) < 10 ** digits[1]]
    left = pa.array([D(a) for a, _ in pairs], pa.decimal128(digits[0], 0))
    right = pa.array([D(b) for _, b in pairs], pa.decimal128(digits[1], 0))
    got, _ = decimals.divide(left, right, len(pairs), pa.decimal128(38, 6))
    wanted = [
        EXACT.divide(D(a), D(b)).quantize(D("0.000001"), decimal.ROUND_HALF_UP, EXACT) for a, b in pairs
    ]
    assert got.to_pylist() == wanted
    rest = decimals.remainder(left, right, len(pairs), pa.decimal128(38, 0))
    assert rest.to_pylist() == [EXACT.remainder(D(a), D(b)) for a, b in pairs]


@pytest.mark.parametrize("scale", [10, 19, 27, 38])
@pytest.mark.parametrize("mode", ["half_towards_infinity", "half_to_even", "up", "down"])
def test_digits_are_rounded_away_exactly(scale: int, mode: str) -> None:
    rng = random.Random(scale)
    numbers = [(2**k + rng.randrange(-3, 4)) * rng.choice([1, -1]) for k in range(30, 66) for _ in range(20)]
    exact = [
        D(n).scaleb(rng.choice([0, -1, -scale]), EXACT) + D(rng.choice([0, 5])).scaleb(-scale)
        for n in numbers
    ]
    array = pa.array(
        [e.quantize(D(1).scaleb(-scale), context=EXACT) for e in exact], pa.decimal256(76, scale)
    )
    rounding = {
        "half_towards_infinity": decimal.ROUND_HALF_UP,
        "half_to_even": decimal.ROUND_HALF_EVEN,
        "up": decimal.ROUND_CEILING,
        "down": decimal.ROUND_FLOOR,
    }[mode]
    for target in (0, 1, -3):
        got = decimals.rounded(array, target, mode).to_pylist()
        wanted = [value.quantize(D(1).scaleb(-target), rounding, EXACT) for value in array.to_pylist()]
        assert got == wanted
    cut = decimals.lowered(array, 0).to_pylist()
    assert cut == [value.quantize(D(1), decimal.ROUND_DOWN, EXACT) for value in array.to_pylist()]
