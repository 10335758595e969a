"""The reference itself: small enough to check by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.zset.reference import ReferenceZSet, canonical

NAN = float("nan")


def test_values_are_equal_as_spark_groups_them() -> None:
    assert canonical(NAN) == canonical(-NAN)
    assert str(canonical(-0.0)) == "0.0"
    assert canonical({"a": [NAN, None]}) == canonical({"a": [NAN, None]})
    assert canonical([None]) != canonical(None)
    assert canonical(Decimal("1.50")) == canonical(Decimal("1.5"))
    with pytest.raises(TypeError, match="set"):
        canonical({1, 2})


def test_weights_add_up_and_zero_rows_are_not_there() -> None:
    zset = ReferenceZSet.of_rows([((1, NAN), 2), ((1, NAN), -1), ((2, None), 1), ((2, None), -1)])
    assert len(zset) == 1
    assert zset[(1, NAN)] == 1
    assert zset.subtract(zset) == ReferenceZSet({})


def test_map_filter_and_groups() -> None:
    zset = ReferenceZSet.of_rows([(("a", 1), 1), (("a", 2), -1), (("b", 3), 5)])
    assert zset.select([0]) == ReferenceZSet.of_rows([(("b",), 5)])
    assert zset.map(lambda row: (row[1],)).filter(lambda row: row != (3,))[(2,)] == -1
    assert {key: len(group) for key, group in zset.groups([0]).items()} == {("a",): 2, ("b",): 1}


def test_join_multiplies_weights_and_distinct_keeps_the_positive() -> None:
    left = ReferenceZSet.of_rows([((1,), 2), ((2,), -3)])
    right = ReferenceZSet.of_rows([((1, "x"), 5), ((2, "y"), 1), ((3, "z"), 1)])
    joined = left.join(right, lambda a, b: a[0] == b[0])
    assert joined.weights == {(1, 1, "x"): 10, (2, 2, "y"): -3}
    assert joined.distinct().weights == {(1, 1, "x"): 1}
