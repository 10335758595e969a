"""Files as each released format version wrote them: still readable, and for now still what is written.

``python tests/storage/test_golden.py`` writes the files that are missing; existing ones are never touched,
since they stand for data that users have.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from penstock.storage import LocalBackend, Log, Manifest, ManifestStore, MemoryBackend, Segment, SegmentWriter
from penstock.storage.frames import frame_parts, log_header

GOLDEN = Path(__file__).with_name("golden")
SALT = 0x0123456789ABCDEF

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


def manifest_bytes() -> bytes:
    backend = MemoryBackend()
    ManifestStore(backend).commit(MANIFEST)
    return bytes(backend.open("manifest/0000000007.json"))


def log_bytes() -> bytes:
    content = log_header(SALT, 42)
    for step, payload in FRAMES:
        content += b"".join(bytes(part) for part in frame_parts(SALT, len(content), step, [payload]))
    return content


def segment_bytes() -> bytes:
    backend = MemoryBackend()
    writer = SegmentWriter(backend, "golden.seg")
    for kind, meta, batch in BATCHES:
        writer.add(kind, meta, batch)
    writer.finish()
    return bytes(backend.open("golden.seg"))


def test_manifest_format_1_is_read_and_written_as_ever() -> None:
    content = (GOLDEN / "manifest-1.json").read_bytes()
    backend = MemoryBackend()
    backend.write_new("manifest/0000000007.json", [content])
    assert ManifestStore(backend).latest() == MANIFEST
    assert manifest_bytes() == content


def test_log_format_1_is_read_and_written_as_ever() -> None:
    content = (GOLDEN / "log-1.log").read_bytes()
    backend = MemoryBackend()
    backend.write_new("input/0000000042.log", [content])
    with Log(backend, "input") as log:
        assert log.cut == ""
        assert [(step, bytes(payload)) for step, payload in log.read()] == FRAMES
    assert log_bytes() == content


def test_segment_format_1_is_read_as_ever() -> None:
    # What is written is not compared byte by byte: Arrow may lay out its metadata differently one day.
    segment = Segment.open(LocalBackend(GOLDEN), "segment-1.seg")
    assert [(entry.kind, entry.meta, entry.rows) for entry in segment.entries] == [
        ("arrangement", {"operator": 7}, 3),
        ("empty", {}, 0),
        ("rows-only", {}, 2),
    ]
    for number, (_, _, batch) in enumerate(BATCHES):
        assert segment.read(number).equals(batch)


def write_missing() -> None:
    makers = {"manifest-1.json": manifest_bytes, "log-1.log": log_bytes, "segment-1.seg": segment_bytes}
    for name, make in makers.items():
        if not (GOLDEN / name).exists():
            (GOLDEN / name).write_bytes(make())


if __name__ == "__main__":
    write_missing()
