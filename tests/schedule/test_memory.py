"""The budget of a worker's memory, and what happens beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.trace.form as form
import penstock.trace.spine as spines
from penstock.pipeline.coordinator import Coordinator
from penstock.schedule import memory
from penstock.schedule.memory import LEAST_BYTES, MemoryBudget, usual_budget
from penstock.storage import MemoryBackend, Segment, VersionStore
from penstock.trace import Held, Spine
from penstock.trace.stored import BLOCKS
from tests.pipeline.story import STEPS, check, coordinator, live
from tests.schedule.inline import Resident


def test_blocks_take_what_batches_leave_and_always_a_quarter() -> None:
    budget = MemoryBudget(1000)
    assert budget.blocks(0) == 625 and budget.blocks(300) == 325 and budget.blocks(5000) == 250
    assert budget.merged < budget.batches < budget.most < budget.total


def test_workers_share_half_of_the_memory_of_the_machine_or_of_its_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_GROUP_LIMIT", limit)
    whole = memory.machine_memory()
    assert usual_budget(2) == whole // 4
    limit.write_text("max\n")
    assert memory.machine_memory() == whole
    limit.write_text(f"{1 << 30}\n")
    assert memory.machine_memory() == 1 << 30 and usual_budget(4) == 1 << 27
    assert usual_budget(1000) == LEAST_BYTES


class Poor(Resident):
    """Workers for whom everything is too much."""

    memory = MemoryBudget(1)


@pytest.fixture
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spines, "SMALL_BYTES", 0)
    monkeypatch.setattr(form, "BLOCKED_ROWS", 1)
    monkeypatch.setattr(form, "COMPACT_ROWS", 1)


@pytest.mark.usefixtures("everything_is_large")
def test_batches_leave_memory_before_a_version_is_made_and_views_stay_right() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, Poor)
    driver.open()
    for step in range(1, STEPS + 1):
        live(driver, step)
        check(driver, step)
        assert backend.list("segments/"), "nothing was committed so far"
        assert all(not held.bytes_in_memory for spine in of(driver) for held in spine.held)
    driver.commit()
    named = {ref.segment for ref in driver.store.version.batches()}
    assert named <= set(backend.list("segments/"))
    driver.close()
    again = coordinator(backend, Poor, workers=3)
    again.open()
    check(again, STEPS)
    again.close()


@pytest.mark.usefixtures("everything_is_large")
def test_what_left_memory_and_is_in_no_version_is_forgotten_by_a_crash() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, Poor)
    driver.open()
    live(driver, 2)
    driver.commit()
    live(driver)
    driver.kill()
    again = coordinator(backend, Poor)
    again.open()
    check(again, STEPS)
    again.commit()
    again.commit()
    versions = VersionStore(backend)
    kept: set[str] = set()
    for number in (*(found.number for found in again.store.earlier), again.store.version.number):
        kept |= set(versions.files(versions.load(number)))
    assert set(backend.list("segments/")) <= kept | segments_of_next(backend, again)
    again.close()


def segments_of_next(backend: MemoryBackend, driver: Coordinator) -> set[str]:
    """Segments for a version that is not made yet."""
    number = driver.store.version.number
    return {name for name in backend.list("segments/") if int(name[9:19]) >= number}


@pytest.mark.usefixtures("everything_is_large")
def test_batches_of_a_version_are_used_from_its_segments_without_writing_them_again() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver, 2)
    driver.commit()
    assert all(held.source is None for spine in of(driver) for held in spine.held)
    stored = {held for spine in of(driver) for held in spine.held if is_in_blocks(backend, held)}
    for worker in driver.runtime.workers:  # type: ignore[attr-defined]
        worker._arrangements._memory = MemoryBudget(1)
        worker._arrangements.make_room()
    assert all(held.source is not None for spine in of(driver) for held in spine.held)
    assert stored and all(held.refs[0].segment == held.source for held in stored)
    assert stored <= {held for spine in of(driver) for held in spine.held}, "they were not filed again"
    check(driver, 2)
    live(driver)
    check(driver, STEPS)
    driver.close()


def test_a_worker_with_many_changes_in_no_version_asks_for_one() -> None:
    driver = coordinator(MemoryBackend(), Poor, commit_interval_s=1000.0)
    driver.open()
    live(driver)
    driver.rest()
    assert driver.store.version.number >= STEPS - 1
    check(driver, STEPS)
    driver.close()


def is_in_blocks(backend: MemoryBackend, held: Held) -> bool:
    """Whether a batch is stored such that it need not be in memory."""
    ref = held.whole_ref
    return ref is not None and Segment.open(backend, ref.segment).entries[ref.entry].kind == BLOCKS


def of(driver: Coordinator) -> list[Spine]:
    """All arrangements of the workers."""
    return [s for worker in driver.runtime.workers for s in worker._arrangements._spines.values()]  # type: ignore[attr-defined]
