"""Versions made in passing: steps do not wait for them, and each holds exactly the steps before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock.trace.spine as spine
from penstock import Pipeline
from penstock.errors import StorageError
from penstock.pipeline.store import PipelineStore
from penstock.schedule.opening import Opening, Written
from penstock.storage import MemoryBackend, read_log
from tests.pipeline.story import CONTENTS, NAMES, STEPS, check, coordinator, inputs, live
from tests.schedule.inline import Resident, zset_of

SOON = 1e-9


class Prompt(Resident):
    """Workers that have written when the next step is run."""

    def written(self) -> list[Written] | None:
        return self.finish_commit()


def test_a_version_holds_the_step_after_which_it_was_begun() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, commit_interval_s=SOON)
    driver.open()
    for step in range(1, STEPS + 1):
        live(driver, step)
        driver._versions.advance()  # the manifest may be under way
        store = PipelineStore(backend, "story")
        assert store.step < driver.step or step == 1
        old = Resident(driver.program, 2, backend, store.seed)
        old.open(Opening.of(store.version))
        for name in (*NAMES, "t", "u"):
            assert zset_of(old.read(name)) == CONTENTS[store.step][name], (step, store.step, name)
    check(driver, STEPS)
    driver.close()
    assert PipelineStore(backend, "story").step == STEPS


def test_steps_go_on_while_a_version_is_being_written() -> None:
    driver = coordinator(MemoryBackend(), commit_interval_s=SOON)
    driver.open()
    driver.runtime.written = lambda: None  # type: ignore[method-assign] # a disk that takes its time
    live(driver)
    assert driver.store.step < STEPS
    check(driver, STEPS)
    driver.rest()
    assert 0 < driver.store.step < STEPS  # what was begun first
    check(driver, STEPS)


def test_the_log_keeps_the_steps_that_came_while_a_version_was_made() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, commit_interval_s=SOON)
    driver.open()
    live(driver)
    driver.rest()
    recorded = [step for step, _ in read_log(backend, "input")]
    assert recorded[-1] == STEPS
    assert set(range(driver.store.step + 1, STEPS + 1)) <= set(recorded)
    driver.kill()
    again = coordinator(backend)
    again.open()
    check(again, STEPS)


def test_batches_are_merged_while_versions_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spine, "LARGE", 1)
    monkeypatch.setattr(spine, "RARE", 0)
    backend = MemoryBackend()
    driver = coordinator(backend, commit_interval_s=SOON)
    driver.open()
    for step in range(1, STEPS + 1):
        live(driver, step)
        check(driver, step)
    driver.close()
    again = coordinator(backend, workers=3)
    again.open()
    check(again, STEPS)


@pytest.mark.parametrize("part", ["publish", "written"])
def test_a_version_that_cannot_be_made_is_late_and_no_step_fails_for_it(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = coordinator(MemoryBackend(), Prompt, commit_interval_s=SOON)
    driver.open()
    version = driver.store.version

    def full(*arguments: Any) -> None:
        raise StorageError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(driver.store if part == "publish" else driver.runtime, part, full)
        late = []
        for step_input in inputs(driver.store.seed):
            late.append(driver.run_step(step_input).late)
            driver._versions._pool.submit(lambda: None).result()  # the thread has tried
        check(driver, STEPS)
        assert late[0] is None and "no space left" in str(late[-1])
        assert late[-1] is driver.late
    assert driver.store.version == version
    driver.close()
    assert driver.late is None
    again = coordinator(driver.store.backend)  # type: ignore[arg-type]
    again.open()
    check(again, STEPS)


def test_workers_write_in_passing_and_a_crash_afterwards_loses_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    pipe = Pipeline("p", tmp_path / "state", workers=2, spark=spark, commit_interval_s=SOON)
    pipe.sql(
        "CREATE TABLE t (k INT PRIMARY KEY, v INT);"
        "CREATE MATERIALIZED VIEW w AS SELECT v, count(*) AS n FROM t GROUP BY v"
    )
    run = pipe.run()
    for number in range(40):
        run.insert("t", [{"k": number, "v": number % 7}])
        run.step()
    status = run.status()
    assert 0 < status.committed_step < status.step and status.version > 5
    expected = sorted((v, len(range(v, 40, 7))) for v in range(7))
    assert sorted((row["v"], row["n"]) for row in run.read("w").to_pylist()) == expected
    changes = run.changes("w").num_rows
    run.kill()
    with pipe.run() as again:
        assert sorted((row["v"], row["n"]) for row in again.read("w").to_pylist()) == expected
        assert again.changes("w").num_rows == changes
        assert again.verify()
