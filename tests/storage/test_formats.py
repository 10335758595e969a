"""Formats side by side: a reader for each, and an error for those of the future."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import StorageError
from penstock.storage import BatchRef, MemoryBackend, Pool, Segment, SegmentWriter
from penstock.storage import segment as module
from penstock.storage.checksum import HEADER_SIZE
from penstock.storage.source import Source
from penstock.trace import Batch, Spine, build_batch, merge_batches
from penstock.trace.filing import Filing
from penstock.trace.form import Purpose, Shape, form_of
from penstock.trace.stored import BLOCKS
from tests.storage.old_formats import as_format


def batch_of(numbers: range) -> Batch:
    words = np.array(numbers, np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return build_batch(words, words ^ np.uint64(5), None, np.ones(len(words), np.int64), (pa.array(numbers),))


def written(backend: MemoryBackend, number: int, batch: Batch) -> BatchRef:
    """The batch in a segment of a format."""
    name = f"segments/0000000001-w0000-{number:012d}.seg"
    made = MemoryBackend()
    writer = SegmentWriter(made, name)
    writer.add("batch", {"arrangement": "a"}, batch.to_arrow())
    writer.finish()
    content = as_format(bytes(made.open(name)), number)
    if number == 3:  # bytes in between are the other way round
        content = content[:HEADER_SIZE] + content[HEADER_SIZE:-HEADER_SIZE][::-1] + content[-HEADER_SIZE:]
    backend.write_new(name, [content])
    return BatchRef(name, 0, 0, len(batch), writer.checksum(0))


def open_format_3(source: Source) -> Segment:
    """The made-up format 3."""
    raw = bytes(source.read(0, source.size))
    turned = raw[:HEADER_SIZE] + raw[HEADER_SIZE:-HEADER_SIZE][::-1] + raw[-HEADER_SIZE:]
    other = MemoryBackend()
    other.write_new(source.name, [as_format(turned, 2)])
    found = Segment.open(other, source.name)
    found.format = 3
    return found


def test_old_and_new_formats_live_side_by_side_in_a_spine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.READERS, 3, open_format_3)
    backend = MemoryBackend()

    def form(slot: str, shape: Shape) -> object:
        return form_of(shape, Purpose.INDEX, derivable=False, compact=False)

    filing = Filing(
        backend,
        0,
        Pool(),
        lambda slot: None,
        form,  # type: ignore[arg-type]
        large_bytes=1 << 30,
    )
    spine = Spine(2, filing=filing, slot="a")
    parts = [batch_of(range(number * 1000, number * 1000 + 500 * number)) for number in (1, 2, 3)]
    formats = []
    for number, part in zip((1, 2, 3), parts, strict=True):
        ref = written(backend, number, part)
        segment = Segment.open(backend, ref.segment)
        segment.expect(0, ref.crc32c)
        formats.append(segment.format)
        spine.load(Batch.from_arrow(segment.read(0)), ref, 0)
    assert formats == [1, 2, 3]
    whole = merge_batches([held.batch for held in spine.held])
    assert whole.to_columns().equals(merge_batches(parts).to_columns())
    # A merge writes the present format.
    filed = filing.write(None, parts, "a")
    assert filed.ref is not None and filed.batch is not None
    merged = Segment.open(backend, filed.ref.segment)
    assert merged.format == 2 and merged.entries[0].kind == BLOCKS
    assert filed.batch.whole().to_columns().equals(whole.to_columns())


def test_a_format_of_the_future_is_not_called_damage() -> None:
    backend = MemoryBackend()
    ref = written(backend, 4, batch_of(range(5)))
    with pytest.raises(StorageError, match=rf"{ref.segment}: segment format 4 .* a newer one wrote the file"):
        Segment.open(backend, ref.segment)


def test_header_and_trailer_of_different_formats_are_damage() -> None:
    backend = MemoryBackend()
    name = written(backend, 1, batch_of(range(5))).segment
    content = bytes(backend.open(name))
    other = MemoryBackend()
    other.write_new(name, [as_format(content, 2)[:HEADER_SIZE] + content[HEADER_SIZE:]])
    with pytest.raises(StorageError, match="one format and the trailer of another"):
        Segment.open(other, name)
