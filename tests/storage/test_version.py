"""Versions that earlier releases wrote are read as ever."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.storage import BatchRef, ChangeBlock, MemoryBackend, Version, VersionStore
from penstock.storage.version_json import version_from_format_1

GOLDEN = Path(__file__).with_name("golden") / "manifest-1-pipeline.json"


def golden() -> Version:
    """The manifest of version 3 of a pipeline with two views and two workers, as format 1 had it."""
    backend = MemoryBackend()
    backend.write_new("manifest/0000000003.json", [GOLDEN.read_bytes()])
    return VersionStore(backend).load(3)


def test_a_version_of_manifest_format_1_is_read_as_ever() -> None:
    version = golden()
    assert (version.number, version.pipeline, version.step, version.hash_version) == (3, "story", 3, 1)
    assert version.seed == "70e352a368822c15b602636ba2ae9841"
    assert version.arrangements["850c3314f5ffb096dcc19f38.0"] == (
        BatchRef("segments/0000000003-w0000-6d12f57872c0.seg", 0, 0, 5, 3358790300),
        BatchRef("segments/0000000003-w0001-f9e9aa514420.seg", 0, 0, 11, 2739765786),
    )
    assert sum(ref.rows for ref in version.batches()) == 108
    assert [changes.last for changes in version.changes] == [1, 3, 3]
    assert list(VersionStore(MemoryBackend()).changes_of(version, "pairs", 1)) == [
        ("segments/0000000003-w0000-93c8ee3aee41.seg", ChangeBlock("pairs", 1, 235608851)),
        ("segments/0000000003-w0001-a8b70fea5aad.seg", ChangeBlock("pairs", 1, 3667339945)),
    ]
    assert version.times == ((0, 1794977928232635), (1, 1_000_000), (2, 1_000_001), (3, 1_000_002))
    assert version.static_frozen and version.changes_after == 0
    assert version.layout is not None and version.layout.workers == 2
    assert version.catalog == {"views": ["by_k", "pairs"]}


def test_early_releases_did_not_record_everything() -> None:
    body = json.loads(GOLDEN.read_bytes())["body"]
    for key in ("moving", "changes_after", "metrics", "layout"):
        del body[key]
    for refs in [*body["arrangements"].values(), *body["changes"].values()]:
        for ref in refs:
            del ref["crc32c"]
    version = version_from_format_1(3, body)
    assert version.static_frozen  # rows may have come to any table
    assert version.changes_after == 0 and version.layout is None
    assert all(ref.crc32c is None for ref in version.batches())
    fresh = version_from_format_1(3, {**body, "step": 0, "times": []})
    assert not fresh.static_frozen and fresh.changes_after == 0
    later = version_from_format_1(3, {**body, "times": [(2, 5), (3, 6)]})
    assert later.changes_after == 1  # times were kept as long as changes
