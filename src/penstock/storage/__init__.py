"""Durable state: backends, segment files, manifests and logs. Formats are described in docs/formats.md."""

from __future__ import annotations

from penstock.storage.backend import (
    Appender,
    Backend,
    LocalBackend,
    MemoryBackend,
    ObjectBackend,
    Part,
    local_folder,
    open_backend,
)
from penstock.storage.block import decode_batch, encode_batch
from penstock.storage.block_form import PLAIN_FORM, BlockForm
from penstock.storage.block_index import Codec
from penstock.storage.block_layout import can_be_blocked
from penstock.storage.block_writer import Bounds, bounds_of_rows
from penstock.storage.interface import IoCounts, Pointer
from penstock.storage.log import Log, log_owner, read_log
from penstock.storage.manifest import Manifest, ManifestStore
from penstock.storage.metrics_file import read_metrics, write_metrics
from penstock.storage.pool import Pool, PoolCounts
from penstock.storage.read_only import ReadOnlyBackend
from penstock.storage.references import BatchRef, ChangeBlock, ChangeSegment, PageRef, sorted_refs
from penstock.storage.segment import Entry, Segment, SegmentWriter
from penstock.storage.segment_draft import SegmentDraft
from penstock.storage.version import EarlierVersion, Retention, StoredLayout, Version
from penstock.storage.version_store import Prepared, Unreadable, VersionStore, newest_version

__all__ = [
    "PLAIN_FORM",
    "Appender",
    "Backend",
    "BatchRef",
    "BlockForm",
    "Bounds",
    "ChangeBlock",
    "ChangeSegment",
    "Codec",
    "EarlierVersion",
    "Entry",
    "IoCounts",
    "LocalBackend",
    "Log",
    "Manifest",
    "ManifestStore",
    "MemoryBackend",
    "ObjectBackend",
    "PageRef",
    "Part",
    "Pointer",
    "Pool",
    "PoolCounts",
    "Prepared",
    "ReadOnlyBackend",
    "Retention",
    "Segment",
    "SegmentDraft",
    "SegmentWriter",
    "StoredLayout",
    "Unreadable",
    "Version",
    "VersionStore",
    "bounds_of_rows",
    "can_be_blocked",
    "decode_batch",
    "encode_batch",
    "local_folder",
    "log_owner",
    "newest_version",
    "open_backend",
    "read_log",
    "read_metrics",
    "sorted_refs",
    "write_metrics",
]
