"""Workers lost at every single call: the next gang takes over and nobody can tell from the results."""

from __future__ import annotations

import logging

import pytest

from penstock.errors import MissingRow, PipelineError, StorageError, WorkerLost
from penstock.storage import MemoryBackend
from tests.pipeline.faults import LosingResident, LosingStaged
from tests.pipeline.story import CONTENTS, PROGRAM, STEPS, changes, check, coordinator, inputs, live
from tests.schedule.inline import Resident, zset_of
from tests.schedule.shop import Shop, U, program


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def calls_of_the_story(kind: type[Resident], interval_s: float) -> int:
    told = coordinator(MemoryBackend(), kind, commit_interval_s=interval_s)
    told.open()
    live(told)
    told.read("by_k")
    return int(told.runtime.calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(
    ("kind", "interval_s"),
    [(LosingResident, 1e9), (LosingResident, 1e-9), (LosingStaged, 1e9)],
    ids=["resident", "resident, versions in passing", "staged"],
)
def test_workers_lost_at_any_call(kind: type[Resident], interval_s: float, after: bool) -> None:
    for at in range(1, calls_of_the_story(kind, interval_s) + 1):
        told = coordinator(MemoryBackend(), kind, commit_interval_s=interval_s)
        told.runtime.lose_at, told.runtime.lose_after = at, after  # type: ignore[attr-defined]
        told.open()
        live(told)
        told.read("by_k")
        assert told.restarts == 1, f"call {at}"
        check(told, STEPS)
        told.close()


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
            told = coordinator(_copy(backend), LosingResident)
            told.runtime.lose_at, told.runtime.lose_after = at, after  # type: ignore[attr-defined]
            told.open()
            assert told.restarts == 1
            live(told)
            for name in PROGRAM.circuit.views:
                assert zset_of(told.read(name)) == CONTENTS[STEPS][name], (at, after, name)
            told.close()


def _copy(backend: MemoryBackend) -> MemoryBackend:
    other = MemoryBackend()
    other._files = dict(backend._files)
    return other


def test_workers_that_cannot_be_started_stop_the_pipeline_with_a_message() -> None:
    backend = MemoryBackend()
    told = coordinator(backend, LosingResident)
    told.open()
    live(told, 2)

    def refuse(body: object) -> None:
        raise WorkerLost("no slots")

    told.runtime.gone = True  # type: ignore[attr-defined]
    opens, told.runtime.open = told.runtime.open, refuse  # type: ignore[method-assign]
    with pytest.raises(PipelineError, match="3 times in a row: no slots"):
        told.run_step(inputs(told.store.seed)[2])
    told.runtime.open = opens  # type: ignore[method-assign]
    assert told.run_step(inputs(told.store.seed)[2]).step == 3  # slots are back, step 2 is run from the log
    check(told, 3)


def test_a_step_that_fails_on_bad_data_uses_its_number_again() -> None:
    told = coordinator(MemoryBackend())
    told.open()
    live(told, 2)
    shop = Shop(told.store.seed, u=[("nowhere", 1)])
    with pytest.raises(MissingRow):
        told.run_step(shop.input((U, [("nowhere", 1)], -1)))
    check(told, 2)
    live(told)
    check(told, STEPS)


def test_a_record_that_fails_means_that_the_step_did_not_happen(monkeypatch: pytest.MonkeyPatch) -> None:
    told = coordinator(MemoryBackend())
    told.open()
    live(told, 2)

    def full(step: int, parts: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(told.store, "record", full)
        with pytest.raises(OSError, match="no space"):
            told.run_step(inputs(told.store.seed)[2])
    check(told, 2)
    live(told)
    check(told, STEPS)


@pytest.mark.parametrize("kind", [LosingResident, LosingStaged])
def test_a_manifest_that_cannot_be_written_costs_nothing_but_the_version(
    kind: type[Resident], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = coordinator(MemoryBackend(), kind, commit_interval_s=0.0)
    told.open()
    live(told, 2)
    version = told.store.version

    def full(body: object) -> None:
        raise StorageError("manifest: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(told.store, "publish", full)
        with pytest.raises(PipelineError, match="step 3 is done and safe in the input log"):
            told.run_step(inputs(told.store.seed)[2])
    assert (told.step, told.store.version) == (3, version)
    live(told)
    check(told, STEPS)
    told.close()
    again = coordinator(told.store.backend, kind)  # type: ignore[arg-type]
    again.open()
    check(again, STEPS)


def test_changes_that_a_version_holds_are_not_asked_of_the_workers() -> None:
    told = coordinator(MemoryBackend(), LosingResident)
    told.open()
    live(told)
    told.commit()
    calls = told.runtime.calls  # type: ignore[attr-defined]
    table = changes(told, "by_k")
    assert table.num_rows
    assert told.recent_changes("by_k", -1).schema == table.schema
    assert told.runtime.calls == calls  # type: ignore[attr-defined]
