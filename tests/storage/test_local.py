"""Files on disk: nothing acknowledged is lost whichever call fails, and nothing half-made is visible."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.errors import StorageError
from penstock.storage import LocalBackend, Log, Manifest, ManifestStore, Segment, SegmentWriter, local

BATCH = pa.record_batch({"n": [1, 2, 3]})


class Acknowledged:
    """What the storage said was durable, and one thing that may or may not be."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.version = 0
        self.done = False

    def work(self, backend: LocalBackend) -> None:
        manifests = ManifestStore(backend)
        with Log(backend, "input") as log:
            for step in range(1, 7):
                log.append(step, [b"payload ", b"%d" % step])
                self.steps.append(step)
                if step % 3 == 0:
                    writer = SegmentWriter(backend, f"segments/{step}.seg")
                    writer.add("rows", {"step": step}, BATCH)
                    writer.finish()
                    manifests.commit(Manifest(self.version + 1, {"segment": writer.name, "step": step}))
                    self.version += 1
                    log.rotate(step + 1)
        self.done = True

    def check(self, backend: LocalBackend) -> None:
        with Log(backend, "input") as log:
            found = [(step, bytes(payload)) for step, payload in log.read()]
            steps = [step for step, _ in found]
            assert steps[: len(self.steps)] == self.steps
            assert steps[len(self.steps) :] in ([], [len(self.steps) + 1])
            assert all(payload == b"payload %d" % step for step, payload in found)
            log.append(100, [b"goes on"])
        found = ManifestStore(backend).latest()
        latest = found.manifest if found else None
        version = latest.version if latest else 0
        assert version in (self.version, self.version + 1)
        if latest:
            segment = Segment.open(backend, latest.body["segment"])
            for number in range(len(segment.entries)):
                segment.read(number)


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, call: int, *, for_ever: bool) -> Iterator[Callable[[], bool]]:
    """From the n-th on, (or only the n-th of) the system calls that change the disk fail. Gives a function
    that tells whether there were so many."""
    count = 0
    write = os.writev

    def wrapped(real: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **named: object) -> object:
            nonlocal count
            count += 1
            if count == call or (for_ever and count > call):
                if real is write:  # as a full disk does: some of it was taken
                    real(arguments[0], [b"torn"])
                raise OSError(errno.EIO, "injected")
            return real(*arguments, **named)

        return run

    with monkeypatch.context() as patch:
        for name in ("writev", "fsync", "link", "ftruncate"):
            patch.setattr(os, name, wrapped(getattr(os, name)))
        patch.setattr(local, "_sync_data", wrapped(os.fdatasync))
        yield lambda: count >= call


@pytest.mark.parametrize("for_ever", [True, False], ids=["disk-dies", "one-call-fails"])
def test_nothing_acknowledged_is_lost_whichever_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, for_ever: bool
) -> None:
    call = 0
    injected = True
    while injected:
        call += 1
        promised = Acknowledged()
        root = tmp_path / str(call)
        with failing(monkeypatch, call, for_ever=for_ever) as happened:
            try:
                promised.work(LocalBackend(root))
            except StorageError as error:
                assert "injected" in str(error)
        promised.check(LocalBackend(root))
        injected = happened()
    assert promised.done and call > 40


@pytest.mark.parametrize("whole_parts", [True, False])
def test_a_write_the_system_takes_in_pieces_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_parts: bool
) -> None:
    real = os.writev

    def short(fd: int, buffers: list[pa.Buffer]) -> int:
        return real(fd, buffers[:1] if whole_parts else [memoryview(buffers[0])[:3]])

    monkeypatch.setattr(os, "writev", short)
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [b"0123456", b"", b"789", b"ab"])
    assert bytes(backend.open("a")) == b"0123456789ab"


def test_a_failed_append_leaves_the_file_as_it_was_and_can_be_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path)
    with Log(backend, "input") as log:
        log.append(1, [b"one"])
        with failing(monkeypatch, 1, for_ever=False), pytest.raises(StorageError, match="injected"):
            log.append(2, [b"two"])
        log.append(2, [b"two again"])
        assert [bytes(p) for _, p in log.read()] == [b"one", b"two again"]


