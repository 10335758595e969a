"""A crash at every single write: what was acknowledged is there, every step happened once or not at all."""

from __future__ import annotations

import pytest

from penstock.pipeline.store import segments_of
from penstock.zset import HashSeed
from tests.pipeline.faults import Crash, CrashingBackend
from tests.pipeline.story import STEPS, check, coordinator, live
from tests.schedule.inline import Resident, Staged

SEED = HashSeed(0x0F1E2D3C4B5A6978, 0x1122334455667788)


@pytest.fixture(autouse=True)
def same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every telling draws the same seed, so that it spreads rows alike and makes the same writes."""
    monkeypatch.setattr(HashSeed, "random", staticmethod(lambda: SEED))


def whole_story(kind: type[Resident], interval_s: float = 1e9) -> CrashingBackend:
    """The story without a crash, to see what it writes."""
    backend = CrashingBackend()
    told = coordinator(backend, kind, commit_interval_s=interval_s)
    told.open()
    live(told)
    check(told, STEPS)
    told.close()
    assert backend.writes > 10
    return backend


def interrupted(kind: type[Resident], at: int, how: str, interval_s: float = 1e9) -> bool:
    """The story killed at a write, opened again by other workers, and told to its end; whether there was such
    a write (versions in passing are made at the pace of another thread)."""
    backend = CrashingBackend(at, how)
    told = coordinator(backend, kind, commit_interval_s=interval_s)
    crashed = False
    try:
        told.open()
        live(told)
        told.close()
    except Crash:
        crashed = True
    acknowledged = told.step
    backend.survive()
    again = coordinator(backend, kind, workers=3)
    again.open()
    assert acknowledged <= again.step <= acknowledged + 1, f"write {at}, {how}"
    check(again, again.step)
    live(again)
    check(again, STEPS)
    again.close()
    return crashed


@pytest.mark.parametrize(("kind", "stride"), [(Resident, 1), (Staged, 6)], ids=["resident", "staged"])
def test_killed_before_any_write_and_opened_again(kind: type[Resident], stride: int) -> None:
    for at in range(1, whole_story(kind).writes + 1, stride):
        assert interrupted(kind, at, "before")


def test_killed_while_versions_are_made_in_passing() -> None:
    writes = whole_story(Resident, 1e-9).writes
    crashes = [interrupted(Resident, at, "before", 1e-9) for at in range(1, writes + 1)]
    assert sum(crashes) >= writes // 2


def test_killed_in_the_middle_of_recording_a_step() -> None:
    appends = whole_story(Resident).appends
    assert len(appends) == STEPS
    for at in appends:
        assert interrupted(Resident, at, "torn")


def test_leftovers_of_a_crashed_commit_are_collected() -> None:
    backend = CrashingBackend()
    told = coordinator(backend)
    told.open()
    live(told)
    backend.at = backend.writes + 3  # both workers have written their segments, the manifest is not there
    with pytest.raises(Crash):
        told.commit()
    orphans = set(backend.list("segments/")) - segments_of(told.store.body)
    assert orphans
    backend.survive()
    again = coordinator(backend)
    again.open()
    live(again)
    again.commit()
    again.commit()
    assert not orphans & set(backend.list("segments/"))
    check(again, STEPS)
