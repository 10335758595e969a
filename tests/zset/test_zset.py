"""Columnar Z-sets against the dictionary of rows they stand for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.zset import WEIGHT_COLUMN, Hashes, HashSeed, ReferenceZSet, ZSet
from tests.zset.zset_samples import SAMPLES, zset_of, zsets

SEED = HashSeed(11, 22)
NUMBERS = pa.schema([("n", pa.int64())])


def numbers(values: list[int | None], weights: list[int]) -> ZSet:
    return zset_of(NUMBERS, [values], weights)


@given(zsets())
def test_consolidated_is_the_same_zset_with_each_row_once(zset: ZSet) -> None:
    merged = zset.consolidate(SEED)
    assert ReferenceZSet.of(merged) == ReferenceZSet.of(zset)
    assert len(merged) == len(ReferenceZSet.of(zset))
    assert (merged.weights != 0).all()


@given(zsets(), st.data())
def test_algebra_is_that_of_the_reference(zset: ZSet, data: st.DataObject) -> None:
    expected = ReferenceZSet.of(zset)
    cut = data.draw(st.integers(0, len(zset)))
    left, right = zset.slice(0, cut), zset.slice(cut, len(zset))
    assert ReferenceZSet.of(zset.negate()) == expected.negate()
    assert ReferenceZSet.of(left.add(right)) == expected
    assert ReferenceZSet.of(left).add(ReferenceZSet.of(right)) == expected
    assert len(zset.add(zset.negate()).consolidate(SEED)) == 0


@given(zsets(), st.data())
def test_take_and_filter_move_weights_with_their_rows(zset: ZSet, data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(zset), max_size=len(zset))), np.bool_)
    kept, rest = zset.filter(mask), zset.filter(~mask)
    assert len(kept) == int(mask.sum())
    assert ReferenceZSet.of(kept.add(rest)) == ReferenceZSet.of(zset)
    order = np.array(data.draw(st.permutations(range(len(zset)))), np.int64)
    assert ReferenceZSet.of(zset.take(order)) == ReferenceZSet.of(zset)
    assert zset.take(order).weights.tolist() == zset.weights[order].tolist()


@given(zsets(), st.data())
def test_rows_that_are_taken_again_are_those_of_the_first_choice(zset: ZSet, data: st.DataObject) -> None:
    places = st.integers(0, max(0, len(zset) - 1))
    first = np.array(data.draw(st.lists(places, max_size=5 if len(zset) else 0)), np.int64)
    again = data.draw(st.lists(st.integers(0, max(0, len(first) - 1)), max_size=5 if len(first) else 0))
    second = np.array(again, np.int64)
    chosen = zset.take(first)
    twice = chosen.take(second)
    rows = [column.take(pa.array(first[second])) for column in zset.columns]
    assert [str(column.to_pylist()) for column in twice.columns] == [
        str(column.to_pylist()) for column in rows
    ]
    assert twice.weights.tolist() == zset.weights[first][second].tolist()
    assert len(chosen.columns) == len(zset.columns)  # copied by now, and taken from as any other
    assert ReferenceZSet.of(chosen.take(second)) == ReferenceZSet.of(twice)


@given(zsets())
def test_batches_carry_a_zset_unchanged(zset: ZSet) -> None:
    [batch] = zset.to_batches()
    assert batch.schema.names == [*zset.schema.names, WEIGHT_COLUMN]
    assert batch.column(-1).to_pylist() == zset.weights.tolist()
    # By text, because Arrow calls NaN different from itself.
    assert [str(column) for column in batch.columns[:-1]] == [str(column) for column in zset.columns]


def test_batches_share_the_memory_of_the_zset() -> None:
    zset = numbers([1, 2], [3, 4])
    [batch] = zset.to_batches()
    assert np.shares_memory(batch.column(1).to_numpy(), zset.weights)
    assert batch.column(0).buffers()[1].address == zset.columns[0].buffers()[1].address


def test_consolidated_rows_stand_where_they_first_appeared_under_every_seed() -> None:
    zset = numbers([5, None, 5, 1, None, 9, 1], [1, 1, 1, 1, -1, 0, 2])
    for seed in (SEED, HashSeed(1, 1), HashSeed(2, 2)):
        merged = zset.consolidate(seed)
        assert merged.columns[0].to_pylist() == [5, 1]
        assert merged.weights.tolist() == [2, 3]


def test_first_appearance_survives_a_sort_that_is_not_stable() -> None:
    values = np.random.default_rng(7).integers(0, 50, 20_000)
    merged = numbers(values.tolist(), [1] * len(values)).consolidate(SEED)
    assert merged.columns[0].to_pylist() == list(dict.fromkeys(values.tolist()))
    assert merged.weights.tolist() == [int((values == v).sum()) for v in dict.fromkeys(values.tolist())]


def test_consolidating_distinct_rows_copies_nothing() -> None:
    zset = numbers([1, 2, 3], [1, -1, 2])
    assert zset.consolidate(SEED).columns[0] is zset.columns[0]


def test_the_first_bits_of_equal_floats_are_kept() -> None:
    zset = zset_of(pa.schema([("x", pa.float64())]), [[-0.0, 0.0, 1.0]], [1, 1, 1])
    kept = zset.consolidate(SEED).columns[0].to_numpy()
    assert np.signbit(kept).tolist() == [True, False]


def test_rows_that_agree_in_hi_only_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def colliding(columns: object, length: int, seed: HashSeed) -> Hashes:
        values = np.array([1, 2, 1, 3, 2, 1], np.uint64)
        return Hashes(np.where(values == 3, 8, 7).astype(np.uint64), values)

    monkeypatch.setattr("penstock.zset.zset.hash_columns", colliding)
    merged = numbers([1, 2, 1, 3, 2, 1], [1, 10, 1, 100, -10, 1]).consolidate(SEED)
    assert merged.columns[0].to_pylist() == [1, 3]
    assert merged.weights.tolist() == [3, 100]


def test_a_zset_without_columns_counts() -> None:
    zset = ZSet(pa.schema([]), (), np.array([1, 2, -1]))
    assert zset.consolidate(SEED).weights.tolist() == [2]
    [batch] = zset.to_batches()
    assert batch.to_pydict() == {WEIGHT_COLUMN: [1, 2, -1]}
    assert ReferenceZSet.of(zset)[()] == 2


@pytest.mark.parametrize("name", SAMPLES)
def test_every_type_can_be_empty_added_and_taken(name: str) -> None:
    array = SAMPLES[name]
    schema = pa.schema([("c", array.type)])
    zset = ZSet(schema, (array,), np.ones(len(array), np.int64))
    both = ZSet.concat(schema, [ZSet.empty(schema), zset, zset.slice(1, len(zset)), ZSet.empty(schema)])
    assert len(ZSet.empty(schema).consolidate(SEED)) == 0
    assert len(both) == 2 * len(zset) - 1
    assert ReferenceZSet.of(both.consolidate(SEED)) == ReferenceZSet.of(zset).add(
        ReferenceZSet.of(zset.slice(1, 99))
    )


def test_tables_of_many_chunks_become_one_array_per_column() -> None:
    table = pa.table({"n": pa.chunked_array([[1, 2], [3]]), "s": pa.chunked_array([["a"], ["b", None]])})
    zset = ZSet.of(table, np.array([1, 2, 3]))
    assert zset.columns[0].to_pylist() == [1, 2, 3]
    assert ZSet.of(table.slice(0, 0)).weights.tolist() == []
    assert ZSet.of(table.to_batches()[0], -1).weights.tolist() == [-1]


def test_concat_takes_the_names_of_its_schema() -> None:
    renamed = pa.schema([("m", pa.int64())])
    assert ZSet.concat(renamed, [numbers([1], [1])]).schema.names == ["m"]
    assert ZSet.concat(renamed, [numbers([1], [1]), numbers([2], [1])]).schema.names == ["m"]


def test_malformed_zsets_are_refused() -> None:
    column, weights = pa.array([1, 2]), np.array([1, 1])
    with pytest.raises(ValueError, match="0 columns"):
        ZSet(NUMBERS, (), weights)
    with pytest.raises(TypeError, match="int32"):
        ZSet(NUMBERS, (column.cast(pa.int32()),), weights)
    with pytest.raises(ValueError, match="2 rows for 1"):
        ZSet(NUMBERS, (column,), weights[:1])
    with pytest.raises(TypeError, match="ChunkedArray"):
        ZSet(NUMBERS, (pa.chunked_array([column]),), weights)
    with pytest.raises(TypeError, match="float64"):
        ZSet(NUMBERS, (column,), weights * 1.0)
