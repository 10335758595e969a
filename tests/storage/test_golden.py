"""Files as each released format version wrote them: still readable, and for now still what is written.

``python tests/storage/test_golden.py`` writes the files that are missing; existing ones are never touched,
since they stand for data that users have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.storage import (
    BatchRef,
    BlockForm,
    ChangeBlock,
    ChangeSegment,
    Codec,
    EarlierVersion,
    LocalBackend,
    Log,
    Manifest,
    ManifestStore,
    MemoryBackend,
    Pool,
    Retention,
    Segment,
    SegmentWriter,
    StoredLayout,
    Version,
    VersionStore,
)
from penstock.storage.block_index import BlockIndex
from penstock.storage.encodings import Encoding
from penstock.storage.frames import frame_parts, log_header
from penstock.storage.resident import FILTERS, OTHERS, SEARCHED

GOLDEN = Path(__file__).with_name("golden")
NAMED = "segment-1-named.seg"
BLOCKED = "segment-2.seg"
WORDS = ("order", "key_lo")
SALT = 0x0123456789ABCDEF
VERSION_FILES = {
    "changes/0000000007-3214061e04cc.json": "page-1.json",
    "manifest/0000000007.json": "manifest-2-whole.json",
    "manifest/0000000008.json": "manifest-2-delta.json",
}

MANIFEST = Manifest(7, {"step": 12, "segments": ["segments/000012-w03-ab12cd.seg"], "note": "grüße"})
FRAMES = [(42, b"first"), (42, b""), (43, b"x" * 70)]
BATCHES = [
    (
        "arrangement",
        {"operator": 7},
        pa.record_batch(
            {
                "id": pa.array([1, None, 3], pa.int64()),
                "name": pa.array(["a", "bc", None]),
                "tags": pa.array([["x"], None, []], pa.list_(pa.string())),
                "amount": pa.array([1, 2, None], pa.decimal128(12, 2)),
            }
        ),
    ),
    ("empty", {}, pa.record_batch({"n": pa.array([], pa.int64())})),
    ("rows-only", {}, pa.record_batch({"n": [1, 2]}).select([])),
]


WHOLE = Version(
    7,
    "grüße",
    1,
    "70e352a368822c15b602636ba2ae9841",
    step=12,
    made_us=1_794_977_928_232_635,
    oldest=6,
    arrangements={
        "850c3314f5ffb096dcc19f38.0": (
            BatchRef("segments/0000000006-w0000-6d12f57872c0.seg", 0, 0, 5, 3358790300),
            BatchRef("segments/0000000007-w0001-f9e9aa514420.seg", 3, 2, 11),
        ),
        "a3f10a76359b5cfbc25382da.1": (),
    },
    changes=(
        ChangeSegment(
            "segments/0000000007-w0000-93c8ee3aee41.seg",
            10,
            12,
            (ChangeBlock("v", 0, 5), ChangeBlock("v", 1, 6), ChangeBlock("w", 2)),
        ),
    ),
    changes_after=2,
    times=((11, 1_794_977_928_232_000), (12, 1_794_977_928_232_635)),
    static_frozen=True,
    catalog={"relations": []},
    layout=StoredLayout(2, (0, 0, 0, 1)),
)
"""It is stored whole, with its changes in a page."""
NEXT = replace(
    WHOLE,
    number=8,
    step=13,
    oldest=7,
    arrangements={
        "850c3314f5ffb096dcc19f38.0": (
            BatchRef("segments/0000000007-w0001-f9e9aa514420.seg", 3, 2, 11),
            BatchRef("segments/0000000008-w0000-0123456789ab.seg", 0, 0, 9, 77),
        )
    },
    changes=(ChangeSegment("segments/0000000008-w0000-ba9876543210.seg", 12, 13, (ChangeBlock("w", 0, 9),)),),
    times=(*WHOLE.times[1:], (13, 1_794_977_929_000_000)),
)
"""It is stored as a delta."""


RESTORED = replace(
    NEXT,
    number=9,
    oldest=7,
    changes=(),
    earlier=(EarlierVersion(7, 12, 1_794_977_928_232_635), EarlierVersion(8, 13, 1_794_977_929_000_000)),
    retention=Retention(3, 7_200_000_000),
    branch=9,
)
"""What a restore makes of it: whole, with all that may be missing."""
AFTER = replace(
    RESTORED,
    number=10,
    oldest=8,
    earlier=(*RESTORED.earlier[1:], EarlierVersion(9, 13, 1_794_977_930_000_000)),
    retention=Retention(),
)
RESTORED_FILES = {
    "manifest/0000000009.json": "manifest-2-restored.json",
    "manifest/0000000010.json": "manifest-2-after-restore.json",
}


def restored_versions() -> dict[str, bytes]:
    """The files of a restored version and of the next one."""
    backend = MemoryBackend()
    store = VersionStore(backend)
    for version in (RESTORED, AFTER):
        prepared = store.prepare(version)
        store.publish(prepared)
        store.adopt(prepared)
    return {name: bytes(backend.open(name)) for name in backend.list()}


def stored_versions() -> dict[str, bytes]:
    """The files of the two versions."""
    backend = MemoryBackend()
    store = VersionStore(backend)
    for version in (WHOLE, NEXT):
        pages = store.latest().pages if version is NEXT else ()  # type: ignore[union-attr]
        prepared = store.prepare(replace(version, pages=pages))
        store.publish(prepared)
        store.adopt(prepared)
    return {name: bytes(backend.open(name)) for name in backend.list()}


def log_bytes() -> bytes:
    content = log_header(SALT, 42)
    for step, payload in FRAMES:
        content += b"".join(bytes(part) for part in frame_parts(SALT, len(content), step, [payload]))
    return content


def segment_bytes(name: str) -> bytes:
    backend = MemoryBackend()
    writer = SegmentWriter(backend, name)
    for kind, meta, batch in BATCHES:
        writer.add(kind, meta, batch)
    writer.finish()
    return bytes(backend.open(name))


def _words(rows: int) -> list[pa.Array]:
    order = np.arange(rows, dtype=np.uint64) * np.uint64(2**57 // 3)
    lane = (order ^ (order >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return [pa.array(order), pa.array(lane), pa.array(np.where(np.arange(rows) % 9, 1, -2))]


def _batch(words: list[pa.Array], **values: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*words, *values.values()], ["order", "key_lo", "weight", *values])


_FLAT = _batch(
    _words(100),
    v0=pa.array([None if i % 11 == 0 else f"name {i % 7}" for i in range(100)]),
    v1=pa.array([f"{i * 0x9E3779B9 % 2**32:08X}" for i in range(100)]),
    v2=pa.array([None if i % 13 == 0 else i % 3 == 0 for i in range(100)]),
    v3=pa.array([Decimal(i * 37 % 1000) / 100 for i in range(100)], pa.decimal128(12, 2)),
    v4=pa.array([i / 8 for i in range(100)]),
    v5=pa.array(
        ["the same words again and again, only the number differs: " * 3 + str(i) for i in range(100)]
    ),
    v6=pa.nulls(100),
)
_NESTED = _batch(
    _words(40),
    v0=pa.array([None if i % 9 == 0 else [i, None][: i % 3] for i in range(40)], pa.list_(pa.int32())),
    v1=pa.array([{"a": i, "b": [str(i)] * (i % 3)} if i % 4 else None for i in range(40)]),
    v2=pa.array([[("k", i)] * (i % 2) for i in range(40)], pa.map_(pa.string(), pa.int64())),
)
_SEQUENCE = _batch(
    [
        pa.array(np.arange(2**63, 2**63 + 50, dtype=np.uint64)),
        pa.array(np.full(50, 7, np.uint64)),
        pa.array(np.ones(50, np.int64)),
    ],
    v0=pa.array(range(50)),
)
IN_BLOCKS = [
    ("plain", _FLAT, BlockForm(block_rows=16)),
    ("packed", _FLAT, BlockForm(Codec.PACKED, tight=True, block_rows=64)),
    ("without words", _FLAT, BlockForm(Codec.PACKED, dict.fromkeys(WORDS, Codec.DERIVED), block_rows=16)),
    (
        "with filters",
        _FLAT,
        BlockForm(Codec.PACKED, {"key_lo": Codec.PLAIN}, filtered="key_lo", block_rows=16),
    ),
    ("nested", _NESTED, BlockForm(block_rows=8)),
    ("sequence", _SEQUENCE, BlockForm(Codec.PACKED, block_rows=16)),
]


def blocked_bytes() -> bytes:
    backend = MemoryBackend()
    writer = SegmentWriter(backend, BLOCKED)
    writer.add("batch", {}, BATCHES[0][2])
    for kind, batch, form in IN_BLOCKS:
        writer.add_blocks(kind, {}, batch, form)
    writer.finish()
    return bytes(backend.open(BLOCKED))


def test_manifest_format_1_is_read_as_ever() -> None:
    content = (GOLDEN / "manifest-1.json").read_bytes()
    backend = MemoryBackend()
    backend.write_new("manifest/0000000007.json", [content])
    found = ManifestStore(backend).latest()
    assert found is not None and found.manifest == MANIFEST


def test_log_format_1_is_read_and_written_as_ever() -> None:
    content = (GOLDEN / "log-1.log").read_bytes()
    backend = MemoryBackend()
    backend.write_new("input/0000000042.log", [content])
    with Log(backend, "input") as log:
        assert log.cut == ""
        assert [(step, bytes(payload)) for step, payload in log.read()] == FRAMES
    assert log_bytes() == content


def test_manifest_format_2_and_pages_are_read_and_written_as_ever() -> None:
    backend = MemoryBackend()
    for name, golden in VERSION_FILES.items():
        backend.write_new(name, [(GOLDEN / golden).read_bytes()])
    store = VersionStore(backend)
    whole, following = store.load(7), store.load(8)
    assert replace(whole, pages=(), changes=WHOLE.changes) == WHOLE
    assert replace(following, pages=()) == NEXT
    assert list(store.changes(following)) == [*WHOLE.changes, *NEXT.changes]
    assert stored_versions() == {name: bytes(backend.open(name)) for name in VERSION_FILES}


def test_versions_of_a_restore_are_read_and_written_as_ever() -> None:
    backend = MemoryBackend()
    for name, golden in RESTORED_FILES.items():
        backend.write_new(name, [(GOLDEN / golden).read_bytes()])
    store = VersionStore(backend)
    assert [store.load(9), store.load(10)] == [RESTORED, AFTER]
    assert restored_versions() == {name: bytes(backend.open(name)) for name in RESTORED_FILES}


@pytest.mark.parametrize("name", ["segment-1.seg", NAMED], ids=["without its name", "with its name"])
def test_segment_format_1_is_read_as_ever(name: str) -> None:
    # What is written is not compared byte by byte: Arrow may lay out its metadata differently one day.
    segment = Segment.open(LocalBackend(GOLDEN), name)
    assert [(entry.kind, entry.meta, entry.rows) for entry in segment.entries] == [
        ("arrangement", {"operator": 7}, 3),
        ("empty", {}, 0),
        ("rows-only", {}, 2),
    ]
    for number, (_, _, batch) in enumerate(BATCHES):
        assert segment.read(number).equals(batch)


def test_segment_format_2_is_read_as_ever() -> None:
    backend = LocalBackend(GOLDEN)
    segment = Segment.open(backend, BLOCKED)
    assert segment.format == 2
    assert [(entry.kind, entry.rows, entry.index is None) for entry in segment.entries] == [
        ("batch", 3, True),
        *((name, batch.num_rows, False) for name, batch, _ in IN_BLOCKS),
    ]
    assert segment.read(0).equals(BATCHES[0][2])
    for number, (_, batch, form) in enumerate(IN_BLOCKS, start=1):
        columns = segment.columns(number, Pool(), searched=("order", "key_lo"), derive=None)
        assert columns.index.block_rows == form.block_rows
        assert columns.has_filters == bool(form.filtered)
        for part in (
            (FILTERS, OTHERS)
            if segment.entries[number].kind == "without words"
            else (FILTERS, OTHERS, SEARCHED)
        ):
            columns.need(part, np.arange(columns.index.blocks))
        stored = segment.read_copy(backend, number)
        assert stored.equals(batch.select(stored.schema.names))


def stored_chunks(content: pa.Buffer, index: BlockIndex) -> Iterator[bytes]:
    """The chunks of a batch, except zstd frames."""
    for number, buffer in enumerate(index.buffers):
        for offset, length in zip(
            index.chunks.offset[:, number].tolist(), index.chunks.length[:, number].tolist(), strict=True
        ):
            chunk = bytes(content.slice(offset, length))
            if buffer.codec is not Codec.PACKED or chunk[:1] != bytes([Encoding.ZSTD]):
                yield chunk


def test_format_2_is_written_as_ever() -> None:
    # What libraries write, the schema in the index and zstd frames, may be different one day.
    golden, made = LocalBackend(GOLDEN), MemoryBackend()
    made.write_new(BLOCKED, [blocked_bytes()])
    for number in range(1, 1 + len(IN_BLOCKS)):
        chunks = []
        for backend in (golden, made):
            content = backend.open(BLOCKED)
            index = Segment.open(backend, BLOCKED).columns(number, Pool(), searched=()).index
            chunks.append(list(stored_chunks(content, index)))
        assert chunks[0] == chunks[1]


def write_missing() -> None:
    makers = {
        "log-1.log": log_bytes,
        NAMED: lambda: segment_bytes(NAMED),
        BLOCKED: blocked_bytes,
    }
    files = stored_versions() | restored_versions()
    goldens = VERSION_FILES | RESTORED_FILES
    makers |= {golden: lambda name=name: files[name] for name, golden in goldens.items()}
    for name, make in makers.items():
        if not (GOLDEN / name).exists():
            (GOLDEN / name).write_bytes(make())


if __name__ == "__main__":
    write_missing()
