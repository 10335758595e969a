"""Batches that are read piece by piece: what a search or a scan will need is requested before it is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import CorruptionError
from penstock.storage import BlockForm, LocalBackend, Pool, Segment, SegmentWriter
from penstock.storage.local import Io
from penstock.trace import Batch, build_batch, lookup_rows, prefetch, scan
from penstock.trace.batch import WORDS
from penstock.trace.stored import BLOCKS, stored_batch
from penstock.zset import Hashes

ROWS, NAME = 100_000, "segments/0000000001-w0000-0123456789ab.seg"


class Remote(LocalBackend):
    """Direct reads, and storage that it takes long to wait for."""

    @property
    def is_remote(self) -> bool:
        return True


def written(tmp_path: Path) -> Batch:
    rng = np.random.default_rng(3)
    words = (rng.integers(0, 1 << 63, ROWS, dtype=np.uint64), rng.integers(0, 1 << 63, ROWS, dtype=np.uint64))
    batch = build_batch(*words, None, np.ones(ROWS, np.int64), (pa.array(rng.integers(0, 99, ROWS)),))
    writer = SegmentWriter(LocalBackend(tmp_path), NAME)
    writer.add_blocks(BLOCKS, {}, batch.to_columns(), BlockForm(block_rows=8192))
    writer.finish()
    return batch


def opened(backend: LocalBackend, pool: Pool) -> Batch:
    return stored_batch(Segment.open(backend, NAME).columns(0, pool, searched=WORDS), None)


def test_opening_and_a_lookup_read_a_small_part_of_the_file(tmp_path: Path) -> None:
    batch = written(tmp_path)
    backend = LocalBackend(tmp_path, Io.DIRECT)
    stored = opened(backend, Pool())
    assert backend.counts.bytes_read < 100_000
    keys = Hashes(batch.order[500:501], batch.key_lo[500:501])
    [found] = lookup_rows([stored], keys)
    assert found.row.tolist() == [500]
    assert stored.values[0][500] == batch.values[0][500]
    assert backend.counts.bytes_read < backend.size(NAME) / 4


def test_after_a_prefetch_a_lookup_reads_nothing_more(tmp_path: Path) -> None:
    batch = written(tmp_path)
    backend = Remote(tmp_path, Io.DIRECT)
    stored = opened(backend, Pool())
    keys = Hashes(batch.order[::9000].copy(), batch.key_lo[::9000].copy())
    prefetch([stored], keys)
    prefetched = backend.counts.prefetched
    [found] = lookup_rows([stored], keys)
    assert len(found.row) == len(keys) and prefetched > 0
    assert backend.counts.prefetched == prefetched


def test_a_scan_reads_ahead_and_gives_all_rows(tmp_path: Path) -> None:
    batch = written(tmp_path)
    backend = LocalBackend(tmp_path, Io.DIRECT)
    pieces = list(scan(opened(backend, Pool()), rows=10_000))
    assert np.array_equal(np.concatenate([piece.order for piece in pieces]), batch.order)
    assert backend.counts.prefetched > 20


@pytest.mark.parametrize("io", list(Io))
def test_damage_is_found_when_a_block_is_read_and_names_file_and_block(tmp_path: Path, io: Io) -> None:
    batch = written(tmp_path)
    path = tmp_path / NAME
    content = bytearray(path.read_bytes())
    content[64 + 8192 * 8 * 3 + 100] ^= 1  # the order words of block 3
    path.write_bytes(content)
    stored = opened(LocalBackend(tmp_path, io), Pool())
    near = Hashes(batch.order[10:11], batch.key_lo[10:11])
    assert len(list(lookup_rows([stored], near))) == 1
    with pytest.raises(CorruptionError, match=rf"{NAME}: block 3, column order"):
        next(scan(stored, int(batch.order[8192 * 3 + 5])))
