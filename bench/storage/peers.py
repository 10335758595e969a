"""RocksDB and LMDB with the rows of the benchmark, through the Python packages that people use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.storage.rows import PACKED, Figures, Rows, timed_ms

__all__ = ["measure_lmdb", "measure_rocksdb"]

REPEATS = 7
AT_ONCE = 100_000


def measure_rocksdb(rows: Rows, folder: Path) -> Figures:
    """As it comes, with its own Bloom filters and block cache switched on."""
    from rocksdict import AccessType, BlockBasedOptions, Cache, Options, Rdict, WriteBatch

    table = BlockBasedOptions()
    table.set_block_cache(Cache(2 << 30))
    table.set_bloom_filter(10, block_based=False)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    db = Rdict(str(folder), options, access_type=AccessType.read_write())

    def write(some: Rows) -> float:
        began = time.perf_counter()
        for keys, values in _pairs(some):
            batch = WriteBatch(raw_mode=True)
            for key, value in zip(keys, values, strict=True):
                batch.put(key, value)
            db.write(batch)
        db.flush()
        return time.perf_counter() - began

    write(rows)
    db.compact_range(None, None)
    rng = np.random.default_rng(2)

    def lookup(count: int) -> object:
        asked = _bytes(rows.asked(rng, count))
        return np.frombuffer(b"".join(db[asked]), PACKED)

    one, many = timed_ms(lambda: lookup(1), 50), timed_ms(lambda: lookup(10_000), REPEATS)
    began = time.perf_counter()
    scanned = sum(1 for _ in db.values())
    scan = scanned / (time.perf_counter() - began) / 1e6
    size = sum(path.stat().st_size for path in folder.iterdir())
    took = write(_more(rows))
    began = time.perf_counter()
    db.compact_range(None, None)
    took += time.perf_counter() - began
    db.close()
    return Figures(one, many, scan, len(rows) * 1.1 / took / 1e6, size / len(rows))


def measure_lmdb(rows: Rows, folder: Path) -> Figures:
    """Sorted keys are appended, the quickest way in."""
    import lmdb

    folder.mkdir()
    db = lmdb.open(str(folder), map_size=8 << 30, sync=False)

    def write(some: Rows, *, append: bool) -> float:
        began = time.perf_counter()
        for keys, values in _pairs(some):
            with db.begin(write=True) as transaction:
                transaction.cursor().putmulti(zip(keys, values, strict=True), append=append)
        db.sync(True)
        return time.perf_counter() - began

    write(rows, append=True)
    rng = np.random.default_rng(2)

    def lookup(count: int) -> object:
        with db.begin() as transaction:
            found = transaction.cursor().getmulti(_bytes(rows.asked(rng, count)))
            return np.frombuffer(b"".join(value for _, value in found), PACKED)

    one, many = timed_ms(lambda: lookup(1), 50), timed_ms(lambda: lookup(10_000), REPEATS)
    with db.begin() as transaction:
        began = time.perf_counter()
        scanned = sum(1 for _ in transaction.cursor().iternext(keys=False, values=True))
        scan = scanned / (time.perf_counter() - began) / 1e6
    size = db.info()["last_pgno"] * db.stat()["psize"]
    more = _more(rows)
    took = write(more, append=False)
    db.close()
    return Figures(one, many, scan, len(more) / took / 1e6, size / len(rows))


def _more(rows: Rows) -> Rows:
    return Rows.random(len(rows) // 10, seed=9)


def _bytes(keys: np.ndarray) -> list[bytes]:
    text = keys.astype(">u8").tobytes()
    return [text[at : at + 8] for at in range(0, len(text), 8)]


def _pairs(rows: Rows) -> Iterator[tuple[list[bytes], list[bytes]]]:
    width = PACKED.itemsize
    packed = rows.packed()
    for start in range(0, len(rows), AT_ONCE):
        values = packed[start : start + AT_ONCE].tobytes()
        keys = _bytes(rows.key[start : start + AT_ONCE])
        yield keys, [values[at : at + width] for at in range(0, len(values), width)]
