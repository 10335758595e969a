"""Batches in memory and on file with the rows of the benchmark."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.storage.rows import Figures, Rows, timed_ms
from penstock.storage import PLAIN_FORM, Backend, BlockForm, Pool, Segment, open_backend
from penstock.trace import Batch, build_batch, lookup_rows, merge_batches, scan
from penstock.trace.batch import WORDS
from penstock.trace.form import Purpose, form_of, shape_of
from penstock.trace.stored import merge_to_draft, stored_batch
from penstock.zset import Hashes, gather, numbers

__all__ = ["measure_ours"]

REPEATS = 15
META = {"arrangement": "bench", "ordered": ""}


def measure_ours(rows: Rows, folder: Path) -> Iterator[tuple[str, Figures]]:
    """In memory, mapped and plain, compressed, and read past the system's cache."""
    batch, more = _batch(rows), _batch(Rows.random(len(rows) // 10, seed=9))
    began = time.perf_counter()
    merged = merge_batches([batch, more])
    merge = len(merged) / (time.perf_counter() - began) / 1e6
    del merged
    yield "in memory", _figures(rows, lambda: batch, REPEATS, merge, batch.nbytes / len(rows))
    plain = folder / "plain"
    for name, form in _forms(batch).items():
        backend = open_backend(folder / name)
        size = _write(backend, [batch], form, "segments/a.seg")
        opened = _opener(backend, "segments/a.seg")
        began = time.perf_counter()
        _write(backend, [opened(), more], form, "segments/b.seg")
        merge = 1.1 * len(rows) / (time.perf_counter() - began) / 1e6
        title = "blocks" if name == "plain" else f"{name} blocks"
        cold = _figures(rows, _cold(folder / name, opened), 3, merge, size / len(rows))
        yield f"{title}, cold", cold
        warm = opened()
        warm.whole()
        yield f"{title}, warm", _figures(rows, lambda warm=warm: warm, REPEATS, merge, size / len(rows))
    direct = _opener(open_backend(f"{plain.absolute().as_uri()}?io=direct"), "segments/a.seg")
    size = (plain / "segments" / "a.seg").stat().st_size
    yield "direct, cold", _figures(rows, direct, 3, float("nan"), size / len(rows))
    warm = direct()
    warm.whole()
    yield "direct, warm", _figures(rows, lambda: warm, REPEATS, float("nan"), size / len(rows))


def _batch(rows: Rows) -> Batch:
    lane = rows.key * np.uint64(0x9E3779B97F4A7C15)
    return build_batch(rows.key, lane, None, np.ones(len(rows), np.int64), rows.columns())


def _forms(batch: Batch) -> dict[str, BlockForm]:
    """As indexes are stored, and as tables are."""
    shape = shape_of(batch, is_sequence=False)
    forms = {
        "plain": form_of(shape, Purpose.INDEX, derivable=False, compact=False),
        "packed": form_of(shape, Purpose.TABLE, derivable=False, compact=False),
    }
    return {name: form or PLAIN_FORM for name, form in forms.items()}


def _write(backend: Backend, batches: Sequence[Batch], form: BlockForm, name: str) -> int:
    draft = merge_to_draft(backend, batches, META, form)
    _, size = draft.publish(name)
    return size


def _opener(backend: Backend, name: str) -> Callable[[], Batch]:
    def opened() -> Batch:
        columns = Segment.open(backend, name).columns(0, Pool(), searched=WORDS)
        return stored_batch(columns, None)

    return opened


def _cold(folder: Path, opened: Callable[[], Batch]) -> Callable[[], Batch]:
    """The batch, with its file dropped from the system's cache."""

    def dropped() -> Batch:
        for path in (folder / "segments").iterdir():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
        return opened()

    return dropped


def _figures(rows: Rows, batch: Callable[[], Batch], repeats: int, merge: float, size: float) -> Figures:
    rng = np.random.default_rng(2)

    def lookup(count: int) -> float:
        asked, opened = rows.asked(rng, count), batch()
        keys = Hashes(asked, asked * np.uint64(0x9E3779B97F4A7C15))
        began = time.perf_counter()
        found = sum(_gathered(opened, keys))
        assert found == count
        return (time.perf_counter() - began) * 1000

    one = float(np.median([lookup(1) for _ in range(3 * repeats)]))
    many = float(np.median([lookup(10_000) for _ in range(repeats)]))
    opened = batch()
    took = timed_ms(lambda: sum(len(piece) for piece in scan(opened)), 1) / 1000
    return Figures(one, many, len(rows) / took / 1e6, merge, size)


def _gathered(batch: Batch, keys: Hashes) -> Iterator[int]:
    """Looks keys up and takes all values of their rows."""
    for matches in lookup_rows([batch], keys):
        taken: list[pa.Array] = [gather(column, numbers(matches.row)) for column in matches.batch.values]
        yield len(taken[0])