def test_a_failed_append_that_cannot_be_undone_is_cut_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path)
    with Log(backend, "input") as log:
        log.append(1, [b"one"])
        with failing(monkeypatch, 1, for_ever=True), pytest.raises(StorageError, match="injected"):
            log.append(2, [b"two"])
        assert not log.is_certain
        with failing(monkeypatch, 1, for_ever=True), pytest.raises(StorageError, match="injected"):
            log.append(2, [b"two"])  # nor can it find out while the disk fails
        assert log.last_step == 1
        assert "its last 4 bytes" in log.cut
        log.append(2, [b"two again"])
    with Log(backend, "input") as log:
        assert [bytes(p) for _, p in log.read()] == [b"one", b"two again"]


def test_after_a_failed_sync_the_writer_looks_at_the_file_before_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path)
    with Log(backend, "input") as log:
        log.append(1, [b"one"])
        with failing(monkeypatch, 2, for_ever=False), pytest.raises(StorageError, match="synced"):
            log.append(2, [b"two"])
        assert not log.is_certain
        log.append(2, [b"two again"])
    with Log(backend, "input") as log:
        assert [bytes(p) for _, p in log.read()] == [b"one", b"two again"]


def test_a_failed_write_leaves_no_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [b"x"])
    with failing(monkeypatch, 1, for_ever=True), pytest.raises(StorageError, match="b cannot be written"):
        backend.write_new("b", [b"x"])
    assert list((tmp_path / ".tmp").iterdir()) == []


def test_temporaries_of_killed_writers_are_invisible_and_swept_when_old(tmp_path: Path) -> None:
    LocalBackend(tmp_path).write_new("manifest/x", [b""])
    names = ["x.0123456789abcdef", "y.0123456789abcdef", "notes.txt"]
    fresh, old, foreign = (tmp_path / ".tmp" / name for name in names)
    for file in (fresh, old, foreign):
        file.write_bytes(b"half")
    for file in (old, foreign):
        os.utime(file, (time.time() - 2 * 86400,) * 2)
    backend = LocalBackend(tmp_path)
    assert backend.list() == ["manifest/x"] and old.exists(), "to open a folder changes nothing in it"
    backend.remove_dead_drafts()
    assert fresh.exists() and foreign.exists()
    assert not old.exists()


