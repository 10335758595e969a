"""A version opened to be read: right, beside a pipeline that goes on, and it changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock.trace.held as held
from penstock.errors import PipelineError, StorageError
from penstock.pipeline.opened_version import OpenedVersion, open_state
from penstock.schedule.state import forget_segments
from penstock.storage import Backend, LocalBackend, MemoryBackend, ReadOnlyBackend
from tests.pipeline.story import CONTENTS, NAMES, PROGRAM, STEPS, live
from tests.pipeline.test_restore import opened
from tests.schedule.inline import zset_of
from tests.schedule.shop import program


def reading(backend: Backend, number: int) -> OpenedVersion:
    found = OpenedVersion(PROGRAM, open_state(backend, "story", number), backend)
    found.open()
    return found


def has(found: OpenedVersion, step: int) -> None:
    assert found.step == step
    for name in (*NAMES, "t", "u"):
        assert zset_of(found.read(name)) == CONTENTS[step][name], name


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """All files, hidden ones too, with size and time of the last change."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def test_old_versions_are_read_while_the_pipeline_goes_on_and_nothing_is_written(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    driver = opened(backend, retain=9)
    versions = {}
    for step in range(1, STEPS + 1):
        live(driver, step)
        driver.commit()
        versions[step] = driver.store.version.number
        before = files(tmp_path)
        for old, number in versions.items():
            has(reading(LocalBackend(tmp_path), number), old)
        assert files(tmp_path) == before
    driver.close()


def test_what_is_open_stays_readable_after_the_pipeline_deleted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "MOST_PARTS", 1)  # so that merged batches are written again
    backend = LocalBackend(tmp_path)
    driver = opened(backend)
    live(driver, 1)
    driver.commit()
    found = reading(LocalBackend(tmp_path), driver.store.version.number)
    named = found.store.segments(found.store.version)
    live(driver)
    for _ in range(3):
        driver.settle()
        driver.commit()
    forget_segments()
    assert not named <= set(backend.list("segments/")), "otherwise this shows nothing"
    has(found, 1)
    with pytest.raises(
        PipelineError, match=rf"there is no version {found.store.version.number} to be opened"
    ):
        reading(backend, found.store.version.number)
    driver.close()


def test_where_files_are_not_mapped_it_is_said_that_the_version_was_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held, "MOST_PARTS", 1)
    backend = MemoryBackend()
    driver = opened(backend)
    live(driver, 1)
    driver.commit()
    found = reading(backend, driver.store.version.number)
    live(driver)
    for _ in range(3):
        driver.settle()
        driver.commit()
    forget_segments()
    with (
        pytest.raises(PipelineError, match=r"the version was deleted while it was open: .*retain_versions"),
        found.still_there(),
    ):
        has(found, 1)


def test_other_errors_are_left_as_they_are(tmp_path: Path) -> None:
    driver = opened(LocalBackend(tmp_path))
    driver.commit()
    found = reading(LocalBackend(tmp_path), driver.store.version.number)
    with pytest.raises(StorageError, match="broken"), found.still_there():
        raise StorageError("broken")
    driver.kill()


def test_it_has_only_what_was_declared_then() -> None:
    backend = MemoryBackend()
    driver = opened(backend)
    driver.commit()
    state = open_state(backend, "story", driver.store.version.number)
    with pytest.raises(PipelineError, match="lacks what was declared after it, or differently: kinds"):
        OpenedVersion(program(*NAMES, "kinds"), state, backend).open()
    with pytest.raises(PipelineError, match="holds the pipeline 'story', not 'other'"):
        open_state(backend, "other", driver.store.version.number)
    with pytest.raises(PipelineError, match="holds no pipeline"):
        open_state(MemoryBackend(), "story", 1)


def test_a_read_only_backend_writes_nothing(tmp_path: Path) -> None:
    inner = LocalBackend(tmp_path)
    inner.write_new("a", [b"held"])
    inner.write_new("b", [b"other"])
    backend = ReadOnlyBackend(inner, ["a"])
    for change in (
        lambda: backend.write_new("c", [b""]),
        lambda: backend.delete("a"),
        lambda: backend.appender("a"),
        backend.draft,
    ):
        with pytest.raises(StorageError, match="opened to be read only"):
            change()
    backend.sync("a")
    inner.delete("a")
    assert bytes(backend.open("a")) == b"held" and bytes(backend.open("b")) == b"other"
    assert bytes(backend.read_at("a", 1, 2)) == b"el" and bytes(backend.read_at("a", 9, 2)) == b""
    assert bytes(backend.read_at("b", 3, 9)) == b"er"
    assert (backend.size("a"), backend.size("b")) == (4, 5)
    assert backend.exists("a") and backend.list() == ["b"] and backend.maps_files
