"""Versions, the input log and garbage: two versions can always be opened, and nothing else is kept."""

from __future__ import annotations

import pytest

from penstock.errors import PipelineError, StorageError
from penstock.pipeline.store import PipelineStore, segments_of
from penstock.storage import ManifestStore, MemoryBackend, read_log
from tests.pipeline.story import CONTENTS, NAMES, PROGRAM, STEPS, changes, check, coordinator, live
from tests.schedule.inline import Resident, zset_of
from tests.schedule.shop import program


def test_a_new_pipeline_has_a_seed_of_its_own_that_stays() -> None:
    backend = MemoryBackend()
    first, other = PipelineStore(backend, "p"), PipelineStore(MemoryBackend(), "p")
    assert first.seed != other.seed
    assert (first.version, first.step) == (0, 0)
    first.commit({**first.body, "step": 0})
    assert PipelineStore(backend, "p").seed == first.seed
    assert PipelineStore(backend, "p").version == 1


def test_storage_of_another_pipeline_or_hash_is_refused() -> None:
    backend = MemoryBackend()
    store = PipelineStore(backend, "mine")
    store.commit(store.body)
    with pytest.raises(PipelineError, match="holds the pipeline 'mine', not 'yours'"):
        PipelineStore(backend, "yours")
    store.commit({**store.body, "hash_version": 99})
    with pytest.raises(PipelineError, match="hash version 99"):
        PipelineStore(backend, "mine")


def test_two_writers_cannot_make_the_same_version() -> None:
    backend = MemoryBackend()
    one = PipelineStore(backend, "p")
    one.commit(one.body)
    other = PipelineStore(backend, "p")
    one.commit(one.body)
    with pytest.raises(StorageError, match="another writer"):
        other.commit(other.body)
    assert other.version == 1


def test_a_log_has_one_writer_until_it_is_given_up() -> None:
    backend = MemoryBackend()
    one = PipelineStore(backend, "p")
    one.open_log()
    one.record(1, [b"a"])
    other = PipelineStore(backend, "p")
    with pytest.raises(StorageError, match="another writer"):
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
            store.commit({**store.body, "step": step})
            kept.append([number for number, _ in read_log(backend, "input")])
    assert kept == [[1, 2], [3, 4], [5, 6]]
    assert [number for number, _ in store.recorded(store.step)] == [7]
    store.commit({**store.body, "step": 6})  # a version without new steps forgets only what both can miss
    assert [number for number, _ in read_log(backend, "input")] == [7]


def test_a_segment_lives_while_one_of_two_versions_names_it() -> None:
    backend = MemoryBackend()
    store = PipelineStore(backend, "p")
    names = {n: f"segments/{version:010d}-w0000-{n}.seg" for n, version in (("a", 1), ("b", 2), ("c", 3))}
    orphan, unfinished = "segments/0000000001-w0001-o.seg", "segments/0000000009-w0001-u.seg"
    for name in (*names.values(), orphan, unfinished):
        backend.write_new(name, [b"x"])

    def commit(*arranged: str, changed: str = "") -> set[str]:
        refs = [{"segment": names[n], "entry": 0, "start": 0, "stop": 1} for n in arranged]
        changes = {"v": [{"segment": names[changed], "entry": 0}]} if changed else {}
        store.commit({**store.body, "arrangements": {"s": refs}, "changes": changes})
        return set(backend.list("segments/"))

    assert commit("a") == {
        *names.values(),
        orphan,
        unfinished,
    }  # those may be in the making
    assert commit("a", "b") == {*names.values(), unfinished}
    assert commit("b", changed="c") == {*names.values(), unfinished}  # the version before still needs a
    assert commit("b", changed="c") == {names["b"], names["c"], unfinished}


def test_two_versions_can_be_opened() -> None:
    backend = MemoryBackend()
    told = coordinator(backend, commit_interval_s=0.0, retained_steps=1)
    told.open()
    for until in range(1, STEPS + 1):
        live(told, until)
        manifests = ManifestStore(backend)
        versions = manifests.versions()
        assert len(versions) <= 2
        named = set().union(*(segments_of(manifests.load(version).body) for version in versions))
        present = set(backend.list("segments/"))
        assert named <= present
        assert all(int(name[9:19]) >= told.store.version for name in present - named)
        for version in versions:
            body = manifests.load(version).body
            old = Resident(PROGRAM, 2, backend, told.store.seed)
            old.open({**body, "opening": []})
            for name in (*NAMES, "t", "u"):
                if version == versions[-1]:
                    assert zset_of(old.read(name)) == zset_of(told.read(name))
                else:
                    old.read(name)  # every segment it names is there, unharmed


def test_any_number_of_workers_resumes_any_state() -> None:
    backend = MemoryBackend()
    for until, workers in enumerate([2, 1, 8], start=1):
        told = coordinator(backend, workers=workers)
        told.open()
        check(told, until - 1)
        live(told, until)
        check(told, until)
        told.close()
    assert coordinator(backend).store.step == STEPS


def test_changes_are_kept_for_the_retained_steps() -> None:
    told = coordinator(MemoryBackend(), commit_interval_s=0.0, retained_steps=2)
    told.open()
    live(told)
    kept = {ref["last"] for refs in told.store.body["changes"].values() for ref in refs}
    assert kept <= {STEPS - 1, STEPS}
    assert set(dict(told.store.body["times"])) == {STEPS - 1, STEPS}


def test_a_dropped_view_leaves_and_a_new_one_starts_with_its_content() -> None:
    backend = MemoryBackend()
    told = coordinator(backend, of=program("by_k", "kinds"))
    told.open()
    live(told, 3)
    at = dict(told.times)
    told.close()
    other = coordinator(backend, of=program("by_k", "pairs"))
    other.open()
    assert set(other.store.body["changes"]) == {"by_k", "pairs"}
    assert set(other.store.body["arrangements"]) == set(other.program.slots)
    assert zset_of(changes(other, "pairs").drop_columns(["_step"])) == CONTENTS[3]["pairs"]
    assert zset_of(other.read("by_k")) == CONTENTS[3]["by_k"]
    assert other.times == at  # the time of a step stays what it was
    version = other.store.version
    other.close()
    assert coordinator(backend).store.version == version  # nothing new, no version
