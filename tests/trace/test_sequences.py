"""Batches whose words are consecutive numbers: only the first is stored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.trace import Batch, unpack
from tests.trace.old_packing import pack

VALUES = (pa.array([5, None, 7]), pa.array(["a", "b", None]))


def batch(**other: object) -> Batch:
    parts: dict[str, object] = {
        "order": np.array([2**63, 2**63 + 1, 2**63 + 2], np.uint64),
        "key_lo": np.full(3, 2**64 - 1, np.uint64),
        "row_lo": None,
        "weights": np.ones(3, np.int64),
        "values": VALUES,
    }
    return Batch(**{**parts, **other})  # type: ignore[arg-type]


def same(one: Batch, other: Batch) -> bool:
    arrays = [(b.order, b.key_lo, b.weights) for b in (one, other)]
    return all(map(np.array_equal, *arrays)) and one.values == other.values and other.row_lo is one.row_lo


def test_a_sequence_is_stored_without_its_words() -> None:
    stored = batch().to_arrow()
    assert stored.schema.names == ["v0", "v1"]
    assert same(batch(), Batch.from_arrow(stored))
    assert same(batch(), unpack(pack(batch(), with_words=True), _never, None))


@pytest.mark.parametrize(
    "other",
    [
        {"order": np.array([1, 2, 4], np.uint64)},
        {"order": np.array([1, 1, 3], np.uint64)},
        {"key_lo": np.array([1, 2, 1], np.uint64)},
        {"weights": np.array([1, 2, 1])},
    ],
    ids=["a gap", "twice the same", "another lane", "a weight"],
)
def test_anything_else_is_stored_whole(other: dict[str, object]) -> None:
    stored = batch(**other).to_arrow()
    assert "order" in stored.schema.names
    assert same(batch(**other), Batch.from_arrow(stored))


def _never(values: object, length: int) -> tuple[np.ndarray, np.ndarray, None]:
    raise AssertionError("its words are known")
