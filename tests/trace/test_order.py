"""The 32-bit image of a value keeps the order of values, in both directions, for every type that has one."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace.order import dense_rank, order_image
from penstock.zset.reference import canonical
from tests.trace.reference import spark_order
from tests.trace.samples import KINDS


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=15)
def test_smaller_values_never_have_a_later_image(kind: str, descending: bool, data: st.DataObject) -> None:
    arrow_type, strategy = KINDS[kind]
    values = data.draw(st.lists(strategy, max_size=25))
    array = pa.array([*values[:1], *values], arrow_type)[len(values[:1]) :]  # a slice, as in stored batches
    image = order_image(array, descending=descending).tolist()
    assert all(0 <= word < 2**32 for word in image)
    ranked = sorted(range(len(values)), key=lambda i: spark_order(canonical(values[i])), reverse=descending)
    assert [image[i] for i in ranked] == sorted(image)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(deadline=None, max_examples=15)
def test_equal_values_share_image_and_rank_and_others_differ_in_rank(kind: str, data: st.DataObject) -> None:
    arrow_type, strategy = KINDS[kind]
    values = data.draw(st.lists(strategy, min_size=1, max_size=12))
    array = pa.array([*values, *values], arrow_type)
    known = [canonical(value) for value in [*values, *values]]
    for descending in (False, True):
        image = order_image(array, descending=descending)
        rank = dense_rank(array, descending=descending)
        for i, one in enumerate(known):
            for j, other in enumerate(known):
                assert (rank[i] == rank[j]) == (one == other)
                assert one != other or image[i] == image[j]


def test_strings_that_differ_only_beyond_the_image_are_told_apart_by_rank() -> None:
    array = pa.array(["abcdz", "abcda", "abcd", "abcda"])
    assert len(set(order_image(array, descending=False).tolist())) == 1
    assert dense_rank(array, descending=False).tolist() == [3, 2, 1, 2]
    assert dense_rank(array, descending=True).tolist() == [1, 2, 3, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_no_values_have_no_images(kind: str) -> None:
    arrow_type, _ = KINDS[kind]
    for empty in (
        pa.array([], arrow_type),
        pa.nulls(3, arrow_type).drop_null(),
        pa.nulls(3, arrow_type)[1:1],
    ):
        assert len(order_image(empty, descending=True)) == len(dense_rank(empty, descending=False)) == 0


NESTED = [
    (pa.list_(pa.int32()), [None, [], [None], [None, 5], [1], [1, None], [1, 2], [2]]),
    (
        pa.struct([("x", pa.float64()), ("y", pa.string())]),
        [
            None,
            {"x": None, "y": "z"},
            {"x": -1.5, "y": "a"},
            {"x": 1.0, "y": None},
            {"x": 1.0, "y": "a"},
            {"x": math.inf, "y": ""},
            {"x": math.nan, "y": None},
        ],
    ),
    (
        pa.list_(pa.struct([("s", pa.string())])),
        [[], [None], [{"s": None}], [{"s": "a"}], [{"s": "a"}, {"s": "a"}], [{"s": "b"}]],
    ),
    (pa.float64(), [None, -math.inf, -1.0, 0.0, 1.0, math.inf, math.nan]),
]


@pytest.mark.parametrize(("kind", "ascending"), NESTED, ids=[str(kind) for kind, _ in NESTED])
@given(data=st.data())
@settings(deadline=None, max_examples=15)
def test_null_is_lowest_and_nested_values_go_by_their_first_difference(
    kind: pa.DataType, ascending: list[Any], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(st.integers(0, len(ascending) - 1), max_size=12))
    array = pa.array([ascending[0], *(ascending[i] for i in drawn)], kind)[1:]
    dense = {value: position + 1 for position, value in enumerate(sorted(set(drawn)))}
    for descending in (False, True):
        ranks = dense_rank(array, descending=descending).tolist()
        images = order_image(array, descending=descending).tolist()
        ranked = sorted(range(len(drawn)), key=lambda i: drawn[i], reverse=descending)
        assert [ranks[i] for i in ranked] == sorted(ranks)
        assert [images[i] for i in ranked] == sorted(images)
        assert len(set(ranks)) == len(dense)


def test_maps_have_some_order_that_tells_them_apart() -> None:
    array = pa.array([[("a", 1)], [("b", 1)], None, [("a", 1)]], pa.map_(pa.string(), pa.int32()))
    first, second, null, again = dense_rank(array, descending=False).tolist()
    assert first == again
    assert len({first, second, null}) == 3
    assert null == min(first, second, null)


def test_moments_are_told_apart_to_the_second() -> None:
    second = 1_000_000
    moments = [-(2**62), -1, 0, second - 1, second, 1_700_000_000 * second, 1_700_000_001 * second, 2**62]
    array = pa.array(moments, pa.timestamp("us"))
    assert order_image(array, descending=False).tolist() == [
        *(0, 0, 0, 0, 1),
        *(1_700_000_000, 1_700_000_001, 2**32 - 1),
    ]
