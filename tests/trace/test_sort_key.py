"""Sort keys compare as the values do, alone and one behind the other."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace.order import dense_rank
from penstock.trace.sort_key import Direction, after, image_of, sort_key
from tests.trace.samples import KINDS


def ranks(values: pa.Array, direction: Direction) -> list[int]:
    """The dense rank of each value, with NULL where the direction wants it."""
    rank = dense_rank(values, descending=direction.descending).tolist()
    place = -1 if direction.nulls_first else max(rank, default=0) + 1
    return [r if valid else place for r, valid in zip(rank, values.is_valid().to_pylist(), strict=True)]


def with_nulls(kind: str) -> st.SearchStrategy[Any]:
    return st.lists(st.one_of(st.none(), KINDS[kind][1]), max_size=8)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), descending=st.booleans(), nulls_first=st.booleans())
@settings(deadline=None, max_examples=25)
def test_keys_and_their_images_are_in_the_order_of_the_values(
    kind: str, data: st.DataObject, descending: bool, nulls_first: bool
) -> None:
    values = pa.array([None, *data.draw(with_nulls(kind))], KINDS[kind][0]).slice(1)
    direction = Direction(descending, nulls_first)
    keys = sort_key([(values, direction)], len(values)).to_pylist()
    rank, image = ranks(values, direction), image_of(values, direction)
    for i in range(len(keys)):
        for j in range(len(keys)):
            assert (keys[i] < keys[j], keys[i] == keys[j]) == (rank[i] < rank[j], rank[i] == rank[j])
            assert keys[i] >= keys[j] or image[i] <= image[j]


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from([None, "", "a", "a\0", "ab", "\0", "b"]),
            st.one_of(st.none(), st.integers(-2, 2)),
            st.one_of(st.none(), st.lists(st.sampled_from([None, "", "x"]), max_size=2)),
        ),
        max_size=10,
    ),
    directions=st.tuples(*[st.builds(Direction, st.booleans(), st.booleans())] * 3),
)
@settings(deadline=None, max_examples=100)
def test_several_columns_are_compared_one_after_the_other(
    rows: list[tuple[Any, ...]], directions: tuple[Direction, ...]
) -> None:
    kinds = (pa.string(), pa.int64(), pa.list_(pa.string()))
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    keys = sort_key(list(zip(columns, directions, strict=True)), len(rows)).to_pylist()
    rank = list(zip(*map(ranks, columns, directions), strict=True))
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert (keys[i] < keys[j], keys[i] == keys[j]) == (rank[i] < rank[j], rank[i] == rank[j])


def test_what_comes_after_a_key_is_above_all_that_begin_with_it() -> None:
    first = pa.array(["a", "b"], pa.string())
    second = pa.array([2**62, None], pa.int64())
    short = sort_key([(first, Direction())], 2)
    long = sort_key([(first, Direction()), (second, Direction(True, False))], 2).to_pylist()
    bounds = after(short).to_pylist()
    assert short[0].as_py() < long[0] < bounds[0] < short[1].as_py() < long[1] < bounds[1]


def test_no_columns_make_every_row_equal() -> None:
    assert sort_key([], 3).to_pylist() == [b"", b"", b""]
