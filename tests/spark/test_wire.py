"""Frames come out of their chunks as they went in, and no chunk is larger than gRPC likes."""

from __future__ import annotations

import decimal
import json

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import PipelineError
from penstock.schedule.message import AlongEdge, Message
from penstock.spark import wire
from penstock.spark.wire import Chunk, Frame, FrameReader, chunks_of


def through(frame: Frame) -> tuple[Frame, list[Chunk]]:
    reader, chunks = FrameReader(), list(chunks_of(frame))
    for chunk in chunks[:-1]:
        assert reader.feed(chunk) is None, "complete before its last chunk"
    arrived = reader.feed(chunks[-1])
    assert arrived is not None
    return arrived, chunks


def bytes_of(chunk: Chunk) -> int:
    return len(chunk.listing or b"") + (chunk.continuation.size if chunk.continuation is not None else 0)


def numbers(count: int) -> pa.RecordBatch:
    return pa.record_batch({"n": np.arange(count, dtype=np.int64)})


MIXED = pa.record_batch(
    {
        "s": ["a", None, "ccc"],
        "d": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")], pa.decimal128(12, 2)),
        "l": [[1, 2], None, []],
        "b": [True, False, None],
        "nothing": pa.nulls(3),
    }
)


def test_a_frame_without_messages_is_one_small_chunk() -> None:
    arrived, chunks = through(Frame({"do": "stop", "sequence": 7}))
    assert arrived == Frame({"do": "stop", "sequence": 7}, ())
    assert len(chunks) == 1 and bytes_of(chunks[0]) < 200


@pytest.mark.parametrize(
    "sizes",
    [[3], [0, 1, 0], [1] * 300, [200_000], [5, 200_000, 5], [200_000, 200_000], [3_000_000, 1, 3_000_000]],
    ids=str,
)
def test_messages_of_any_size_keep_order_edge_target_and_rows(sizes: list[int]) -> None:
    sent = Frame({"x": 1}, [Message(AlongEdge(i), i % 3, numbers(size)) for i, size in enumerate(sizes)])
    arrived, chunks = through(sent)
    assert [(m.route, m.target, m.batch) for m in arrived.messages] == [
        (m.route, m.target, m.batch) for m in sent.messages
    ]
    assert max(map(bytes_of, chunks)) <= wire.CHUNK_BYTES + (1 << 20)


def test_every_kind_of_column_and_a_batch_without_columns_travel() -> None:
    bare = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    arrived, _ = through(
        Frame(
            {},
            [
                Message(AlongEdge(0), 0, MIXED),
                Message(AlongEdge(1), 0, MIXED.slice(1, 1)),
                Message(AlongEdge(2), 0, bare),
            ],
        )
    )
    assert arrived.messages[0].batch.equals(MIXED)
    assert arrived.messages[1].batch.equals(MIXED.slice(1, 1))
    assert arrived.messages[2].batch.num_rows == 2


@pytest.mark.parametrize("rows", [10, 1_000_000])
def test_received_numbers_are_aligned(rows: int) -> None:
    arrived, _ = through(
        Frame({}, [Message(AlongEdge(0), 0, MIXED), Message(AlongEdge(1), 0, numbers(rows))])
    )
    assert arrived.messages[1].batch.column(0).buffers()[1].address % 8 == 0


def test_the_same_message_may_be_in_a_frame_twice() -> None:
    large = Message(AlongEdge(0), 0, numbers(200_000))
    arrived, _ = through(Frame({}, [large, large]))
    assert [m.batch.num_rows for m in arrived.messages] == [200_000, 200_000]


def test_one_reader_takes_frame_after_frame() -> None:
    reader = FrameReader()
    for i in range(3):
        frames = [
            reader.feed(chunk)
            for chunk in chunks_of(Frame({"i": i}, [Message(AlongEdge(0), 0, numbers(200_000))]))
        ]
        assert frames[-1] is not None and frames[-1].header == {"i": i}
        assert len(frames[-1].messages) == 1


def test_chunks_out_of_order_are_refused() -> None:
    listing, *continuations = chunks_of(Frame({}, [Message(AlongEdge(0), 0, numbers(3_000_000))]))
    with pytest.raises(PipelineError, match="out of order"):
        FrameReader().feed(continuations[0])
    reader = FrameReader()
    reader.feed(listing)
    with pytest.raises(PipelineError, match="out of order"):
        reader.feed(listing)


def test_headers_are_plain_json() -> None:
    (chunk,) = chunks_of(Frame({"do": "open", "body": {"ü": [1, None]}}))
    assert chunk.listing is not None
    assert json.loads(chunk.listing[4:])["frame"] == {"do": "open", "body": {"ü": [1, None]}}
