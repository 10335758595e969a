"""What a worker still holds of the changes of views, as versions are made and published or not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.schedule.change_log import STEP_COLUMN, ChangeLog
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
