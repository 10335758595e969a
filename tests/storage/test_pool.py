"""Pools: what they drop, and that mapped files do not take more memory than they should."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.storage import BlockForm, Codec, LocalBackend, Pool, Segment, SegmentWriter
from penstock.storage.resident import OTHERS, SEARCHED, ResidentColumns

ROWS, NAME = 500_000, "segments/0000000001-w0000-0123456789ab.seg"


def written(tmp_path: Path, codec: Codec) -> LocalBackend:
    backend = LocalBackend(tmp_path)
    rng = np.random.default_rng(1)
    names = ["order", *(f"v{n}" for n in range(6))]
    columns = [pa.array(np.sort(rng.integers(0, 1 << 62, ROWS, dtype=np.uint64)))]
    columns += [pa.array(rng.integers(0, 1 << 40, ROWS)) for _ in names[1:]]
    writer = SegmentWriter(backend, NAME)
    writer.add_blocks("blocks", {}, pa.RecordBatch.from_arrays(columns, names), BlockForm(codec))
    writer.finish()
    return backend


def opened(backend: LocalBackend, pool: Pool) -> ResidentColumns:
    return Segment.open(backend, NAME).columns(0, pool, searched=("order",))


def mapped_bytes(path: Path) -> int:
    """How much of a file this process has in memory, as the system says."""
    maps = Path("/proc/self/smaps").read_text(encoding="utf-8")
    return sum(int(size) for size in re.findall(rf"{path}\n(?:.*\n)*?Rss:\s+(\d+) kB", maps)) << 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux says what is mapped")
@pytest.mark.parametrize("codec", [Codec.PLAIN, Codec.PACKED])
def test_reading_all_over_a_mapped_file_does_not_bring_all_of_it_into_memory(
    codec: Codec, tmp_path: Path
) -> None:
    backend = written(tmp_path, codec)
    path, rng = tmp_path / NAME, np.random.default_rng(2)
    for budget, bound in ((8 << 20, 10 << 20), (None, path.stat().st_size + (64 << 10))):
        pool = Pool(budget)
        columns = opened(backend, pool)
        columns.drop_pages()
        most = 0
        for _ in range(60):
            blocks = np.unique(rng.integers(0, columns.index.blocks, 20))
            for part in (SEARCHED, OTHERS):
                columns.need(part, blocks)
            assert all(len(column) == ROWS for column in columns.columns)
            most = max(most, mapped_bytes(path))
            pool.trim()
        assert 0 < most <= bound
        if budget is None:
            assert most > 12 << 20, "otherwise this shows nothing"


def test_a_dropped_page_comes_back_with_the_same_bytes(tmp_path: Path) -> None:
    backend = written(tmp_path, Codec.PLAIN)
    columns = opened(backend, Pool(1 << 20))
    every = np.arange(columns.index.blocks)
    columns.need(OTHERS, every)
    before = [column.to_numpy().sum() for column in columns.columns[1:]]
    columns.drop_pages()
    assert [column.to_numpy().sum() for column in columns.columns[1:]] == before
