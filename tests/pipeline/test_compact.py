"""Compact storage: the same state in a fraction of the space, opened by any number of workers, either way."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock.trace.form as form
from penstock import Pipeline
from penstock.errors import CorruptionError
from penstock.schedule import Worker
from penstock.schedule.state import forget_segments, open_segment
from penstock.storage import MemoryBackend, open_backend
from penstock.trace.stored import BLOCKS
from tests.pipeline.story import STEPS, check, coordinator, live
from tests.schedule.inline import Resident, Staged

ROWS = 60_000


class CompactResident(Resident):
    def make_worker(self, worker: int) -> Worker:
        return Worker(self.program, worker, self.layout, self.backend, self.seed, compact=True)


class CompactStaged(Staged):
    def make_worker(self, worker: int) -> Worker:
        return Worker(self.program, worker, self.layout, self.backend, self.seed, compact=True)


@pytest.fixture
def pack_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "COMPACT_ROWS", 1)


def kinds(backend: MemoryBackend) -> set[str]:
    names = backend.list("segments/")
    return {entry.kind for name in names for entry in open_segment(backend, name).entries}


@pytest.mark.parametrize("kind", [CompactResident, CompactStaged])
def test_packed_state_is_resumed_by_any_number_of_workers(
    kind: type[Resident], pack_everything: None
) -> None:
    backend = MemoryBackend()
    for until, workers in enumerate([2, 1, 3], start=1):
        driver = coordinator(backend, kind, workers=workers)
        driver.open()
        check(driver, until - 1)
        live(driver, until)
        check(driver, until)
        driver.close()
    assert kinds(backend) == {BLOCKS, "changes"}


def test_packed_and_plain_state_live_side_by_side(pack_everything: None) -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, CompactResident)
    driver.open()
    live(driver, 2)
    driver.close()
    plain = coordinator(backend)
    plain.open()
    live(plain)
    plain.close()
    assert kinds(backend) >= {BLOCKS, "batch"}
    again = coordinator(backend, CompactResident, workers=3)
    again.open()
    check(again, STEPS)


def filled(spark: SparkSession, storage: Path, *, compact: bool) -> tuple[Pipeline, int]:
    """A pipeline with some rows in a keyed, a keyless and an append-only table, and the bytes it stores."""
    pipe = Pipeline("p", storage, workers=2, spark=spark, compact=compact)
    pipe.sql("""
        CREATE TABLE keyed (k BIGINT PRIMARY KEY, name STRING, x DOUBLE);
        CREATE TABLE bag (name STRING, x DOUBLE);
        CREATE TABLE events (name STRING, x DOUBLE) TBLPROPERTIES ('appendOnly' = 'true');
        CREATE MATERIALIZED VIEW joined AS SELECT k, b.x FROM keyed JOIN bag b ON keyed.name = b.name;
        CREATE MATERIALIZED VIEW seen AS SELECT name, x + 1 AS y FROM events;
    """)
    names = pa.array([f"name {i // 2}" for i in range(ROWS)])
    numbers = pa.array([float(i % 1000) for i in range(ROWS)])
    with pipe.run() as run:
        run.insert("keyed", pa.table({"k": pa.array(range(ROWS)), "name": names, "x": numbers}))
        run.insert("bag", pa.table({"name": names.slice(0, 1000), "x": numbers.slice(0, 1000)}))
        run.insert("events", pa.table({"name": names, "x": numbers}))
        run.step()
    return pipe, sum(path.stat().st_size for path in (storage / "segments").iterdir())


def test_a_compact_pipeline_takes_less_space_and_answers_alike(spark: SparkSession, tmp_path: Path) -> None:
    _, plain = filled(spark, tmp_path / "plain", compact=False)
    pipe, compact = filled(spark, tmp_path / "compact", compact=True)
    assert compact < plain / 2
    for again in (pipe, Pipeline("p", tmp_path / "compact", workers=1, spark=spark)):
        with again.run() as run:
            first = {"k": again.workers, "name": "name 3", "x": 0.5}
            run.upsert("keyed", [first])
            run.delete("bag", [{"name": "name 3", "x": 6.0}])
            run.insert("bag", [{"name": "name 3", "x": 6.0}])
            run.step()
            assert run.verify()
            assert run.read("keyed").num_rows == run.read("seen").num_rows == ROWS


def test_a_damaged_packed_block_is_named(spark: SparkSession, tmp_path: Path) -> None:
    pipe, _ = filled(spark, tmp_path / "state", compact=True)
    circuit = pipe.program().circuit
    slot = circuit.nodes[circuit.tables["keyed"]].slot(0)
    backend = open_backend(str(tmp_path / "state"))
    [(segment, entry), *_] = [
        (tmp_path / "state" / name, entry)
        for name in backend.list("segments/")
        for entry in open_segment(backend, name).entries
        if entry.kind == BLOCKS and entry.meta["arrangement"] == slot
    ]
    content = bytearray(segment.read_bytes())
    content[entry.offset + entry.length // 2] ^= 1
    segment.write_bytes(content)
    forget_segments()
    with pytest.raises(CorruptionError, match=rf"{segment.name}: block .* is damaged"), pipe.run() as run:
        run.read("keyed")
