"""Batches packed by earlier releases: nothing is lost, whether words are stored or computed again, and
disorder is noticed."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from penstock.trace import Batch, KeyWords, build_batch, order_words, unpack
from penstock.zset import HashSeed, hash_columns
from tests.trace.old_packing import pack

SEED = HashSeed(3, 5)
ROWS = 500


def columns() -> tuple[pa.Array, ...]:
    """Every type that a column may have, with NULLs and what engines trip over."""
    moment = datetime.datetime(2024, 2, 29, 12, 30, 1, 5, datetime.UTC)
    samples: list[tuple[pa.DataType, list[object]]] = [
        (pa.int64(), [1, -(2**63), None, 2**63 - 1]),
        (pa.int8(), [1, None, -128]),
        (pa.float64(), [0.0, float("nan"), float("inf"), None, 1e-320]),
        (pa.float32(), [1.5, None]),
        (pa.bool_(), [True, None, False]),
        (pa.string(), ["", "é\x00", None, "x" * 100]),
        (pa.binary(), [b"", b"\xff\x00", None]),
        (pa.decimal128(38, 10), [Decimal("1.5"), None, -Decimal("9" * 20)]),
        (pa.date32(), [datetime.date(1, 1, 1), None]),
        (pa.timestamp("us", "UTC"), [moment, None]),
        (pa.timestamp("us"), [moment.replace(tzinfo=None), None]),
        (pa.duration("us"), [datetime.timedelta(days=-1, microseconds=7), None]),
        (pa.null(), [None]),
        (pa.list_(pa.int32()), [[1, None], [], None]),
        (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": None}, None]),
        (pa.map_(pa.string(), pa.int64()), [[("k", 1)], [], None]),
    ]
    return tuple(
        pa.array([values[(i * 7 + i // 5) % len(values)] for i in range(ROWS)], kind)
        for kind, values in samples
    )


def words(values: Sequence[pa.Array], length: int) -> KeyWords:
    key, row = hash_columns(values[:1], length, SEED), hash_columns(values, length, SEED)
    return order_words(key, row), key.lo, row.lo


def batch() -> Batch:
    values = columns()
    return build_batch(*words(values, ROWS), np.ones(ROWS, np.int64), values, {"n": np.arange(1, ROWS + 1)})


@pytest.mark.parametrize("with_words", [True, False])
def test_a_batch_survives_packing(with_words: bool) -> None:
    before = batch()
    after = unpack(pack(before, with_words=with_words), words, None)
    assert after.to_arrow().schema == before.to_arrow().schema
    assert str(after.to_arrow().to_pylist()) == str(before.to_arrow().to_pylist())  # NaN is not equal to NaN
    assert after.ordered is None


def test_the_direction_of_an_ordered_batch_is_kept() -> None:
    assert unpack(pack(batch(), with_words=True), words, "descending").ordered == "descending"


def test_rows_whose_hashes_are_others_now_are_refused() -> None:
    packed = pack(batch(), with_words=False)

    def others(values: Sequence[pa.Array], length: int) -> KeyWords:
        row = hash_columns(values, length, HashSeed(1, 1))
        return row.hi, row.lo, None

    with pytest.raises(ValueError, match="not in the order of their hashes"):
        unpack(packed, others, None)
    with pytest.raises(ValueError, match="its values do not tell them"):
        unpack(packed, None, None)
