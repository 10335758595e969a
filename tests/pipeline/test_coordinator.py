"""The coordinator over in-process workers: what is a step, what is a version, and what the next run finds.

Losses, crashes, interrupts and damage at every point have files of their own (``test_losses``,
``test_crashes``, ``test_interrupts``, ``test_damage``)."""

from __future__ import annotations

import pytest

from penstock.circuit.operation import Operation
from penstock.errors import DuplicateKey, StorageError, VersionLate
from penstock.pipeline.store import PipelineStore
from penstock.storage import MemoryBackend
from tests.pipeline.story import CONTENTS, NAMES, STEPS, check, coordinator, inputs, live
from tests.schedule.inline import Resident, Staged, zset_of
from tests.schedule.shop import Shop, T, U, program

KINDS = pytest.mark.parametrize("kind", [Resident, Staged])


@KINDS
def test_contents_and_changes_are_right_after_every_step(kind: type[Resident]) -> None:
    driver = coordinator(MemoryBackend(), kind)
    driver.open()
    for step in range(1, STEPS + 1):
        live(driver, step)
        check(driver, step)
    driver.close()


def test_a_run_that_was_killed_is_replayed_from_the_log_and_one_that_was_closed_is_not() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    assert driver.store.step < STEPS  # or this shows nothing
    driver.kill()
    driver.kill()
    again = coordinator(backend)
    assert again.has_logged_steps()
    again.open()
    check(again, STEPS)
    again.close()
    closed = coordinator(backend)
    assert not closed.has_logged_steps()
    assert closed.store.step == STEPS
    closed.open()
    check(closed, STEPS)
    closed.kill()


@pytest.mark.parametrize("workers", [1, 3])
def test_another_number_of_workers_goes_on_from_the_same_state(workers: int) -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, workers=2)
    driver.open()
    live(driver, 2)
    driver.kill()
    other = coordinator(backend, workers=workers)
    other.open()
    check(other, 2)
    live(other)
    check(other, STEPS)
    other.close()


def test_a_view_that_is_new_is_filled_from_the_tables_before_logged_steps_are_run() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, of=program("by_k"))
    driver.open()
    live(driver)  # the last steps are in the log only
    driver.kill()
    more = coordinator(backend)
    more.open()
    assert more.step == STEPS
    for name in NAMES:
        assert zset_of(more.read(name)) == CONTENTS[STEPS][name]
    more.close()


def test_a_step_reports_what_it_did() -> None:
    driver = coordinator(MemoryBackend())
    driver.open()
    shop = Shop(driver.store.seed)
    report = driver.run_step(
        shop.input((T, [(1, "a", 1.5), (2, "b", 2.5)], Operation.UPSERT), (T, [(9, None, None)], -1))
    )
    assert (report.step, report.input_rows, report.committed, report.late) == (1, 3, False, None)
    assert report.absent_keys == {"t": 1}
    assert report.changed_rows["by_k"] == 2 and not report.changed_rows.get("pairs")
    parts = report.duration_ms
    assert parts["step"] >= max(parts["run"], parts["log"], parts["commit"])
    driver.close()


@KINDS
def test_with_no_interval_every_step_is_a_version(kind: type[Resident]) -> None:
    driver = coordinator(MemoryBackend(), kind, commit_interval_s=0)
    driver.open()
    for step, step_input in enumerate(inputs(driver.store.seed), start=1):
        assert driver.run_step(step_input).committed
        assert driver.store.step == step
    driver.kill()


def test_a_step_that_a_table_refuses_did_not_happen() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    shop = Shop(driver.store.seed)
    driver.run_step(shop.input((T, [(1, "a", 1.5)], Operation.INSERT)))
    refused = Shop(driver.store.seed).input((U, [("a", 5)], 1), (T, [(1, "b", 0.0)], Operation.INSERT))
    with pytest.raises(DuplicateKey):
        driver.run_step(refused)
    assert driver.step == 1 and driver.restarts == 0
    for name in (*NAMES, "t", "u"):
        assert zset_of(driver.read(name)) == shop.contents(name)
    driver.kill()
    again = coordinator(backend)
    again.open()
    assert again.step == 1  # nor is it in the log
    again.kill()


def test_changes_are_kept_for_as_many_steps_as_was_asked_for() -> None:
    driver = coordinator(MemoryBackend(), retained_steps=1)
    driver.open()
    live(driver)
    assert driver.changes_after == STEPS - 1
    assert set(driver.times) == {STEPS}
    driver.commit()
    assert driver.changes_after == STEPS - 1
    assert driver.recent_changes("by_k", STEPS).num_rows == 0
    driver.close()


def test_a_version_that_cannot_be_made_is_told_and_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver, 2)

    def full(*_: object) -> None:
        raise StorageError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(backend, "write_new", full)
        with pytest.raises(VersionLate, match="no space left"):
            driver.commit()
    assert driver.late is not None
    live(driver)
    check(driver, STEPS)
    driver.commit()
    assert driver.late is None and PipelineStore(backend, "story").step == STEPS
    driver.close()
