"""Going back to a version: it happens or it does not, nothing is mixed, and what was taken out is kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.errors import CorruptionError, InUse, PipelineError
from penstock.pipeline.checking import check_folder
from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.recovery import diagnose, give_up_steps
from penstock.pipeline.restore import plan_restore, restore
from penstock.pipeline.retention import Retain
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.version_list import versions_in
from penstock.storage import Backend, LocalBackend, MemoryBackend, Part, VersionStore, newest_version
from tests.pipeline.faults import Crash
from tests.pipeline.story import NAMES, PROGRAM, STEPS, check, live
from tests.schedule.inline import Resident


def opened(backend: Backend, *, retain: int | None = None, workers: int = 2) -> Coordinator:
    """A pipeline that keeps some versions, opened."""
    store = PipelineStore(backend, "story", Retain(retain, None))
    runtime = Resident(PROGRAM, workers, backend, store.seed)
    driver = Coordinator(
        PROGRAM,
        runtime.layout,
        store,
        runtime,
        catalog={"views": sorted(NAMES)},
        commit_interval_s=1e9,
        retained_steps=100,
    )
    driver.open()
    return driver


def told(backend: Backend) -> dict[int, int]:
    """The story with a version after each step but the last, which is in the log only; step by version."""
    driver = opened(backend, retain=9)
    for step in range(1, STEPS):
        live(driver, step)
        driver.commit()
    live(driver)
    driver.kill()
    store = driver.store
    return {found.number: found.step for found in (*store.earlier, store.version.mark)}


def version_of(steps: dict[int, int], step: int) -> int:
    """The newest version of a step."""
    return max(number for number, at in steps.items() if at == step)


@pytest.fixture(params=["memory", "local"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    return MemoryBackend() if request.param == "memory" else LocalBackend(tmp_path / "state")


@pytest.mark.parametrize("step", range(STEPS))
def test_the_pipeline_goes_on_from_the_version(backend: Backend, step: int) -> None:
    steps = told(backend)
    number = version_of(steps, step)
    plan = plan_restore(backend, number)
    assert (plan.last_step, plan.lost_steps, plan.newest) == (STEPS, STEPS - step, max(steps))
    assert plan.lost_versions == tuple(found for found in steps if found > number)
    made = restore(backend, number)
    assert (made.number, made.step, made.branch) == (max(steps) + 1, step, max(steps) + 1)
    assert not check_folder(backend).problems
    assert diagnose(backend).lost_steps == 0
    driver = opened(backend)
    check(driver, step)
    live(driver, step + 1)
    driver.kill()  # the log of the new branch is replayed
    again = opened(backend, workers=3)
    check(again, step + 1)
    live(again)
    check(again, STEPS)
    again.close()
    assert newest_version(backend).number > made.number  # type: ignore[union-attr]
    assert not check_folder(backend).problems


def test_going_back_twice_and_again(backend: Backend) -> None:
    steps = told(backend)
    first = restore(backend, version_of(steps, 2))
    driver = opened(backend)
    live(driver)
    driver.close()
    restore(backend, version_of(steps, 1))
    driver = opened(backend)
    check(driver, 1)
    driver.kill()
    with pytest.raises(PipelineError, match=f"there is no version {first.number} to go back to; there are"):
        restore(backend, first.number)
    restore(backend, min(steps))
    driver = opened(backend)
    check(driver, steps[min(steps)])
    live(driver)
    check(driver, STEPS)
    driver.close()


def test_nothing_is_lost_by_going_back_to_where_it_is() -> None:
    backend = MemoryBackend()
    steps = told(backend)
    driver = opened(backend)
    driver.close()
    assert not plan_restore(backend, max(steps) + 1).changes_anything
    assert plan_restore(backend, max(steps)).changes_anything


class Fragile(LocalBackend):
    """Dies at the n-th call that changes something, before or after it."""

    at = -1
    after = False
    calls = 0

    def _count(self) -> bool:
        self.calls += 1
        return self.calls == self.at

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        dies = self._count()
        if dies and not self.after:
            raise Crash
        super().write_new(name, parts)
        if dies:
            raise Crash

    def delete(self, name: str) -> None:
        if self._count():
            raise Crash
        super().delete(name)

    def move(self, name: str, to: str) -> None:
        if self._count():
            if self.after:  # linked, and not removed yet
                (self.root / to).parent.mkdir(parents=True, exist_ok=True)
                os.link(self.root / name, self.root / to)
            raise Crash
        super().move(name, to)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_point_it_happened_or_it_did_not(tmp_path: Path, after: bool) -> None:
    outcomes = []
    for at in range(1, 60):
        backend = Fragile(tmp_path / f"{at}")
        steps = told(backend)
        number = version_of(steps, 1)
        backend.at, backend.after = backend.calls + at, after
        try:
            restore(backend, number)
        except Crash:
            pass
        else:
            break
        newest = VersionStore(backend).newest()
        assert newest is not None
        happened = newest.number > max(steps)
        outcomes.append(happened)
        assert not check_folder(backend).problems
        driver = opened(backend)
        check(driver, 1 if happened else STEPS)
        live(driver)
        check(driver, STEPS)
        driver.close()
        assert not check_folder(backend).problems
        assert not [name for name in backend.list("input/") if happened]
    assert outcomes == sorted(outcomes) and len(set(outcomes)) == 2, "before the version, and after it"


def test_what_was_taken_out_can_be_put_back(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    steps = told(backend)
    before = {name: bytes(backend.open(name)) for name in backend.list()}
    made = restore(backend, version_of(steps, 0))
    folder = tmp_path / "discarded" / f"restore-{made.number:010d}"
    backend.delete(f"manifest/{made.number:010d}.json")
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        target = tmp_path / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        file.rename(target)
    assert before.items() <= {name: bytes(backend.open(name)) for name in backend.list()}.items()
    driver = opened(backend)
    check(driver, STEPS)
    driver.close()


def test_it_refuses_while_the_pipeline_runs(backend: Backend) -> None:
    driver = opened(backend)
    live(driver, 1)
    driver.commit()
    before = backend.list()
    with pytest.raises(InUse, match=r"the pipeline 'story' in .* is being run by"):
        restore(backend, driver.store.version.number)
    assert backend.list() == before
    driver.kill()


def test_a_version_with_a_missing_file_is_not_restored() -> None:
    backend = MemoryBackend()
    steps = told(backend)
    number = version_of(steps, 1)
    versions = VersionStore(backend)
    lost = min(versions.segments(versions.load(number)))
    backend.delete(lost)
    with pytest.raises(CorruptionError, match=f"version {number} cannot be restored: {lost} is missing"):
        restore(backend, number)
    assert VersionStore(backend).numbers()[-1] == max(steps)


def test_a_damaged_newest_version_is_a_reason_to_go_back(backend: Backend) -> None:
    steps = told(backend)
    name = f"manifest/{max(steps):010d}.json"
    backend.delete(name)
    backend.write_new(name, [b"garbage"])
    with pytest.raises(CorruptionError, match=name):
        opened(backend)
    found = versions_in(backend)
    assert [info.number for info in found] == list(steps) and name in found[-1].problem
    assert [info.is_openable for info in found] == [True] * (len(steps) - 1) + [False]
    plan = plan_restore(backend, version_of(steps, 1))
    assert name in plan.problem and plan.lost_versions == tuple(n for n in steps if n > plan.version.number)
    assert plan.last_step == STEPS
    restore(backend, plan.version.number)
    driver = opened(backend)
    check(driver, 1)
    live(driver)
    check(driver, STEPS)
    driver.close()


def test_another_process_that_opened_it_before_must_open_it_again() -> None:
    backend = MemoryBackend()
    steps = told(backend)
    stale = PipelineStore(backend, "story")
    restore(backend, version_of(steps, 1))
    with pytest.raises(PipelineError, match=r"was changed by another process .* open it again"):
        stale.open_log()
    driver = opened(backend)  # and it holds nothing
    check(driver, 1)
    driver.close()


def test_decisions_about_discarded_steps_are_not_taken_for_later_ones() -> None:
    backend = MemoryBackend()
    steps = told(backend)
    PipelineStore(backend, "story").skip_file(STEPS, "/old.parquet")
    restore(backend, version_of(steps, 1))
    assert PipelineStore(backend, "story").skipped(STEPS) == set()
    PipelineStore(backend, "story").skip_file(STEPS, "/new.parquet")
    driver = opened(backend)
    assert driver.store.skipped(STEPS) == {"/new.parquet"}
    driver.kill()


def test_steps_that_are_lost_after_a_restore_can_be_given_up() -> None:
    backend = MemoryBackend()
    steps = told(backend)
    restore(backend, version_of(steps, 1))
    driver = opened(backend)
    live(driver)
    driver.kill()
    folder = driver.store.input_folder
    [name] = backend.list(f"{folder}/")
    content = bytes(backend.open(name))
    backend.delete(name)
    backend.write_new(name, [content[: len(content) - 64]])
    with pytest.raises(CorruptionError, match=f"Restore {folder}/ from"):
        opened(backend)
    backend._held.clear()  # the process that could not open it is gone
    assert check_folder(backend).problems[0].file == f"{folder}/"
    give_up_steps(backend)
    driver = opened(backend)
    check(driver, STEPS - 1)
    driver.kill()
