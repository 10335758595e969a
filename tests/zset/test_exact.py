"""Exact sums against Python's unbounded fractions and integers."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.errors import EvaluationError
from penstock.zset.exact import carry, join_doubles, join_integers, split_doubles, split_integers

INT64_MAX = 2**63 - 1
LARGEST, SMALLEST, SMALLEST_NORMAL = 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308

_nasty = st.sampled_from(
    [0.0, -0.0, SMALLEST, SMALLEST_NORMAL, LARGEST, 1e308, 0.1, 1.0, 1 + 2.0**-52, 2.0**53 + 2]
)
_powers = st.sampled_from([-1022, -54, -53, -33, -32, 31, 32, 52, 53, 969, 970]).map(lambda power: 2.0**power)
_finite = _nasty | _powers | st.floats(allow_nan=False, allow_infinity=False)
_signed = st.tuples(_finite, st.booleans()).map(lambda pair: -pair[0] if pair[1] else pair[0])
_weights = st.integers(-3, 3) | st.sampled_from([2**31 - 1, -(2**31) + 1, 2**16, 10**9])


def total_columns(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {key: np.array([column.sum()]) for key, column in columns.items()}


def total_of_doubles(values: list[float], weights: list[int]) -> float:
    sums = total_columns(split_doubles(np.array(values, np.float64), np.array(weights, np.int64)))
    plain, carried = join_doubles(sums, 1)[0], join_doubles(carry(sums), 1)[0]
    assert plain == carried or (math.isnan(plain) and math.isnan(carried))
    return float(plain)


def nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(st.lists(st.tuples(_signed, _weights), max_size=20))
@example([(LARGEST, 1), (2.0**969, 1)])  # just below half a unit beyond the largest double
@example([(LARGEST, 1), (2.0**970, 1)])  # exactly half: to even, which is infinity
@example([(1.0, 1), (2.0**-53, 1)])  # a tie
@example([(1.0, 1), (2.0**-53, 1), (SMALLEST, 1)])  # a tie but for the last possible bit
@example([(1.0, 1), (2.0**-53, 1), (SMALLEST, -1)])
@example([(1 + 2.0**-52, 1), (2.0**-53, 1)])  # a tie that rounds up
@example([(SMALLEST_NORMAL, 1), (SMALLEST, -1)])  # subnormal result
def test_doubles_sum_to_the_nearest_double_of_the_exact_total(rows: list[tuple[float, int]]) -> None:
    exact = sum((Fraction(value) * weight for value, weight in rows), Fraction(0))
    result = total_of_doubles([value for value, _ in rows], [weight for _, weight in rows])
    assert result == nearest(exact)
    assert math.copysign(1, result) == (-1 if exact < 0 else 1), "a zero total is positive"


@given(st.lists(_signed, max_size=30))
def test_doubles_of_weight_one_sum_like_fsum(values: list[float]) -> None:
    try:
        expected = math.fsum(values)
    except OverflowError:  # fsum gives up when a partial sum overflows
        expected = nearest(sum(map(Fraction, values), Fraction(0)))
    assert total_of_doubles(values, [1] * len(values)) == expected


@given(st.lists(_signed, min_size=1, max_size=30), st.randoms())
def test_order_and_grouping_do_not_show_in_the_columns(values: list[float], random: object) -> None:
    def carried(parts: list[list[float]]) -> dict[str, int]:
        sums: dict[str, np.ndarray] = {}
        for part in parts:
            split = split_doubles(np.array(part), np.ones(len(part), np.int64))
            for key, column in carry(total_columns(split)).items():
                sums[key] = sums.get(key, np.zeros(1, np.int64)) + column
        return {key: int(column[0]) for key, column in carry(sums).items() if column[0]}

    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    middle = len(values) // 2
    assert carried([values]) == carried([shuffled[:middle], shuffled[middle:]])


@given(st.lists(_signed, max_size=20))
def test_deleting_what_was_inserted_leaves_nothing(values: list[float]) -> None:
    both = np.array(values * 2, np.float64)
    weights = np.repeat(np.array([1, -1]), len(values))
    assert all(column.sum() == 0 for column in split_doubles(both, weights).values())


@given(st.lists(_signed, max_size=50))
def test_each_double_survives_on_its_own(values: list[float]) -> None:
    array = np.array(values, np.float64)
    columns = split_doubles(array, np.ones(len(array), np.int64))
    assert join_doubles(columns, len(array)).tolist() == (array + 0.0).tolist()


def test_only_columns_in_use_are_made() -> None:
    columns = split_doubles(np.array([1.0, -3.0, 0.0, 7.0]), np.array([1, 2, 5, 0]))
    assert {key: column.tolist() for key, column in columns.items()} == {"bin:0": [1, -6, 0, 0]}
    assert list(split_doubles(np.array([0.5, math.nan]), np.array([1, 0]))) == ["bin:-1"]
    assert split_doubles(np.empty(0), np.empty(0, np.int64)) == {}
    assert join_doubles({}, 2).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1.0], -math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([math.nan, math.inf], math.nan),
    ],
)
def test_nan_and_infinities_decide_while_they_are_there(values: list[float], expected: float) -> None:
    assert str(total_of_doubles(values, [1] * len(values))) == str(expected)
    kept = [*values, 2.5]
    weights = [1] * len(kept) + [-1] * len(values)
    assert total_of_doubles(kept + values, weights) == 2.5


def test_sums_beyond_one_block_agree_with_fsum() -> None:
    random = np.random.default_rng(5)
    values = random.normal(size=40_000) * 2.0 ** random.integers(-80, 80, 40_000)
    values[12_345] = 0.0
    ones = np.ones(len(values), np.int64)
    assert total_of_doubles(values.tolist(), ones.tolist()) == math.fsum(values)
    assert np.array_equal(join_doubles(split_doubles(values, ones), len(values)), values)


def test_digits_at_the_limits_of_int64_are_joined_and_carried() -> None:
    digits = {0: INT64_MAX, 1: INT64_MAX, 2: -(2**63), 5: INT64_MAX, 6: -1}
    sums = {
        f"bin:{place}": np.array([digit, -digit if digit > -(2**63) else digit])
        for place, digit in digits.items()
    }
    exact = [sum(int(sums[f"bin:{place}"][row]) << (32 * place) for place in digits) for row in (0, 1)]
    assert join_doubles(sums, 2).tolist() == [float(value) for value in exact]
    carried = carry(sums)
    again = [
        sum(int(column[row]) << (32 * int(key[4:])) for key, column in carried.items()) for row in (0, 1)
    ]
    assert again == exact
    assert all(((column >= -(2**31)) & (column < 2**31)).all() for column in carried.values())


def test_rows_of_great_weight_can_be_added_up_by_the_million() -> None:
    rows, weight = 100_000, 2**31 - 1
    values, weights = np.full(rows, 0.1), np.full(rows, weight)
    sums = total_columns(split_doubles(values, weights))
    assert join_doubles(sums, 1)[0] == float(Fraction(0.1) * rows * weight)
    limbs = total_columns(split_integers(pa.array(np.full(rows, -(10**12))), weights))
    array, overflow = join_integers(limbs, 1, pa.decimal128(38, 0))
    assert array.to_pylist() == [Decimal(-(10**12) * rows * weight)]
    assert not overflow.any()


def test_weights_beyond_the_limit_are_refused() -> None:
    for weight in (2**31, -(2**31), -(2**63)):
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            split_doubles(np.array([1.0]), np.array([weight]))
        with pytest.raises(EvaluationError, match="ARITHMETIC_OVERFLOW"):
            split_integers(pa.array([1]), np.array([weight]))


def _decimal(value: int, scale: int) -> Decimal:
    with localcontext(prec=60):
        return Decimal(value).scaleb(-scale)


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_decimal(kind):
        return -(10**kind.precision) + 1, 10**kind.precision - 1
    return -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1


_KINDS = {
    pa.int8(): 1,
    pa.int32(): 1,
    pa.int64(): 2,
    pa.duration("us"): 2,
    pa.decimal128(9, 2): 1,
    pa.decimal128(10, 2): 2,
    pa.decimal128(18, 0): 2,
    pa.decimal128(19, 4): 4,
    pa.decimal128(38, 10): 4,
}


def _array(values: list[int | None], kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([None if v is None else _decimal(v, kind.scale) for v in values], kind)
    return pa.array(values, pa.int64()).cast(kind)


@pytest.mark.parametrize("kind", _KINDS, ids=str)
@given(data=st.data())
def test_integers_sum_exactly_and_say_when_they_do_not_fit(kind: pa.DataType, data: st.DataObject) -> None:
    low, high = _bounds(kind)
    number = st.integers(low, high) | st.sampled_from([low, high, 0, -1]) | st.none()
    rows = data.draw(st.lists(st.tuples(number, st.integers(-3, 3)), max_size=10))
    skip = data.draw(st.integers(0, len(rows)))
    array = _array([value for value, _ in rows], kind).slice(skip)
    weights = np.array([weight for _, weight in rows[skip:]], np.int64)
    limbs = split_integers(array, weights)
    assert sorted(limbs) == [f"limb:{i}" for i in range(_KINDS[kind])]

    exact = sum((value or 0) * weight for value, weight in rows[skip:])
    for sums in (total_columns(limbs), carry(total_columns(limbs))):
        joined, overflow = join_integers(sums, 1, kind)
        assert overflow.tolist() == [not low <= exact <= high]
        assert joined.equals(_array([exact if low <= exact <= high else None], kind))


@given(st.lists(st.tuples(*[st.integers(-(2**63), INT64_MAX)] * 4), min_size=1, max_size=8))
@example([(0, 0, 0, -(2**31)), (0, 0, 0, 2**31 - 1), (-1, 0, 0, -(2**31)), (0, 0, 0, 2**31)])
@example([(-1, 0, 0, 0), (0, -1, 0, 0), (INT64_MAX,) * 4, (-(2**63),) * 4])
def test_any_limbs_join_to_their_exact_value(rows: list[tuple[int, int, int, int]]) -> None:
    sums = {f"limb:{i}": np.array([row[i] for row in rows], np.int64) for i in range(4)}
    exact = [sum(limb << (32 * i) for i, limb in enumerate(row)) for row in rows]
    for target in (pa.decimal128(38, 3), pa.decimal128(20, 0), pa.int64(), pa.int16()):
        low, high = _bounds(target)
        joined, overflow = join_integers(sums, len(rows), target)
        assert overflow.tolist() == [not low <= value <= high for value in exact]
        assert joined.equals(_array([v if low <= v <= high else None for v in exact], target))


@pytest.mark.parametrize("precision", [1, 9, 18, 19, 20, 37, 38])
def test_a_decimal_total_fits_up_to_its_last_digit(precision: int) -> None:
    bound = 10**precision
    values = [bound - 1, bound, -bound + 1, -bound]
    values += [sign * (upper << 64) for sign in (1, -1) for upper in ((bound >> 64), (bound >> 64) + 1)]
    digits = [[(value >> (32 * i)) & 0xFFFFFFFF for i in range(3)] + [value >> 96] for value in values]
    sums = {f"limb:{i}": np.array([row[i] for row in digits]) for i in range(4)}
    array, overflow = join_integers(sums, len(values), pa.decimal128(precision, 0))
    assert overflow.tolist() == [abs(value) >= bound for value in values]
    assert array.to_pylist() == [None if abs(value) >= bound else Decimal(value) for value in values]
    array.validate(full=True)


def test_carry_lets_counts_pass_and_keeps_the_number_of_limbs() -> None:
    sums = {"nan": np.array([2**40]), "limb:0": np.array([2**40]), "limb:1": np.array([2**50])}
    carried = {key: column.tolist() for key, column in carry(sums).items()}
    assert carried == {"nan": [2**40], "limb:0": [0], "limb:1": [2**50 + 2**8]}
    assert carry({"limb:0": np.array([2**60])})["limb:0"].tolist() == [2**60]
    assert carry({}) == {}


def test_types_without_an_integer_sum_are_refused() -> None:
    with pytest.raises(TypeError, match="double"):
        split_integers(pa.array([1.0]), np.array([1]))
    with pytest.raises(TypeError, match="string"):
        join_integers({}, 1, pa.string())
    with pytest.raises(ValueError, match="four limbs"):
        join_integers({"limb:4": np.array([1])}, 1, pa.int64())
