"""Blocks: standard Arrow streams, aligned to 64 bytes, that copy nothing on the way in or out."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.storage import decode_batch, encode_batch

MAP = pa.map_(pa.string(), pa.int32())
ROWS: dict[str, tuple[pa.DataType, list[object]]] = {
    "bool": (pa.bool_(), [True, None, False]),
    "int8": (pa.int8(), [1, None, -1]),
    "int64": (pa.int64(), [2**62, None, -1]),
    "double": (pa.float64(), [0.5, None, float("inf")]),
    "decimal": (pa.decimal128(20, 3), [Decimal("1.500"), None, Decimal("-2.250")]),
    "string": (pa.string(), ["", None, "grüße"]),
    "binary": (pa.binary(), [b"", None, b"\0\1"]),
    "view": (pa.string_view(), ["short", None, "longer than twelve bytes, so out of line"]),
    "date": (pa.date32(), [1, None, 20_000]),
    "timestamp": (pa.timestamp("us", "UTC"), [1, None, -1]),
    "duration": (pa.duration("us"), [1, None, -1]),
    "null": (pa.null(), [None, None, None]),
    "list": (pa.list_(pa.string()), [["a", None], None, []]),
    "struct": (
        pa.struct({"a": pa.int32(), "b": pa.list_(pa.bool_())}),
        [{"a": 1, "b": [True]}, None, {"a": None, "b": None}],
    ),
    "map": (MAP, [[("k", 1)], None, []]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["x", None, "x"]),
}


def of_rows(names: list[str], order: list[int]) -> pa.RecordBatch:
    columns = [pa.array([ROWS[name][1][i] for i in order], ROWS[name][0]) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=[f"{i}_{name}" for i, name in enumerate(names)])


def joined(batch: pa.RecordBatch) -> pa.Buffer:
    """The block in memory that is aligned as a mapped file is."""
    parts = encode_batch(batch)
    whole = pa.allocate_buffer(sum(p.size for p in parts))
    with pa.FixedSizeBufferWriter(whole) as out:
        for part in parts:
            out.write(part)
    return whole


def buffers(batch: pa.RecordBatch) -> Iterator[pa.Buffer]:
    for column in batch.columns:
        storage = [column, column.dictionary] if pa.types.is_dictionary(column.type) else [column]
        for array in storage:
            yield from (b for b in array.buffers() if b is not None and b.size)


@given(
    st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=6),
    st.lists(st.integers(0, 2), max_size=200),
    st.data(),
)
def test_any_batch_and_any_slice_comes_back_equal_and_aligned(
    names: list[str], order: list[int], data: st.DataObject
) -> None:
    batch = of_rows(names, order)
    start = data.draw(st.integers(0, len(order)))
    batch = batch.slice(start, data.draw(st.integers(0, len(order) - start)))
    block = joined(batch)
    back = decode_batch(block)
    back.validate(full=True)
    assert back.schema.equals(batch.schema, check_metadata=True)
    assert back.equals(batch)
    assert block.size % 64 == 0
    for buffer in buffers(back):
        assert buffer.address % 64 == 0
        assert block.address <= buffer.address < block.address + block.size


def test_a_batch_without_columns_keeps_its_row_count() -> None:
    batch = pa.record_batch({"a": [1, 2, 3]}).select([])
    assert decode_batch(joined(batch)).num_rows == 3
    assert decode_batch(joined(batch.slice(0, 0))).num_rows == 0


def test_schema_metadata_is_kept() -> None:
    field = pa.field("a", pa.int64(), nullable=False, metadata={"unit": "ms"})
    batch = pa.record_batch([[1]], schema=pa.schema([field], metadata={"table": "orders"}))
    assert decode_batch(joined(batch)).schema.equals(batch.schema, check_metadata=True)


def test_encoding_hands_out_the_batch_s_own_memory() -> None:
    batch = pa.record_batch(
        {"n": np.arange(1_000_000), "s": pa.array(["abcdefgh"] * 100_000 + [""] * 900_000)}
    )
    own = {buffer.address for buffer in buffers(batch)}
    before = pa.total_allocated_bytes()
    parts = encode_batch(batch)
    assert pa.total_allocated_bytes() - before < 100_000
    assert own <= {part.address for part in parts}


def test_other_readers_of_arrow_streams_understand_a_block() -> None:
    batch = of_rows(sorted(ROWS), [0, 1, 2, 2])
    # A reader of unaligned, unmapped input, that takes every message in turn.
    with pa.ipc.open_stream(io.BytesIO(bytes(joined(batch)))) as reader:
        assert reader.read_all().equals(pa.Table.from_batches([batch]))


def test_bytes_that_are_no_stream_are_an_arrow_error() -> None:
    with pytest.raises(pa.ArrowInvalid):
        decode_batch(pa.py_buffer(b"\x01" * 64))
