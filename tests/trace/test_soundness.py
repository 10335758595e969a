"""Rows that a checksum cannot tell from a batch: out of order, repeated, or cancelled out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.trace import Batch, build_batch, unsound


def words(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.uint64)


def rows(order, key, weights, row=None, sums=None, times=None):  # type: ignore[no-untyped-def]
    total = {name: np.array(values, np.int64) for name, values in (sums or {}).items()}
    lane = None if row is None else words(*row)
    time = None if times is None else words(*times)
    batch = Batch(words(*order), words(*key), lane, np.array(weights, np.int64), (), total, times=time)
    return batch.to_arrow()


def test_a_batch_is_sound() -> None:
    assert unsound(rows([1, 2, 2, 9], [1, 1, 2, 1], [1, -1, 3, 1])) == ""
    assert unsound(rows([2, 2], [1, 1], [1, 1], row=[7, 5])) == ""
    assert unsound(rows([1, 2], [1, 1], [0, 1], sums={"a": [5, 0]})) == ""
    assert unsound(rows([2, 2], [1, 1], [1, -1], times=[7, 5])) == ""
    assert unsound(rows([], [], [])) == ""


def test_a_sequence_with_times_is_stored_with_them() -> None:
    values = (pa.array([1, 2, 3]),)
    batch = Batch(words(4, 5, 6), words(9, 9, 9), None, np.ones(3, np.int64), values, times=words(1, 1, 2))
    assert batch.to_arrow().schema.names == ["order", "key_lo", "time", "weight", "v0"]
    again = Batch.from_arrow(batch.to_arrow())
    assert again.times is not None and again.times.tolist() == [1, 1, 2]


def test_a_sequence_is_sound_by_its_form() -> None:
    batch = Batch(words(4, 5, 6), words(9, 9, 9), None, np.ones(3, np.int64), (pa.array([1, 2, 3]),))
    assert "order" not in batch.to_arrow().schema.names
    assert unsound(batch.to_arrow()) == ""


@pytest.mark.parametrize(
    ("batch", "complaint"),
    [
        (rows([1, 3, 2], [1, 1, 1], [1, 1, 1]), "the order word of row 2 is below the last"),
        (rows([1, 3, 3], [1, 4, 4], [1, 1, 1]), "row 2 has the identity of another row"),
        (rows([3, 3, 3], [4, 5, 4], [1, 1, 1]), "row 2 has the identity of another row"),
        (rows([3, 3], [4, 4], [1, 1], row=[6, 6]), "row 1 has the identity of another row"),
        (rows([3, 3], [4, 4], [1, 1], times=[6, 6]), "row 1 has the identity of another row"),
        (rows([1, 2], [1, 1], [1, 0]), "weight and sums of row 1 are all zero"),
        (rows([1, 2], [1, 1], [0, 1], sums={"a": [0, 3]}), "weight and sums of row 0 are all zero"),
        (pa.record_batch({"order": pa.array([1], pa.uint64())}), "it has no weights"),
        (pa.record_batch({"weight": pa.array([None, 1], pa.int64())}), "is NULL"),
    ],
)
def test_what_is_not_a_batch(batch: pa.RecordBatch, complaint: str) -> None:
    assert complaint in unsound(batch)


@pytest.mark.parametrize("piece", [1, 2, 3])
def test_pieces_do_not_hide_anything(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr("penstock.trace.soundness._PIECE", piece)
    assert unsound(rows([1, 2, 2, 2, 9], [1, 1, 2, 3, 1], [1] * 5)) == ""
    assert "row 3 " in unsound(rows([1, 2, 5, 4, 9], [1] * 5, [1] * 5))
    assert "row 4 " in unsound(rows([1, 2, 2, 2, 2], [1, 1, 2, 3, 1], [1] * 5))
    assert "row 4 " in unsound(rows([1, 2, 3, 4, 5], [1] * 5, [1, 1, 1, 1, 0]))


_ROW = st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(-2, 2))


@settings(deadline=None)
@given(st.lists(_ROW, max_size=20))
def test_what_is_built_is_sound(found: list[tuple[int, int, int]]) -> None:
    order, key, weights = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [])
    batch = build_batch(words(*order), words(*key), None, np.array(weights, np.int64))
    assert unsound(batch.to_arrow()) == ""
