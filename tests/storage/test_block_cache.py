"""The cache of blocks: it may lose everything at any time, and never gives wrong bytes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from penstock.storage import Pointer
from penstock.storage.block_cache import BlockCache
from penstock.storage.objects import BLOCK_BYTES
from tests.storage.conftest import Objects


def cached(cache: BlockCache, key: str) -> bytes | None:
    found = cache.get(key)
    return None if found is None else bytes(found)


def test_a_block_comes_back_and_another_process_finds_it(tmp_path: Path) -> None:
    BlockCache(tmp_path, 1 << 20).put("k", b"content")
    other = BlockCache(tmp_path, 1 << 20)
    assert cached(other, "k") == b"content" and cached(other, "l") is None
    assert (other.hits, other.misses) == (1, 1)


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "delete", "folder"])
def test_a_damaged_or_missing_block_is_a_miss(tmp_path: Path, harm: str) -> None:
    cache = BlockCache(tmp_path / "cache", 1 << 20)
    cache.put("k", b"content" * 100)
    [file] = (tmp_path / "cache").glob("*/*")
    content = bytearray(file.read_bytes())
    if harm == "flip":
        content[200] ^= 1
        file.write_bytes(content)
    elif harm in ("cut", "empty"):
        file.write_bytes(content[: 300 if harm == "cut" else 0])
    elif harm == "delete":
        file.unlink()
    else:
        shutil.rmtree(tmp_path / "cache")
    assert cached(cache, "k") is None
    cache.put("k", b"again")
    assert cached(cache, "k") == b"again"


def test_the_least_recently_used_blocks_go(tmp_path: Path) -> None:
    cache = BlockCache(tmp_path, 100_000)
    for number in range(60):
        cache.put(str(number), bytes(1000))
        os.utime(cache._path(str(number)), (number, number))
    assert cached(cache, "0") is not None  # used now
    for number in range(60, 120):
        cache.put(str(number), bytes(1000))
    assert sum(file.stat().st_size for file in tmp_path.glob("*/*")) <= 105_000
    assert cached(cache, "0") is not None and cached(cache, "1") is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = BlockCache(tmp_path / "file" / "cache", 1 << 20)
    cache.put("k", b"content")
    assert cached(cache, "k") is None


def test_an_object_is_read_once_and_then_from_the_cache(objects: Objects) -> None:
    content = os.urandom(3 * BLOCK_BYTES + 1000)
    pointers = [Pointer("segments/a.seg", offset, 5000) for offset in range(0, len(content) - 5000, 90_000)]
    wanted = [content[p.offset : p.offset + p.length] for p in pointers]
    writer = objects()
    writer.write_new("segments/a.seg", [content])
    first, second = objects(), objects()
    assert [bytes(piece) for piece in first.read(pointers)] == wanted
    assert first.counts.cache_misses == 3 and first.counts.bytes_read == 3 * BLOCK_BYTES
    assert [bytes(piece) for piece in second.read(pointers)] == wanted
    assert second.counts.reads == 0 and second.counts.cache_hits == 3


def test_another_object_under_the_same_name_is_not_taken_from_the_cache(objects: Objects) -> None:
    backend = objects()
    for content in (b"first" * 10, b"other" * 10):
        backend.write_new("segments/a.seg", [content])
        assert [bytes(piece) for piece in backend.read([Pointer("segments/a.seg", 0, 50)])] == [content]
        backend.delete("segments/a.seg")