def test_drafts_of_dead_processes_of_this_machine_are_swept_at_once(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    draft = backend.draft()
    [mine] = (tmp_path / ".tmp").iterdir()
    code = (
        f"from penstock.storage import LocalBackend; import os; d = LocalBackend({str(tmp_path)!r}).draft()"
        + ("; os.kill(os.getpid(), 9)")
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -9
    [dead] = [file for file in (tmp_path / ".tmp").iterdir() if file != mine]
    machine, start, _ = dead.name.split(".")[1].split("-")
    elsewhere = dead.with_name(dead.name.replace(machine, "0" * 12))
    restarted = mine.with_name(mine.name.replace(start, "0" * 12))
    elsewhere.write_bytes(b"half")
    restarted.write_bytes(b"half")
    backend.remove_dead_drafts()
    assert mine.exists() and elsewhere.exists()
    assert not dead.exists() and not restarted.exists()
    draft.discard()


def test_a_file_is_moved_whole_and_the_move_can_be_repeated(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.write_new("a/x", [b"content"])
    held = backend.open("a/x")
    (tmp_path / "b").mkdir()
    os.link(tmp_path / "a" / "x", tmp_path / "b" / "y")  # killed after the first half
    backend.move("a/x", "b/y")
    assert backend.list() == ["b/y"] and bytes(backend.open("b/y")) == b"content" == bytes(held)
    with pytest.raises(StorageError, match="a/x cannot be moved: it does not exist"):
        backend.move("a/x", "b/y")


def test_syncs_come_in_the_order_that_makes_a_file_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path)
    backend.write_new("folder/first", [b""])
    done: list[str] = []
    real_sync, real_link = os.fsync, os.link

    def sync(fd: int) -> None:
        path = Path(f"/proc/self/fd/{fd}").readlink()
        done.append("folder" if path.is_dir() else "temporary")
        real_sync(fd)

    def link(source: Path, target: Path) -> None:
        done.append("link")
        real_link(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "link", link)
    backend.write_new("folder/second", [b"x"])
    assert done == ["temporary", "link", "folder"]


def test_an_append_is_one_write_and_then_one_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log(LocalBackend(tmp_path), "input") as log:
        log.append(1, [b"first"])
        done: list[str] = []
        real_write, real_sync = os.writev, os.fdatasync
        monkeypatch.setattr(os, "writev", lambda fd, parts: done.append("write") or real_write(fd, parts))
        monkeypatch.setattr(local, "_sync_data", lambda fd: done.append("sync") or real_sync(fd))
        monkeypatch.setattr(os, "fsync", lambda fd: done.append("fsync"))
        log.append(2, [b"a", b"b" * 100_000, b"c"])
    assert done == ["write", "sync"]


def test_opening_syncs_what_a_dead_writer_may_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Log(LocalBackend(tmp_path), "input") as log:
        log.append(1, [b"first"])
    ManifestStore(LocalBackend(tmp_path)).commit(Manifest(1, {}))
    synced: list[str] = []
    real = os.fsync

    def sync(fd: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{fd}").readlink().relative_to(tmp_path.parent)))
        real(fd)

    monkeypatch.setattr(os, "fsync", sync)
    Log(LocalBackend(tmp_path), "input").close()
    ManifestStore(LocalBackend(tmp_path)).latest()
    top = tmp_path.name
    assert {f"{top}/input/0000000001.log", f"{top}/input"} <= set(synced)
    assert {f"{top}/manifest/0000000001.json", f"{top}/manifest", top, "."} <= set(synced)


def test_open_files_keep_no_descriptor(tmp_path: Path) -> None:
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [b"x" * 10_000])
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a listing by Path opens no fewer descriptors
    held = [backend.open("a") for _ in range(20)]
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208 - as above
    assert len(held) == 20


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path)
    backend.write_new("manifest/1", [b""])

    def denied(path: object) -> object:
        raise PermissionError(errno.EACCES, "injected")

    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(StorageError, match="cannot be listed"):
        backend.list("manifest/")


@pytest.fixture
def all_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of every size are written past the system's cache."""
    monkeypatch.setattr(local, "SMALLEST", 0)


@pytest.mark.usefixtures("all_directly")
@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, (4 << 20) - 1, 4 << 20, (8 << 20) + 5])
def test_what_is_written_past_the_cache_is_what_is_read(tmp_path: Path, size: int) -> None:
    content = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [content[: size // 3], b"", content[size // 3 :]])
    assert bytes(backend.open("a")) == content


@pytest.mark.usefixtures("all_directly")
def test_a_disk_that_takes_blocks_one_by_one_gets_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.writev
    monkeypatch.setattr(os, "writev", lambda fd, parts: real(fd, [memoryview(parts[0])[:4096]]))
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [bytes(range(256)) * 100])
    assert bytes(backend.open("a")) == bytes(range(256)) * 100


@pytest.mark.usefixtures("all_directly")
@pytest.mark.parametrize("call", ["open", "writev"])
def test_a_file_system_that_knows_only_the_cache_is_written_to_through_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    real, refused = getattr(os, call), []

    def once(*arguments: object, **named: object) -> object:
        direct = call == "writev" or bool(int(str(arguments[1])) & os.O_DIRECT)
        if direct and not refused:
            refused.append(call)
            raise OSError(errno.EINVAL, "not here")
        return real(*arguments, **named)

    monkeypatch.setattr(os, call, once)
    backend = LocalBackend(tmp_path)
    backend.write_new("a", [b"content"])
    assert refused and bytes(backend.open("a")) == b"content"


@pytest.mark.usefixtures("all_directly")
def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, parts: list[object]) -> int:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "writev", full)
    backend = LocalBackend(tmp_path)
    with pytest.raises(StorageError, match="no room"):
        backend.write_new("a", [b"content"])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("below", ["", "folder/state"])
def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StorageError, match=r"cannot be a storage folder: .*file is a file"):
        LocalBackend(tmp_path / "file" / below)


def test_nothing_is_acknowledged_into_a_log_that_was_deleted(tmp_path: Path) -> None:
    with Log(LocalBackend(tmp_path), "input") as log:
        log.append(1, [b"one"])
        (tmp_path / "input" / "0000000001.log").unlink()
        with pytest.raises(StorageError, match="was deleted while it was open"):
            log.append(2, [b"two"])


def test_a_manifest_whose_last_sync_failed_is_this_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = LocalBackend(tmp_path)
    manifests = ManifestStore(backend)
    manifests.commit(Manifest(1, {}))
    with failing(monkeypatch, 4, for_ever=False) as happened:  # write, sync, link, and the folder's sync
        manifests.commit(Manifest(2, {"step": 7}))
    assert happened()
    manifests.commit(Manifest(3, {}))
    with failing(monkeypatch, 4, for_ever=True), pytest.raises(StorageError, match="injected"):
        manifests.commit(Manifest(4, {"step": 8}))
    assert manifests.holds(Manifest(4, {"step": 8}))
    assert not manifests.holds(Manifest(4, {"step": 9}))
    assert not manifests.holds(Manifest(5, {}))
