"""Durable state: backends, segment files, manifests and logs. Formats are described in docs/formats.md."""

from __future__ import annotations

from penstock.storage.backend import Appender, Backend, LocalBackend, MemoryBackend, Part, open_backend
from penstock.storage.block import decode_batch, encode_batch
from penstock.storage.log import Log, read_log
from penstock.storage.manifest import Manifest, ManifestStore
from penstock.storage.segment import Entry, Segment, SegmentWriter

__all__ = [
    "Appender",
    "Backend",
    "Entry",
    "LocalBackend",
    "Log",
    "Manifest",
    "ManifestStore",
    "MemoryBackend",
    "Part",
    "Segment",
    "SegmentWriter",
    "decode_batch",
    "encode_batch",
    "open_backend",
    "read_log",
]
