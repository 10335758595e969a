"""Versions, the input log and garbage: two versions can always be opened, and nothing else is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InUse, PipelineError, StorageError
from penstock.pipeline.opened_version import open_state
from penstock.pipeline.retention import Retain
from penstock.pipeline.store import PipelineStore
from penstock.schedule.opening import Opening
from penstock.storage import (
    BatchRef,
    ChangeBlock,
    ChangeSegment,
    LocalBackend,
    MemoryBackend,
    VersionStore,
    read_log,
)
from penstock.storage.writer_id import writer_id
from tests.pipeline.story import CONTENTS, NAMES, PROGRAM, STEPS, changes, check, coordinator, live
from tests.schedule.inline import Resident, zset_of
from tests.schedule.shop import program


def commit_of(store: PipelineStore, **fields: Any) -> None:
    """Makes the next version, with all that comes after it."""
    store.publish(replace(store.next_version(), **fields))
    store.adopt()
    store.rotate_log()
    store.clean()


def segment(version: int, digit: str) -> str:
    """The name of a segment written for a version."""
    return f"segments/{version:010d}-w0000-{digit * 12}.seg"


def test_a_new_pipeline_has_a_seed_of_its_own_that_stays() -> None:
    backend = MemoryBackend()
    first, other = PipelineStore(backend, "p"), PipelineStore(MemoryBackend(), "p")
    assert first.seed != other.seed
    assert (first.version.number, first.step) == (0, 0)
    commit_of(first, step=0)
    assert PipelineStore(backend, "p").seed == first.seed
    assert PipelineStore(backend, "p").version.number == 1


def test_storage_of_another_pipeline_or_hash_is_refused() -> None:
    backend = MemoryBackend()
    store = PipelineStore(backend, "mine")
    commit_of(store)
    with pytest.raises(PipelineError, match="holds the pipeline 'mine', not 'yours'"):
        PipelineStore(backend, "yours")
    store = PipelineStore(backend, "mine")
    other = replace(store.next_version(), hash_version=99)
    VersionStore(backend).publish(VersionStore(backend).prepare(other))
    with pytest.raises(PipelineError, match="hash version 99"):
        PipelineStore(backend, "mine")


def test_two_writers_cannot_make_the_same_version() -> None:
    backend = MemoryBackend()
    one = PipelineStore(backend, "p")
    commit_of(one)
    other = PipelineStore(backend, "p")
    commit_of(one)
    with pytest.raises(StorageError, match="another writer"):
        commit_of(other)
    assert other.version.number == 1


def test_a_log_has_one_writer_until_it_is_given_up() -> None:
    backend = MemoryBackend()
    one = PipelineStore(backend, "p")
    one.open_log()
    commit_of(one)
    one.record(1, [b"a"])
    other = PipelineStore(backend, "p")
    with pytest.raises(InUse, match="the pipeline 'p' in memory:// is being run by another process"):
        other.open_log()
    one.close()
    other.open_log()
    assert [(step, bytes(frame)) for step, frame in other.recorded(0)] == [(1, b"a")]


def test_a_step_is_recorded_once() -> None:
    store = PipelineStore(MemoryBackend(), "p")
    store.open_log()
    store.record(1, [b"a"])
    store.record(2, [b"b"])
    for step in (1, 2):
        with pytest.raises(PipelineError, match="goes up to step 2 already"):
            store.record(step, [b"again"])
    store.record(3, [b"c"])


def test_the_log_keeps_what_the_last_two_versions_need() -> None:
    backend = MemoryBackend()
    store = PipelineStore(backend, "p")
    store.open_log()
    kept = []
    for step in range(1, 8):
        store.record(step, [b"%d" % step])
        if step % 2 == 0:
            commit_of(store, step=step)
            kept.append([number for number, _ in read_log(backend, "input")])
    assert kept == [[1, 2], [3, 4], [5, 6]]
    assert [number for number, _ in store.recorded(store.step)] == [7]
    commit_of(store, step=6)  # a version without new steps forgets only what both can miss
    assert [number for number, _ in read_log(backend, "input")] == [7]


def test_a_segment_lives_while_one_of_two_versions_names_it() -> None:
    backend = MemoryBackend()
    store = PipelineStore(backend, "p")
    names = {n: segment(version, n) for n, version in (("a", 1), ("b", 2), ("c", 3))}
    orphan, unfinished = segment(1, "0"), segment(9, "1")
    for name in (*names.values(), orphan, unfinished):
        backend.write_new(name, [b"x"])

    def commit(*arranged: str, changed: str = "") -> set[str]:
        refs = tuple(BatchRef(names[n], 0, 0, 1) for n in arranged)
        changes = (ChangeSegment(names[changed], 0, 1, (ChangeBlock("v", 0),)),) if changed else ()
        commit_of(store, arrangements={"s": refs}, changes=changes)
        return set(backend.list("segments/"))

    assert commit("a") == {
        *names.values(),
        orphan,
        unfinished,
    }  # those may be in the making
    assert commit("a", "b") == {*names.values(), unfinished}
    assert commit("b", changed="c") == {*names.values(), unfinished}  # the version before still needs a
    assert commit("b", changed="c") == {names["b"], names["c"], unfinished}


def test_drafts_of_killed_processes_go_when_the_next_writer_comes_and_not_before(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    store = PipelineStore(backend, "p")
    store.open_log()
    commit_of(store)
    store.close()
    machine, _, own = writer_id().split("-")
    (tmp_path / ".tmp" / f"draft.{machine}-{'0' * 12}-{own}.{'0' * 16}").write_bytes(b"before a restart")
    running = backend.draft()
    PipelineStore(LocalBackend(tmp_path), "p")
    open_state(LocalBackend(tmp_path), "p", 1)
    assert len(backend.unfinished()) == 2
    store.open_log()
    assert len(backend.unfinished()) == 1
    store.close()
    running.publish("segments/x")


def test_more_versions_are_kept_until_another_run_says_otherwise() -> None:
    backend = MemoryBackend()

    def kept(retain: Retain | None) -> list[int]:
        store = PipelineStore(backend, "p", retain)
        for _ in range(6):
            commit_of(store)
        return [found.number for found in (*store.earlier, store.version)]

    assert kept(None) == [5, 6]
    assert kept(Retain(4)) == [9, 10, 11, 12]
    assert kept(None) == [15, 16, 17, 18], "it is remembered"
    assert kept(Retain(None, 3_600_000_000)) == list(range(15, 25))
    assert kept(Retain(2, 0)) == [29, 30]


def test_two_versions_can_be_opened() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, commit_interval_s=0.0, retained_steps=1)
    driver.open()
    for until in range(1, STEPS + 1):
        live(driver, until)
        store = PipelineStore(backend, "story")
        assert len(store.earlier) <= 1 and store.earlier == driver.store.earlier
        loaded = [*(store.load(found.number) for found in store.earlier), store.version]
        named = set().union(*map(store.segments, loaded))
        present = set(backend.list("segments/"))
        assert named <= present
        assert all(int(name[9:19]) >= driver.store.version.number for name in present - named)
        for version in loaded:
            old = Resident(PROGRAM, 2, backend, driver.store.seed)
            old.open(Opening.of(version))
            for name in (*NAMES, "t", "u"):
                if version is loaded[-1]:
                    assert zset_of(old.read(name)) == zset_of(driver.read(name))
                else:
                    old.read(name)  # every segment it names is there, unharmed


def test_any_number_of_workers_resumes_any_state() -> None:
    backend = MemoryBackend()
    for until, workers in enumerate([2, 1, 8], start=1):
        driver = coordinator(backend, workers=workers)
        driver.open()
        check(driver, until - 1)
        live(driver, until)
        check(driver, until)
        driver.close()
    assert coordinator(backend).store.step == STEPS


def test_changes_are_kept_for_the_retained_steps() -> None:
    driver = coordinator(MemoryBackend(), commit_interval_s=0.0, retained_steps=2)
    driver.open()
    live(driver)
    kept = {changes.last for changes in driver.store.changes()}
    assert kept <= {STEPS - 1, STEPS}
    assert set(dict(driver.store.version.times)) == {STEPS - 1, STEPS}


def test_a_dropped_view_leaves_and_a_new_one_starts_with_its_content() -> None:
    backend = MemoryBackend()
    driver = coordinator(backend, of=program("by_k", "kinds"))
    driver.open()
    live(driver, 3)
    at = dict(driver.times)
    driver.close()
    other = coordinator(backend, of=program("by_k", "pairs"))
    other.open()
    named = {block.view for changes in other.store.changes() for block in changes.blocks}
    assert named == {"by_k", "pairs"}
    assert set(other.store.version.arrangements) == set(other.program.slots)
    assert zset_of(changes(other, "pairs").drop_columns(["_step"])) == CONTENTS[3]["pairs"]
    assert zset_of(other.read("by_k")) == CONTENTS[3]["by_k"]
    assert other.times == at  # the time of a step stays what it was
    version = other.store.version.number
    other.close()
    assert coordinator(backend).store.version.number == version  # nothing new, no version
