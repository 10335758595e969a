"""Batches in blocks: rows of every type come back as they were, and damage anywhere is found."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import CorruptionError, StorageError
from penstock.storage import (
    BlockForm,
    Codec,
    MemoryBackend,
    Pool,
    Segment,
    SegmentDraft,
    SegmentWriter,
    bounds_of_rows,
    can_be_blocked,
)
from penstock.storage.resident import FILTERS, OTHERS, SEARCHED

FORMS = [
    BlockForm(block_rows=8),
    BlockForm(Codec.PACKED, block_rows=8),
    BlockForm(Codec.PACKED, {"order": Codec.PLAIN}, tight=True, filtered="key_lo", block_rows=64),
]
NAMES = ["plain", "packed", "tight with filters"]
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 1, 5)

text = st.text(st.sampled_from("abé0123XYZ "), max_size=12) | st.sampled_from(["", "member", "casual"])
TYPES: list[tuple[pa.DataType, st.SearchStrategy[object]]] = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(0, 100)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int16(), st.integers(0, 3)),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), st.floats(allow_nan=False) | st.just(1.5)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.string(), text),
    (pa.large_string(), text),
    (pa.binary(), st.binary(max_size=20)),
    (pa.binary(5), st.binary(min_size=5, max_size=5)),
    (pa.decimal128(38, 2), st.integers(-(10**36), 10**36).map(lambda n: Decimal(n) / 100)),
    (pa.decimal128(12, 2), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n) / 100)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.integers(0, 10**9).map(lambda n: MOMENT + datetime.timedelta(microseconds=n))),
    (pa.null(), st.none()),
    (pa.list_(pa.int32()), st.lists(st.integers(-5, 5) | st.none(), max_size=5)),
    (pa.large_list(pa.string()), st.lists(text | st.none(), max_size=3)),
    (pa.list_(pa.list_(pa.bool_())), st.lists(st.lists(st.booleans() | st.none(), max_size=9), max_size=3)),
    (pa.list_(pa.null()), st.lists(st.none(), max_size=3)),
    (
        pa.struct([("a", pa.int32()), ("b", pa.string()), ("c", pa.list_(pa.float64()))]),
        st.fixed_dictionaries(
            {
                "a": st.integers(0, 9) | st.none(),
                "b": text | st.none(),
                "c": st.lists(st.just(0.5), max_size=2) | st.none(),
            }
        ),
    ),
    (pa.map_(pa.string(), pa.int64()), st.dictionaries(text, st.integers(0, 9) | st.none(), max_size=3)),
    (pa.struct([]), st.just({})),
]


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    """Rows of some types, with words, perhaps a slice of more."""
    rows = draw(st.integers(1, 60))
    cut = draw(st.integers(0, 9))
    chosen = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    words = np.sort(
        np.array(draw(st.lists(st.integers(0, 2**64 - 1), min_size=rows, max_size=rows)), np.uint64)
    )
    arrays = [pa.array(words), pa.array(words * np.uint64(0x9E3779B97F4A7C15))]
    for kind, values in chosen:
        few = draw(st.lists(values | st.none(), min_size=1, max_size=rows))
        has_nulls = draw(st.booleans())
        kept = few if has_nulls or pa.types.is_null(kind) else [v for v in few if v is not None] or few
        padded = pa.array([kept[(i * 7 + i // 3) % len(kept)] for i in range(rows + cut)], kind)
        arrays.append(padded.slice(cut, rows))
    names = ["order", "key_lo", *(f"v{i}" for i in range(len(chosen)))]
    return pa.RecordBatch.from_arrays(arrays, names)


def written(rows: pa.RecordBatch, form: BlockForm) -> MemoryBackend:
    backend = MemoryBackend()
    writer = SegmentWriter(backend, "segments/a.seg")
    writer.add_blocks("blocks", {}, rows, form)
    writer.finish()
    return backend


def read(backend: MemoryBackend) -> pa.RecordBatch:
    columns = Segment.open(backend, "segments/a.seg").columns(0, Pool(), searched=["order"])
    for part in (FILTERS, SEARCHED, OTHERS):
        columns.need(part, np.arange(columns.index.blocks))
    return pa.RecordBatch.from_arrays(columns.columns, columns.index.schema.names)


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
@given(rows=batches())
@settings(deadline=None, max_examples=60)
def test_rows_of_any_type_survive(form: BlockForm, rows: pa.RecordBatch) -> None:
    assert can_be_blocked(rows.schema)
    backend = written(rows, form)
    again = read(backend)
    again.validate(full=True)
    assert again.equals(rows)
    copied = Segment.open(backend, "segments/a.seg").read_copy(backend, 0)
    assert copied.equals(rows)
    assert [column.null_count for column in again.columns] == [column.null_count for column in rows.columns]


@given(
    rows=batches(), sizes=st.lists(st.integers(1, 20), min_size=1, max_size=8), form=st.sampled_from(FORMS)
)
@settings(deadline=None, max_examples=40)
def test_rows_that_come_in_pieces_survive(
    rows: pa.RecordBatch, sizes: Sequence[int], form: BlockForm
) -> None:
    backend = MemoryBackend()
    draft = SegmentDraft(backend, "blocks", {}, rows.schema, bounds_of_rows(rows), form)
    start = number = 0
    while start < rows.num_rows:
        draft.add(rows.slice(start, sizes[number % len(sizes)]))
        start, number = start + sizes[number % len(sizes)], number + 1
    draft.complete()
    draft.publish("segments/a.seg")
    assert read(backend).equals(rows)


def sample(rows: int = 100) -> pa.RecordBatch:
    words = np.arange(rows, dtype=np.uint64) * np.uint64(2**56)
    texts = [f"name {i % 7}" if i % 5 else None for i in range(rows)]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(words),
            pa.array(words * np.uint64(0x9E3779B97F4A7C15)),
            pa.array(texts),
            pa.array([[i] * (i % 3) for i in range(rows)], pa.list_(pa.int64())),
        ],
        ["order", "key_lo", "v0", "v1"],
    )


@pytest.mark.parametrize("form", FORMS, ids=NAMES)
def test_a_flipped_bit_anywhere_is_found_or_is_in_padding(form: BlockForm) -> None:
    rows = sample()
    backend = written(rows, form)
    content, unnoticed = bytes(backend.open("segments/a.seg")), 0
    for place in range(len(content)):
        other = MemoryBackend()
        other.write_new(
            "segments/a.seg", [content[:place] + bytes([content[place] ^ 16]) + content[place + 1 :]]
        )
        try:
            assert read(other).equals(rows)
            unnoticed += 1
        except StorageError as error:
            assert "segments/a.seg" in str(error)
    index = Segment.open(backend, "segments/a.seg").columns(0, Pool(), searched=[]).index
    spans = zip(index.chunks.offset.ravel().tolist(), index.chunks.length.ravel().tolist(), strict=True)
    used = np.zeros(len(content), bool)
    for offset, length in spans:
        used[offset : offset + length] = True
    entry = Segment.open(backend, "segments/a.seg").entries[0]
    padding = np.count_nonzero(~used[entry.offset : entry.index])
    assert unnoticed <= padding


def test_constants_and_consecutive_numbers_take_nothing_but_a_header() -> None:
    rows = pa.RecordBatch.from_arrays(
        [pa.array(np.arange(100_000, dtype=np.uint64)), pa.array(np.ones(100_000, np.int64))],
        ["order", "weight"],
    )
    backend = written(rows, BlockForm(Codec.PACKED))
    assert read(backend).equals(rows)
    assert backend.size("segments/a.seg") < 25_000


def test_blocks_that_were_dropped_do_not_take_edges_of_their_neighbours_with_them() -> None:
    # A block's first offset is also the end of the block before, and pages end where blocks do.
    rows = 1024 * 64
    texts = pa.array([f"{i:05d}" for i in range(rows)])
    words = pa.array(np.arange(rows, dtype=np.uint64))
    backend = written(pa.RecordBatch.from_arrays([words, texts], ["order", "v0"]), BlockForm(Codec.PACKED))
    columns = Segment.open(backend, "segments/a.seg").columns(0, Pool(10**9), searched=["order"])
    every = np.arange(columns.index.blocks)
    columns.need(OTHERS, every)
    columns.sweep(in_place=False)  # nothing is used any more
    columns.need(OTHERS, every[::2])
    columns.sweep(in_place=False)  # drops every other block
    assert columns.resident_bytes < sum(buffer.size for buffer in columns.index.buffers)
    for block in every[::2].tolist():
        start, stop = columns.index.rows_of(block)
        assert columns.columns[1].slice(start, stop - start).equals(texts.slice(start, stop - start))


def test_words_that_are_computed_differently_now_are_noticed() -> None:
    rows = sample()
    form = BlockForm(Codec.PACKED, {"order": Codec.DERIVED}, block_rows=8)
    segment = Segment.open(written(rows, form), "segments/a.seg")

    def derive(values: Sequence[pa.Array], count: int) -> list[np.ndarray]:
        return [np.arange(count, dtype=np.uint64)]

    columns = segment.columns(0, Pool(), searched=["order"], derive=derive)
    columns.need(SEARCHED, np.array([0]))
    with pytest.raises(CorruptionError, match=r"block 3 is damaged, or was written with another hash"):
        columns.need(SEARCHED, np.array([3]))
