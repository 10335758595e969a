"""A crash at every single write: what was acknowledged is there, every step happened once or not at all."""

from __future__ import annotations

import pytest

from penstock.schedule.change_log import STEP_COLUMN
from penstock.zset import HashSeed
from tests.pipeline.faults import Crash, CrashingBackend
from tests.pipeline.story import NAMES, STEPS, changes, check, coordinator, live
from tests.schedule.inline import Resident, Staged, zset_of
from tests.schedule.shop import program

SEED = HashSeed(0x0F1E2D3C4B5A6978, 0x1122334455667788)


@pytest.fixture(autouse=True)
def same_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every telling draws the same seed, so that it spreads rows alike and makes the same writes."""
    monkeypatch.setattr(HashSeed, "random", staticmethod(lambda: SEED))


def whole_story(kind: type[Resident], interval_s: float = 1e9) -> CrashingBackend:
    """The story without a crash, to see what it writes."""
    backend = CrashingBackend()
    driver = coordinator(backend, kind, commit_interval_s=interval_s)
    driver.open()
    live(driver)
    check(driver, STEPS)
    driver.close()
    assert backend.writes > 10
    return backend


def interrupted(kind: type[Resident], at: int, how: str, interval_s: float = 1e9) -> bool:
    """The story killed at a write, opened again by other workers, and told to its end; whether there was such
    a write (versions in passing are made at the pace of another thread)."""
    backend = CrashingBackend(at, how)
    driver = coordinator(backend, kind, commit_interval_s=interval_s)
    crashed = False
    try:
        driver.open()
        live(driver)
        driver.close()
    except Crash:
        crashed = True
    acknowledged = driver.step
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


@pytest.mark.parametrize("chain", [0, 1], ids=["every version whole", "every other version whole"])
def test_killed_while_the_index_of_changes_is_written(chain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole versions write a page first, and here every second page is merged with the one before."""
    monkeypatch.setattr("penstock.storage.version_store.CHAIN", chain)
    monkeypatch.setattr("penstock.storage.change_pages.FAN", 2)
    story = whole_story(Resident, 0.0)
    assert [name for name in story.list("changes/") if int(name[8:18]) > 1]
    for at in range(1, story.writes + 1):
        assert interrupted(Resident, at, "before", 0.0)


def test_killed_while_versions_are_made_in_passing() -> None:
    writes = whole_story(Resident, 1e-9).writes
    crashes = [interrupted(Resident, at, "before", 1e-9) for at in range(1, writes + 1)]
    assert sum(crashes) >= writes // 2


def test_killed_in_the_middle_of_recording_a_step() -> None:
    appends = whole_story(Resident).appends
    assert len(appends) >= 2 * STEPS  # the input, and that it was acknowledged
    for at in appends:
        assert interrupted(Resident, at, "torn")


def test_leftovers_of_a_crashed_commit_are_collected() -> None:
    backend = CrashingBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    backend.at = backend.writes + 3  # both workers have written their segments, the manifest is not there
    with pytest.raises(Crash):
        driver.commit()
    orphans = set(backend.list("segments/")) - driver.store.segments(driver.store.version)
    assert orphans
    backend.survive()
    again = coordinator(backend)
    again.open()
    live(again)
    again.commit()
    again.commit()
    assert not orphans & set(backend.list("segments/"))
    check(again, STEPS)


ADDED = ("by_n", "whole", "deep", "kinds")
MORE = program(*NAMES, *ADDED)


def before_the_fill(backend: CrashingBackend, kind: type[Resident]) -> None:
    """The story without the added views: the last step of all is in the log only."""
    driver = coordinator(backend, kind)
    driver.open()
    live(driver)
    driver.kill()


def after_the_fill(backend: CrashingBackend, kind: type[Resident], workers: int) -> dict[str, object]:
    """Opens the story with the added views; what they hold."""
    driver = coordinator(backend, kind, workers=workers, of=MORE)
    driver.open()
    check(driver, STEPS)  # no step of the old views is missing or there twice, nor has any change been added
    found = {name: zset_of(driver.read(name)) for name in ADDED}
    for name in ADDED:  # what a view was filled with is its first change, and the replayed steps follow
        assert zset_of(changes(driver, name).drop_columns([STEP_COLUMN])) == found[name]
    driver.close()
    return found


@pytest.mark.parametrize("kind", [Resident, Staged], ids=["resident", "staged"])
def test_killed_before_any_write_of_a_fill(kind: type[Resident]) -> None:
    whole = CrashingBackend()
    before_the_fill(whole, kind)
    start = whole.writes
    expected = after_the_fill(whole, kind, 3)
    assert expected == told_from_the_start() and all(map(len, expected.values()))  # type: ignore[arg-type]
    stride = 1 if kind is Resident else 5
    for at in range(start + 1, whole.writes + 1, stride):
        backend = CrashingBackend()
        before_the_fill(backend, kind)
        backend.at = at
        with pytest.raises(Crash):
            after_the_fill(backend, kind, 3)
        backend.survive()
        assert after_the_fill(backend, kind, 2) == expected, at


def told_from_the_start() -> dict[str, object]:
    driver = coordinator(CrashingBackend(), of=MORE)
    driver.open()
    live(driver)
    return {name: zset_of(driver.read(name)) for name in ADDED}
