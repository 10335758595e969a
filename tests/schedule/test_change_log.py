"""What a worker still holds of the changes of views, as versions are made and published or not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.schedule.change_log import STEP_COLUMN, ChangeLog, add_changes, read_changes
from penstock.storage import MemoryBackend, Segment, SegmentWriter
from penstock.zset import ZSet

SCHEMA = pa.schema([("x", pa.int64())])


def change(value: int) -> dict[str, ZSet]:
    return {"v": ZSet(SCHEMA, (pa.array([value], pa.int64()),), np.ones(1, np.int64))}


def steps(parts: tuple[pa.RecordBatch, ...] | list[pa.RecordBatch]) -> list[int]:
    return [part.column(STEP_COLUMN)[0].as_py() for part in parts]


def filled(log: ChangeLog, *numbers: int) -> ChangeLog:
    for step in numbers:
        log.accept(step, change(step))
    return log


def test_a_version_has_what_came_since_the_one_before() -> None:
    log = filled(ChangeLog(100), 0, 1)
    assert steps(log.unwritten(1)["v"]) == [0, 1]
    filled(log, 2)
    assert steps(log.since("v", 0)) == [1, 2]  # the manifest may not be there yet
    assert steps(log.unwritten(2)["v"]) == [2]
    assert steps(log.unwritten(2)["v"]) == [2]  # nobody published it
    assert log.unwritten(3) == {}


def test_a_step_that_failed_and_came_again_is_not_taken_for_written() -> None:
    log = filled(ChangeLog(100), 0)
    log.unwritten(1)
    filled(log, 1)  # begun before the version was made, failed, and ran again after it
    assert steps(log.unwritten(2)["v"]) == [1]


def test_only_retained_steps_are_held_and_empty_changes_not_at_all() -> None:
    log = filled(ChangeLog(2), 0, 1, 2)
    assert steps(log.since("v", -1)) == [1, 2]
    log.accept(3, {"v": ZSet.empty(SCHEMA)})
    assert steps(log.unwritten(1)["v"]) == [2]
    log.clear()
    assert log.since("v", -1) == [] and log.unwritten(1) == {}


def test_many_changes_are_stored_compressed_and_few_as_they_are() -> None:
    backend = MemoryBackend()
    rows = pa.record_batch(
        {
            "t": [f"a text that repeats {n % 7}" for n in range(20_000)],
            "d": pa.array(range(20_000), pa.duration("us")),
            "s": pa.array([{}] * 20_000, pa.struct([])),
            "l": pa.array([[n] for n in range(20_000)], pa.list_(pa.field("element", pa.int64()))),
        }
    )
    writer = SegmentWriter(backend, "segments/0000000001-w0000-x.seg")
    many, few = add_changes(writer, "v", rows), add_changes(writer, "v", rows.slice(0, 3))
    writer.finish()
    segment = Segment.open(backend, writer.name)
    assert [entry.kind for entry in segment.entries] == ["packed changes", "changes"]
    assert segment.entries[many].length < rows.nbytes / 3
    for number, expected in ((many, rows), (few, rows.slice(0, 3))):
        found = read_changes(segment, number)
        assert found.schema == rows.schema and found.equals(expected)
