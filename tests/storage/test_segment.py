"""Segments: batches come back as views of the file, and every damaged byte is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import CorruptionError, StorageError
from penstock.storage import Backend, LocalBackend, MemoryBackend, Segment, SegmentWriter
from penstock.storage.checksum import seal
from penstock.storage.source import Source

NAME = "segments/000012-w03-ab12cd.seg"
NUMBERS = pa.record_batch({"n": pa.array([1, 2, 3]), "s": pa.array(["a", None, "ccc"])})


def written(backend: Backend) -> Segment:
    writer = SegmentWriter(backend, NAME)
    assert writer.add("arrangement", {"operator": 7, "level": 2}, NUMBERS) == 0
    assert writer.add("rows", {}, NUMBERS.slice(1)) == 1
    writer.finish()
    assert writer.size == backend.size(NAME)
    return Segment.open(backend, NAME)


def changed(change: Callable[[bytearray], object]) -> Backend:
    """A backend with the same segment after something happened to its bytes."""
    original, spoiled = MemoryBackend(), MemoryBackend()
    written(original)
    content = bytearray(original.open(NAME))
    change(content)
    spoiled.write_new(NAME, [content])
    return spoiled


def size_of_written() -> int:
    backend = MemoryBackend()
    written(backend)
    return backend.size(NAME)


def read_all(segment: Segment) -> None:
    """Reads every block, which checks it."""
    for number in range(len(segment.entries)):
        segment.read(number)


def test_batches_come_back_with_their_kind_and_metadata(backend: Backend) -> None:
    segment = written(backend)
    assert [(e.kind, e.meta, e.rows) for e in segment.entries] == [
        ("arrangement", {"operator": 7, "level": 2}, 3),
        ("rows", {}, 2),
    ]
    assert segment.read(0).equals(NUMBERS)
    assert segment.read(1).equals(NUMBERS.slice(1))


def test_a_segment_without_batches_is_one(backend: Backend) -> None:
    SegmentWriter(backend, NAME).finish()
    assert Segment.open(backend, NAME).entries == ()


def test_nothing_is_visible_before_finish_and_nothing_can_be_added_after(backend: Backend) -> None:
    writer = SegmentWriter(backend, NAME)
    writer.add("rows", {}, NUMBERS)
    assert backend.list() == []
    writer.finish()
    with pytest.raises(StorageError, match="finished"):
        writer.add("rows", {}, NUMBERS)
    with pytest.raises(StorageError, match="finished"):
        writer.finish()


def test_metadata_is_what_it_was_when_added(backend: Backend) -> None:
    writer = SegmentWriter(backend, NAME)
    meta: dict[str, object] = {"shards": [1, 2]}
    writer.add("rows", meta, NUMBERS)
    meta["shards"] = "changed later"
    writer.finish()
    assert Segment.open(backend, NAME).entries[0].meta == {"shards": [1, 2]}


@pytest.mark.parametrize("meta", [{"a": object()}, {"a": float("nan")}, {1: "a"}, {"a": [{2: 3}]}])
def test_metadata_that_would_not_come_back_is_refused_when_added(meta: dict[str, object]) -> None:
    writer = SegmentWriter(MemoryBackend(), NAME)
    with pytest.raises(StorageError, match="block 0"):
        writer.add("rows", meta, NUMBERS)


def test_reading_makes_views_of_the_file(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    batch = pa.record_batch(
        {
            "n": np.arange(1_000_000),
            "s": pa.array(["some text"] * 1_000_000),
            "l": pa.array([[1, 2]] * 1_000_000),
        }
    )
    writer = SegmentWriter(backend, NAME)
    writer.add("rows", {}, NUMBERS)
    writer.add("rows", {}, batch)
    writer.finish()
    before = pa.total_allocated_bytes()
    segment = Segment.open(backend, NAME)
    back = segment.read(1)
    assert pa.total_allocated_bytes() - before < 10_000 < batch.nbytes / 1000
    mapped = backend.open(NAME)
    assert mapped.address % 64 == 0
    buffers = [b for column in back.columns for b in column.buffers() if b is not None]
    assert len(buffers) == 5
    assert all(b.address % 64 == 0 for b in buffers)
    assert back.equals(batch)


def test_batches_outlive_the_segment_and_its_file(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    batch = written(backend).read(0)
    backend.delete(NAME)
    assert batch.equals(NUMBERS)


def test_every_damaged_byte_is_found() -> None:
    size = size_of_written()
    for position in range(size):
        backend = changed(lambda content, at=position: content.__setitem__(at, content[at] ^ 0x40))
        with pytest.raises(CorruptionError, match=NAME):
            read_all(Segment.open(backend, NAME))


def test_every_cut_is_found() -> None:
    size = size_of_written()
    for keep in range(0, size, 7):
        backend = changed(lambda content, keep=keep: content.__delitem__(slice(keep, None)))
        with pytest.raises(CorruptionError, match=NAME):
            Segment.open(backend, NAME)


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=200))
def test_inserted_bytes_are_found(position: int, noise: bytes) -> None:
    backend = changed(lambda content: content.__setitem__(slice(position, position), noise))
    with pytest.raises(CorruptionError, match=NAME):
        read_all(Segment.open(backend, NAME))


def test_damage_is_named_by_file_block_and_what_it_held() -> None:
    entry = written(MemoryBackend()).entries[0]
    backend = changed(
        lambda content: content.__setitem__(entry.offset + 100, content[entry.offset + 100] ^ 1)
    )
    segment = Segment.open(backend, NAME)
    with pytest.raises(CorruptionError) as caught:
        segment.read(0)
    for told in (NAME, "block 0", "arrangement", "'operator': 7", "3 rows", f"bytes {entry.offset}"):
        assert told in str(caught.value)
    assert segment.read(1).equals(NUMBERS.slice(1)), "the other block is unharmed and stays readable"


def test_a_format_of_the_future_is_not_called_damage() -> None:
    backend = changed(lambda content: content.__setitem__(slice(0, 64), seal(b"PENSTSEG\x03\0\0\0")))
    with pytest.raises(StorageError, match="segment format 3 is not known") as caught:
        Segment.open(backend, NAME)
    assert not isinstance(caught.value, CorruptionError)


def test_a_file_of_another_kind_is_called_that() -> None:
    backend = changed(lambda content: content.__setitem__(slice(0, 64), seal(b"PENSTLOG\x01\0\0\0")))
    with pytest.raises(CorruptionError, match="not a segment"):
        Segment.open(backend, NAME)


def test_a_file_that_grew_or_shrank_in_the_middle_is_called_that() -> None:
    size = size_of_written()
    backend = changed(lambda content: content.__setitem__(slice(64, 64), bytes(64)))
    with pytest.raises(CorruptionError, match=f"{size + 64} bytes long, {size} were written"):
        Segment.open(backend, NAME)
    backend = changed(lambda content: content.__delitem__(slice(64, 128)))
    with pytest.raises(CorruptionError, match=f"{size - 64} bytes long, {size} were written"):
        Segment.open(backend, NAME)


def test_a_block_with_other_rows_than_the_index_says_is_found() -> None:
    backend = MemoryBackend()
    segment = written(backend)
    wrong = tuple(replace(entry, rows=entry.rows + 1) for entry in segment.entries)
    with pytest.raises(CorruptionError, match="it holds 3 rows"):
        Segment(Source(backend, NAME), wrong).read(0)


def test_a_sound_segment_in_the_place_of_another_is_found(backend: Backend) -> None:
    written(backend)
    other = "segments/000013-w03-ef56ab.seg"
    backend.write_new(other, [backend.open(NAME)])
    with pytest.raises(CorruptionError, match=f"{other}: this is {NAME}, which was copied or moved"):
        Segment.open(backend, other)


def test_a_reference_says_which_block_it_expects(backend: Backend) -> None:
    segment = written(backend)
    segment.expect(1, segment.entries[1].crc32c)
    segment.expect(1, None)
    with pytest.raises(CorruptionError, match=f"{NAME}: block 1 .* is referred to; it is not the file"):
        segment.expect(1, segment.entries[0].crc32c)
    with pytest.raises(CorruptionError, match=f"{NAME}: block 2 is referred to, and the file has 2"):
        segment.expect(2, None)
