"""Workers lost at every single call: the next gang takes over and nobody can tell from the results."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.errors import MissingRow, PipelineError, StorageError, VersionLate, WorkerLost
from penstock.storage import MemoryBackend
from tests.pipeline.faults import LosingResident, LosingStaged
from tests.pipeline.story import CONTENTS, PROGRAM, STEPS, changes, check, coordinator, inputs, live
from tests.schedule.inline import Resident, zset_of
from tests.schedule.shop import Shop, U, program


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def calls_of_the_story(kind: type[Resident], interval_s: float) -> int:
    driver = coordinator(MemoryBackend(), kind, commit_interval_s=interval_s)
    driver.open()
    live(driver)
    driver.read("by_k")
    return int(driver.runtime.calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("kind", "interval_s"),
    [(LosingResident, 1e9), (LosingResident, 1e-9), (LosingStaged, 1e9)],
    ids=["resident", "resident, versions in passing", "staged"],
)
def test_workers_lost_at_any_call(kind: type[Resident], interval_s: float, after: bool) -> None:
    for at in range(1, calls_of_the_story(kind, interval_s) + 1):
        driver = coordinator(MemoryBackend(), kind, commit_interval_s=interval_s)
        driver.runtime.lose_at, driver.runtime.lose_after = at, after  # type: ignore[attr-defined]
        driver.open()
        live(driver)
        driver.read("by_k")
        assert driver.restarts == 1, f"call {at}"
        check(driver, STEPS)
        driver.close()


def test_workers_lost_while_new_views_are_filled_and_committed() -> None:
    backend = MemoryBackend()
    first = coordinator(backend, of=program("by_k"))
    first.open()
    live(first, 2)
    first.kill()  # the last step is in the log only
    probe = coordinator(_copy(backend), LosingResident)
    probe.open()
    for after in (False, True):
        for at in range(1, probe.runtime.calls + 1):  # type: ignore[attr-defined]
            driver = coordinator(_copy(backend), LosingResident)
            driver.runtime.lose_at, driver.runtime.lose_after = at, after  # type: ignore[attr-defined]
            driver.open()
            assert driver.restarts == 1
            live(driver)
            for name in PROGRAM.circuit.views:
                assert zset_of(driver.read(name)) == CONTENTS[STEPS][name], (at, after, name)
            driver.close()


def _copy(backend: MemoryBackend) -> MemoryBackend:
    other = MemoryBackend()
    other._files = dict(backend._files)
    return other


def test_workers_that_cannot_be_started_stop_the_pipeline_with_a_message() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, LosingResident)
    driver.open()
    live(driver, 2)

    def refuse(body: object) -> None:
        raise WorkerLost("no slots")

    driver.runtime.gone = True  # type: ignore[attr-defined]
    opens, driver.runtime.open = driver.runtime.open, refuse  # type: ignore[method-assign]
    with pytest.raises(PipelineError, match="3 times in a row: no slots"):
        driver.run_step(inputs(driver.store.seed)[2])
    driver.runtime.open = opens  # type: ignore[method-assign]
    assert (
        driver.run_step(inputs(driver.store.seed)[2]).step == 3
    )  # slots are back, step 2 is run from the log
    check(driver, 3)


def test_a_step_that_fails_on_bad_data_uses_its_number_again() -> None:
    driver = coordinator(MemoryBackend())
    driver.open()
    live(driver, 2)
    shop = Shop(driver.store.seed, u=[("nowhere", 1)])
    with pytest.raises(MissingRow):
        driver.run_step(shop.input((U, [("nowhere", 1)], -1)))
    check(driver, 2)
    live(driver)
    check(driver, STEPS)


def test_a_record_that_fails_means_that_the_step_did_not_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = coordinator(MemoryBackend())
    driver.open()
    live(driver, 2)

    def full(step: int, parts: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(driver.store, "record", full)
        with pytest.raises(OSError, match="no space"):
            driver.run_step(inputs(driver.store.seed)[2])
    check(driver, 2)
    live(driver)
    check(driver, STEPS)


@pytest.mark.parametrize("kind", [LosingResident, LosingStaged])
def test_a_manifest_that_cannot_be_written_costs_nothing_but_the_version(
    kind: type[Resident], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = coordinator(MemoryBackend(), kind, commit_interval_s=0.0)
    driver.open()
    live(driver, 2)
    version = driver.store.version

    def full(body: object) -> None:
        raise StorageError("manifest: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(driver.store, "publish", full)
        report = driver.run_step(inputs(driver.store.seed)[2])
        assert (report.step, report.committed) == (3, False)
        assert report.late is not None and report.late.step == 3
        assert "steps up to 3 are done and safe" in str(report.late) and "no space left" in str(report.late)
        with pytest.raises(VersionLate, match="no space left"):
            driver.commit()
    assert (driver.step, driver.store.version) == (3, version)
    driver.commit()
    assert driver.late is None
    check(driver, STEPS)
    driver.close()
    again = coordinator(driver.store.backend, kind)  # type: ignore[arg-type]
    again.open()
    check(again, STEPS)


def test_a_late_version_is_not_the_error_of_a_staged_step_that_did_not_happen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = coordinator(MemoryBackend(), LosingStaged)
    driver.open()
    live(driver, 1)
    with monkeypatch.context() as patch:
        patch.setattr(driver.store, "publish", full)
        assert driver.run_step(inputs(driver.store.seed)[1]).late is not None
        for ask in (
            lambda: driver.run_step(inputs(driver.store.seed)[2]),
            lambda: driver.read("by_k"),
            lambda: driver.recent_changes("by_k", 0),
        ):
            with pytest.raises(PipelineError, match="that of step 2 could not be made: no space left"):
                ask()
        assert driver.step == 2
    live(driver)
    check(driver, STEPS)
    driver.close()


def test_changes_that_a_version_holds_are_not_asked_of_the_workers() -> None:
    driver = coordinator(MemoryBackend(), LosingResident)
    driver.open()
    live(driver)
    driver.commit()
    calls = driver.runtime.calls  # type: ignore[attr-defined]
    table = changes(driver, "by_k")
    assert table.num_rows
    assert driver.recent_changes("by_k", -1).schema == table.schema
    assert driver.runtime.calls == calls  # type: ignore[attr-defined]


def test_a_version_that_was_published_though_it_raised_is_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = coordinator(MemoryBackend(), LosingResident)
    driver.open()
    live(driver, 2)
    publish = driver.store.publish

    def unsynced(body: Any) -> None:
        publish(body)
        raise StorageError("the folder cannot be synced")

    with monkeypatch.context() as patch:
        patch.setattr(driver.store, "publish", unsynced)
        patch.setattr(driver.store, "is_published", full)
        with pytest.raises(VersionLate, match="cannot be synced"):
            driver.commit()
        assert driver.late is not None
    driver.commit()  # it was this writer: the version is found, and the next one follows it
    assert driver.late is None
    live(driver)
    check(driver, STEPS)
    driver.close()
    again = coordinator(driver.store.backend)  # type: ignore[arg-type]
    again.open()
    check(again, STEPS)


def full(*_: object) -> bool:
    raise StorageError("no space left on device")


def test_whatever_fails_while_closing_the_log_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver, 2)
    driver._begin_version()

    def fails() -> None:
        raise StorageError("the disk fails")

    monkeypatch.setattr(driver._versions, "close", fails)
    with pytest.raises(StorageError, match="the disk fails"):
        driver.kill()
    again = coordinator(backend)
    again.open()
    check(again, 2)
    again.kill()
