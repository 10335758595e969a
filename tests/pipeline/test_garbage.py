"""Garbage: what no retained version refers to goes, whatever else lies there stays."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.pipeline.garbage import Garbage, written_for
from penstock.storage import BatchRef, MemoryBackend, Version, VersionStore

NUMBERS = range(1, 31)


def segment(version: int) -> str:
    return f"segments/{version:010d}-w0000-{version:012x}.seg"


def history(backend: MemoryBackend) -> list[Version]:
    """Thirty versions; each has a segment of its own and shares one with the version before."""
    store, made = VersionStore(backend), []
    version = Version(0, "p", 1, "00", catalog={"a": "b" * 2000})
    for number in NUMBERS:
        backend.write_new(segment(number), [b"x"])
        refs = tuple(BatchRef(segment(n), 0, 0, 1) for n in (number - 1, number) if n)
        version = replace(version, number=number, arrangements={"s": refs})
        prepared = store.prepare(version)
        store.publish(prepared)
        store.adopt(prepared)
        made.append(prepared.version)
    return made


def left(backend: MemoryBackend) -> list[int]:
    return [written_for(name) for name in backend.list("segments/")]


def test_what_each_retained_version_refers_to_stays() -> None:
    backend = MemoryBackend()
    made = history(backend)
    Garbage(backend, VersionStore(backend)).collect(range(20, 30), made[-1])
    assert left(backend) == list(range(19, 31))
    assert VersionStore(backend).load(20) == made[19]


def test_each_version_that_goes_takes_its_own_files() -> None:
    backend = MemoryBackend()
    made = history(backend)
    garbage = Garbage(backend, VersionStore(backend))
    for newest in range(10, 31):
        garbage.collect(range(newest - 5, newest), made[newest - 1])
        assert left(backend) == [n for n in NUMBERS if n >= newest - 6], newest


def test_files_that_no_version_named_go_sooner_or_later() -> None:
    backend = MemoryBackend()
    made = history(backend)
    garbage = Garbage(backend, VersionStore(backend))
    garbage.collect(range(1, 27), made[26])
    orphan, unfinished = "segments/0000000009-w0001-00000000dead.seg", segment(30)
    backend.write_new(orphan, [b"x"])
    for newest in (28, 29, 30):
        garbage.collect(range(1, newest), made[newest - 1])
    assert backend.exists(orphan), "the folder is not listed for each of many versions"
    garbage.collect(range(1, 30), made[29])
    assert not backend.exists(orphan) and backend.exists(unfinished)


@pytest.mark.parametrize("damaged", [24, 26])
def test_what_an_unreadable_version_may_need_stays_as_long_as_it_is_retained(
    damaged: int, caplog: pytest.LogCaptureFixture
) -> None:
    backend = MemoryBackend()
    made = history(backend)
    name = f"manifest/{damaged:010d}.json"
    backend.delete(name)
    backend.write_new(name, [b"garbage"])
    garbage = Garbage(backend, VersionStore(backend))
    garbage.collect(range(20, 30), made[-1])
    assert set(range(1, damaged + 1)) <= set(left(backend))
    assert f"version {damaged} cannot be opened any more" in caplog.text
    for _ in range(2):
        garbage.collect([], made[-1])
    assert left(backend) == [29, 30]


def test_other_names_are_no_garbage() -> None:
    for name in (
        "segments/a.seg",
        "segments/0000000001-w0000-x.seg",
        "changes/notes.json",
        "manifest/1.json",
    ):
        assert written_for(name) == -1
    assert written_for("segments/0000000012-w12345-0123456789ab.seg") == 12
    assert written_for("changes/0000000007-0123456789ab.json") == 7
