"""What a check finds in versions and segments that have correct checksums but are wrong, and in folders that
change while they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.pipeline.checking import CheckReport, check_folder
from penstock.pipeline.step_input import StepInput
from penstock.storage import (
    Backend,
    BatchRef,
    ChangeSegment,
    LocalBackend,
    Manifest,
    ManifestStore,
    MemoryBackend,
    Segment,
    SegmentWriter,
    Version,
    VersionStore,
    newest_version,
    sorted_refs,
)
from penstock.storage.version_json import version_to_json
from penstock.trace import Batch
from penstock.zset import HashSeed
from tests.faults.device import READS, failing
from tests.pipeline.story import STEPS, coordinator, live
from tests.schedule.shop import Shop, U

FOLDERS = ("segments/", "manifest/", "changes/", "input/", "acknowledged/", "skipped/")


def made() -> MemoryBackend:
    """Two versions; the last steps are in the log only."""
    backend = MemoryBackend()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    driver.kill()
    return backend


def with_version(backend: MemoryBackend, change: Callable[[Version], Version]) -> CheckReport:
    """The check of a folder whose newest version was written otherwise. It is given with the references to
    all changes, without pages."""
    newest = newest_version(backend)
    assert newest is not None
    changes = tuple(VersionStore(backend).changes(newest))
    changed = change(replace(newest, pages=(), changes=changes))
    backend.delete(f"manifest/{newest.number:010d}.json")
    ManifestStore(backend).commit(Manifest(newest.number, version_to_json(changed)))
    return check_folder(backend)


def with_refs(version: Version, change: Callable[[list[BatchRef]], list[BatchRef]]) -> Version:
    """The version with other references in the first arrangement that has some rows."""
    slot = next(slot for slot, refs in version.arrangements.items() if refs and refs[0].stop > 1)
    refs = sorted_refs(change(list(version.arrangements[slot])))
    return replace(version, arrangements={**version.arrangements, slot: refs})


def with_ref(**fields: Any) -> Callable[[Version], Version]:
    """Changes the first reference to a batch."""
    return lambda version: with_refs(version, lambda refs: [replace(refs[0], **fields), *refs[1:]])


def with_changes(version: Version, change: Callable[[ChangeSegment], ChangeSegment]) -> Version:
    """Changes the first reference to changes of views."""
    return replace(version, changes=(change(version.changes[0]), *version.changes[1:]))


def test_a_life_that_ended_in_a_crash_is_sound() -> None:
    report = check_folder(made())
    assert report, report.problems
    assert len(report.versions) == 2 and report.blocks > 5


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (with_ref(entry=99), "block 99 is referred to, and the file has"),
        (with_ref(crc32c=1), "it is not the file that was written"),
        (with_ref(stop=10**6), "refers to rows 0 to 1000000 of"),
        (with_ref(segment="segments/0000000001-gone.seg"), "it does not exist"),
        (
            lambda v: with_changes(
                v, lambda c: replace(c, blocks=tuple(replace(b, crc32c=1) for b in c.blocks))
            ),
            "it is not the file that was written",
        ),
        (lambda v: with_changes(v, lambda c: replace(c, last=0)), "ends before that"),
    ],
)
def test_a_version_that_refers_to_what_is_not_there(
    change: Callable[[Version], Version], complaint: str
) -> None:
    report = with_version(made(), change)
    assert not report and any(complaint in str(problem) for problem in report.problems), report.problems


def test_a_version_that_lacks_something() -> None:
    backend = made()
    newest = newest_version(backend)
    assert newest is not None
    body = version_to_json(newest)
    del body["step"]
    backend.delete(f"manifest/{newest.number:010d}.json")
    ManifestStore(backend).commit(Manifest(newest.number, body))
    assert "lacks something that every version has" in str(check_folder(backend).problems)


def test_a_batch_of_another_arrangement() -> None:
    def swap(version: Version) -> Version:
        one, other = [slot for slot, refs in version.arrangements.items() if refs][:2]
        refs = version.arrangements
        return replace(version, arrangements={**refs, one: refs[other], other: refs[one]})

    assert "takes it for the arrangement" in str(with_version(made(), swap).problems[0])


def test_rows_that_two_workers_have() -> None:
    def share(refs: list[BatchRef]) -> list[BatchRef]:
        return [*refs, replace(refs[0], start=refs[0].stop - 1)]

    report = with_version(made(), lambda version: with_refs(version, share))
    assert "refers to some rows twice" in str(report.problems[0])


def test_slices_of_one_block_may_be_shared() -> None:
    def split(refs: list[BatchRef]) -> list[BatchRef]:
        return [replace(refs[0], stop=1), replace(refs[0], start=1), *refs[1:]]

    assert with_version(made(), lambda version: with_refs(version, split))


@pytest.mark.parametrize(
    ("order", "weights", "complaint"),
    [
        ([1, 5, 2], [1, 1, 1], "order word"),
        ([1, 1, 7], [1, 1, 1], "identity of another row"),
        ([1, 5, 7], [1, 0, 1], "all zero"),
    ],
)
def test_a_batch_that_was_written_wrong(order: list[int], weights: list[int], complaint: str) -> None:
    backend = made()

    def with_wrong_batch(version: Version) -> Version:
        slot, refs = next((slot, refs) for slot, refs in version.arrangements.items() if refs)
        words, lane = np.array(order, np.uint64), np.zeros(3, np.uint64)
        batch = Batch(words, lane, None, np.array(weights, np.int64), (pa.array(["a", "b", "c"]),))
        writer = SegmentWriter(backend, "segments/0000000002-w0000-bad.seg")
        entry = writer.add("batch", {"arrangement": slot, "ordered": ""}, batch.to_arrow())
        wrong = BatchRef(writer.name, entry, 0, 3, writer.checksum(entry))
        writer.finish()
        return replace(version, arrangements={**version.arrangements, slot: (wrong, *refs[1:])})

    [problem] = with_version(backend, with_wrong_batch).problems
    assert complaint in problem.what and problem.file.endswith("bad.seg") and problem.block == 0
    assert problem.views and problem.operators and problem.versions


def test_one_block_is_in_memory_at_a_time() -> None:
    backend = made()
    read: list[int] = []

    class Watched(MemoryBackend):
        def read_at(self, name: str, offset: int, length: int) -> pa.Buffer:
            if name.startswith("segments/"):
                read.append(length)
            return super().read_at(name, offset, length)

    watched = Watched()
    watched._files = backend._files
    assert check_folder(watched)
    longest = max(e.length for n in backend.list("segments/") for e in Segment.open(backend, n).entries)
    assert max(read) == longest and len(read) > 5


class Running(MemoryBackend):
    """A folder in which a pipeline goes on: it makes versions while somebody reads the first segment."""

    act: Callable[[], None] | None = None

    def open(self, name: str) -> pa.Buffer:
        act, self.act = (self.act, None) if name.startswith("segments/") else (None, self.act)
        if act is not None:
            act()
        return super().open(name)


def test_what_a_newer_version_replaced_meanwhile_is_not_damage() -> None:
    backend = Running()
    driver = coordinator(backend)
    driver.open()
    live(driver)
    before = set(backend.list())

    def go_on() -> None:
        for _ in range(4):
            driver.settle()
            driver.run_step(_rows(driver.store.seed))
            driver.commit()

    backend.act = go_on
    report = check_folder(backend)
    assert before - set(backend.list()), "nothing was replaced: the test shows nothing"
    assert report, report.problems
    driver.close()
    assert check_folder(backend)
    assert driver.step == STEPS + 4


def _rows(seed: HashSeed) -> StepInput:
    return Shop(seed).input((U, [("a", 5), ("b", 20)], 1), at_us=1)


def test_a_disk_that_fails_while_it_is_read_is_a_problem_that_names_the_file(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    driver = coordinator(backend)
    driver.open()
    live(driver)
    driver.kill()
    backend.write_new("skipped/0000000003-00.json", [b'{"step": 3, "path": "a"}'])
    failed = []
    for at in range(1, 500):
        with failing(at, calls=READS) as device:
            report = check_folder(backend)
        if not device.failed:
            break
        failed.append(device.failed)
        if "metrics/" in device.target:
            continue  # losing them harms nothing: they only name the operators
        assert any("Input/output error" in str(problem) for problem in report.problems), at
        assert all(problem.file.startswith(FOLDERS) for problem in report.problems)
    assert report and set(failed) == set(READS) and len(failed) > 20


def test_a_file_that_is_missing_while_nothing_changes_is_damage() -> None:
    backend: Backend = made()
    backend.delete(backend.list("segments/")[0])
    assert not check_folder(backend)
