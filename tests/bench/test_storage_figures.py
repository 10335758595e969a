"""The goals of the benchmarks of storage, judged from made-up figures."""

from __future__ import annotations

import pytest

from bench import commits, merging, spill, storage
from bench.picture import draw
from bench.storage.rows import Figures, Rows
from penstock.schedule.storage_counts import StorageCounts


def test_blocks_are_compared_with_memory_and_with_rocksdb() -> None:
    def took(many: float) -> Figures:
        return Figures(0.1, many, 1.0, 1.0, 50.0)

    found = {"in memory": took(5.0), "blocks, warm": took(6.0), "RocksDB": took(42.0)}
    warm, rocksdb = storage.results(found)
    assert (warm.name, warm.figure, warm.met) == ("storage-warm", 1.2, True)
    assert (rocksdb.name, rocksdb.figure, rocksdb.met) == ("storage-rocksdb", 7.0, True)
    assert "RocksDB" in warm.table()


def test_rows_are_sorted_and_their_texts_are_their_numbers() -> None:
    rows = Rows.random(1000)
    assert (rows.key[1:] >= rows.key[:-1]).all()
    a, _, text = rows.columns()
    assert [int(each) for each in text.to_pylist()] == a.to_pylist()


def measured(state: int, step_ms: float, most: int) -> spill.Measured:
    steps = [1000.0] * spill.WARM_UP + [step_ms] * 5
    return spill.Measured(state, 10.0, 100_000, steps, [], [(0.1, 1 << 20), (1.2, most)])


def test_a_spilled_state_is_judged_by_its_largest_worker_its_steps_and_its_size() -> None:
    memory = 100 << 20
    spilled = measured(1700 << 20, 40.0, 600 << 20)
    memory_result, step, state, answers = spill.results(memory, spilled, measured(1, 10.0, 9 << 30))
    assert (memory_result.figure, memory_result.goal, memory_result.met) == (600, 612, True)
    assert step.figure == 4.0 and state.figure == 8.5 and answers.met
    picture = memory_result.picture()
    assert picture is not None and "memory set" in draw(picture)
    spilled.differing.append("totals")
    assert not spill.results(memory, spilled, measured(1, 10.0, 1))[-1].met


def test_versions_count_with_everything_that_was_written_for_them() -> None:
    before = StorageCounts(added_bytes=1000, written_bytes=5000)
    now = StorageCounts(added_bytes=1000 + 300 * 1024, written_bytes=5000 + 600 * 1024)
    row = commits._row(300, before, now, 150 * 1024)
    assert row["x added"] == 2.5 and row["added KB a step"] == 1.0 and row["manifests and pages KB"] == 0.5


def test_steps_beside_a_merge_are_compared_with_quiet_ones() -> None:
    timed = {"nothing": [10.0] * 100, "a merge": [14.0] * 100, "versions": [16.0] * 100}
    merge, version = merging.results(timed)
    assert merge.figure == pytest.approx(1.4) and merge.met
    assert version.figure == pytest.approx(1.6) and not version.met
