"""Files in a folder, durable against SIGKILL at any moment and against power loss.

Publishing: write a temporary in ``.tmp``, fsync it, ``link`` it to its name (atomic, and fails if the
name is taken, unlike rename), fsync the folder. A crash leaves either nothing visible or the whole file.
Folders are synced into their parents once per folder and backend, because an earlier process may have
died in between.

Appending: one ``writev`` and one ``fdatasync``, under an exclusive ``flock`` that dies with the process.

Reading: segments are mapped, unless the backend is told to read them by position (:mod:`.positional`), with
or without direct I/O. Everything else is small, and the same in all three.

Costs: ``write_new`` two syncs; ``append`` one; ``open`` one mmap and no file descriptor kept. Reading a
mapped file whose disk fails raises SIGBUS, as every mapping does: the process dies, the data does not.
"""

from __future__ import annotations

import fcntl
import io
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from penstock.errors import InUse, StorageError
from penstock.storage.direct import SMALLEST, write_direct
from penstock.storage.fetcher import Fetcher
from penstock.storage.interface import (
    IoCounts,
    Names,
    NameTakenError,
    Part,
    Pointer,
    check_name,
    to_buffer,
)
from penstock.storage.local_draft import LocalDraft
from penstock.storage.positional import PositionalFiles, aligned_buffer, read_fully
from penstock.storage.ranges import runs_of
from penstock.storage.writer_id import is_dead, is_draft, writer_id

__all__ = ["Io", "LocalAppender", "LocalBackend"]

_TEMPORARIES = ".tmp"
_TEMPORARY_AGE_MAX_S = 24 * 3600
_IOV_MAX = min(1024, os.sysconf("SC_IOV_MAX"))
_sync_data = getattr(os, "fdatasync", os.fsync)  # fdatasync is missing outside Linux; it also syncs the size


# ``LocalBackend.list`` hides the builtin inside the class body.
Unfinished: TypeAlias = list[tuple[str, int]]

_READERS = 16
_GAP_BYTES = 16 << 10
_RUN_BYTES = 1 << 20


class Io(StrEnum):
    """How segments are read."""

    MAPPED = "mapped"
    PREAD = "pread"
    """By position, through the page cache."""
    DIRECT = "direct"
    """By position, past the page cache."""


class LocalBackend:
    """All files below one folder, which is created on the first write. Cheap to create and to pickle."""

    def __init__(self, root: Path | str, io: Io = Io.MAPPED) -> None:
        self.root, self.io = Path(root).absolute(), io
        blocking = next((place for place in (self.root, *self.root.parents) if place.exists()), self.root)
        if blocking.exists() and not blocking.is_dir():
            raise StorageError(
                f"{self.root} cannot be a storage folder: {blocking} is a file; choose another"
            )
        self._durable_folders: set[Path] = set()
        self._prefetched = 0

    def __repr__(self) -> str:
        return f"LocalBackend({self.url!r})"

    def __reduce__(self) -> tuple[type[LocalBackend], tuple[Path, Io]]:
        return LocalBackend, (self.root, self.io)

    @property
    def url(self) -> str:
        return str(self.root) if self.io is Io.MAPPED else f"{self.root.as_uri()}?io={self.io}"

    @property
    def maps_files(self) -> bool:
        return self.io is Io.MAPPED

    @property
    def reads_in_place(self) -> bool:
        return self.maps_files

    @property
    def is_remote(self) -> bool:
        return False

    @property
    def counts(self) -> IoCounts:
        files, fetcher = self._files, self._fetcher
        ahead = fetcher.prefetched + self._prefetched
        return IoCounts(files.reads, files.bytes_read, ahead, fetcher.waits)

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        path = self._path(name)
        with _named(name, "cannot be written"):
            self._make_folder(path.parent)
            temporary = self._temporary(path)
            try:
                _write_file(temporary, [buffer for buffer in map(to_buffer, parts) if buffer.size])
                try:
                    self._link(temporary, name)
                except FileExistsError:
                    raise NameTakenError(name) from None
            finally:
                temporary.unlink(missing_ok=True)

    def draft(self) -> LocalDraft:
        with _named(_TEMPORARIES, "cannot be written"):
            self._make_folder(self.root / _TEMPORARIES)
            return LocalDraft(self._temporary(Path("draft")), self._link)

    def _link(self, temporary: Path, name: str) -> None:
        path = self._path(name)
        self._make_folder(path.parent)
        os.link(temporary, path)
        _sync_folder(path.parent)

    def open(self, name: str) -> pa.Buffer:
        path = self._path(name)
        # The buffer keeps the mapping alive; closing the file frees the descriptor, which is a scarce
        # resource.
        with _named(name, "cannot be read"), pa.memory_map(str(path)) as file:
            return file.read_buffer()

    def read_at(self, name: str, offset: int, length: int) -> pa.Buffer:
        with _named(name, "cannot be read"), io.FileIO(self._path(name)) as file:
            length = max(0, min(length, os.fstat(file.fileno()).st_size - offset))
            buffer = pa.allocate_buffer(length)
            return buffer.slice(0, read_fully(file.fileno(), buffer, offset))

    def read(self, pointers: Sequence[Pointer]) -> Iterator[pa.Buffer]:
        return self._fetcher.read(pointers)

    def read_end(self, name: str, length: int) -> tuple[pa.Buffer, int]:
        size = self.size(name)
        start = max(0, size - length)
        return self._read_piece(Pointer(name, start, size - start)), size

    def prefetch(self, pointers: Sequence[Pointer]) -> None:
        if self.io is Io.DIRECT:
            self._fetcher.prefetch(pointers)
            return
        runs = runs_of(pointers, gap=_GAP_BYTES, most=_RUN_BYTES)
        for name, in_file in groupby((run.whole for run in runs), key=lambda whole: whole.name):
            self._files.announce(self._path(name), [(each.offset, each.length) for each in in_file])
        self._prefetched += len(pointers)

    def get_buffer(self, size: int) -> pa.Buffer:
        return aligned_buffer(size)

    @cached_property
    def _files(self) -> PositionalFiles:
        return PositionalFiles(direct=self.io is Io.DIRECT)

    @cached_property
    def _fetcher(self) -> Fetcher:
        return Fetcher(self._read_piece, threads=_READERS, gap=_GAP_BYTES, most=_RUN_BYTES)

    def _read_piece(self, pointer: Pointer) -> pa.Buffer:
        with _named(pointer.name, "cannot be read"):
            return self._files.read(self._path(pointer.name), pointer.offset, pointer.length)

    def size(self, name: str) -> int:
        with _named(name, "cannot be read"):
            return self._path(name).stat().st_size

    def list(self, prefix: str = "") -> Names:
        folder, _, _ = prefix.rpartition("/")
        top = self._path(folder) if folder else self.root
        names: list[str] = []
        with _named(prefix or ".", "cannot be listed"):
            for place, folders, files in os.walk(top, onerror=_unless_missing):
                folders[:] = [f for f in folders if not f.startswith(".")]
                start = Path(place).relative_to(self.root)
                names += [(start / f).as_posix() for f in files if not f.startswith(".")]
        return sorted(n for n in names if n.startswith(prefix))

    def exists(self, name: str) -> bool:
        with _named(name, "cannot be looked up"):
            return self._path(name).is_file()

    def delete(self, name: str) -> None:
        with _named(name, "cannot be deleted"):
            self._path(name).unlink(missing_ok=True)

    def appender(self, name: str) -> LocalAppender:
        return LocalAppender(name, self._path(name))

    def sync(self, name: str) -> None:
        path = self._path(name)
        with _named(name, "cannot be synced"):
            with io.FileIO(path) as file:
                os.fsync(file.fileno())
            self._make_folder(path.parent)
            _sync_folder(path.parent)

    def move(self, name: str, to: str) -> None:
        """Gives a file another name, durably; the content is not copied. Can be repeated after a crash."""
        source, target = self._path(name), self._path(to)
        with _named(name, "cannot be moved"):
            self._make_folder(target.parent)
            with suppress(FileExistsError):
                os.link(source, target)
            _sync_folder(target.parent)
            source.unlink()
            _sync_folder(source.parent)

    def unfinished(self) -> Unfinished:
        """Files that are being written, or were when their writer died: names and sizes."""
        found = []
        with suppress(FileNotFoundError):
            for temporary in sorted((self.root / _TEMPORARIES).iterdir()):
                with suppress(FileNotFoundError):
                    found.append((temporary.name, temporary.stat().st_size))
        return found

    def _path(self, name: str) -> Path:
        return self.root / check_name(name)

    def _temporary(self, path: Path) -> Path:
        folder = self.root / _TEMPORARIES
        folder.mkdir(exist_ok=True)
        return folder / f"{path.name}.{writer_id()}.{secrets.token_hex(8)}"

    def _make_folder(self, folder: Path) -> None:
        """Make the folder, and every folder from the root down to it, exist durably."""
        if folder in self._durable_folders:
            return
        chain = (folder, *folder.parents)
        made = [place for place in chain if place.is_relative_to(self.root) or not place.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for place in made:
            _sync_folder(place.parent)
        self._durable_folders.add(folder)

    def remove_dead_drafts(self) -> None:
        """Removes what killed writers left behind: those of this machine at once, others when they are a day
        old. A writer slower than that fails cleanly at its link."""
        with _named(_TEMPORARIES, "cannot be cleaned up"), suppress(FileNotFoundError):
            for temporary in (self.root / _TEMPORARIES).iterdir():
                with suppress(FileNotFoundError):
                    age_s = time.time() - temporary.stat().st_mtime
                    old = is_draft(temporary.name) and age_s > _TEMPORARY_AGE_MAX_S
                    if old or is_dead(temporary.name):
                        temporary.unlink()


class LocalAppender:
    """Appends to one file, exclusively. See :class:`penstock.storage.interface.Appender`.

    It caches nothing about the file: an append starts where the file system says the file ends, so an
    interrupted call leaves no stale state.
    """

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._file: io.FileIO | None = None
        self.broken = False
        with _named(name, "cannot be opened for appending"):
            try:
                # O_CREAT is left out on purpose: a log file starts its life complete, by write_new.
                self._file = io.FileIO(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC), "a+")
                fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.close()
                raise InUse(f"{name} is being appended to by another writer") from None
            except BaseException:
                self.close()
                raise

    def append(self, parts: Sequence[Part], *, durable: bool = True) -> None:
        file = self._open_file()
        found = os.fstat(file)
        if found.st_nlink == 0:
            self.broken = True
            raise StorageError(f"{self._name} was deleted while it was open for appending: put it back")
        size = found.st_size
        try:
            _write_all(file, parts)
        except OSError as error:
            self._undo(size)
            raise StorageError(f"{self._name} cannot be appended to: {error}") from error
        if not durable:
            return
        try:
            _sync_data(file)
        except OSError as error:
            # The kernel may have dropped the dirty pages and marked them clean: trust nothing from here on.
            self._undo(size)
            self.broken = True
            raise StorageError(f"{self._name} cannot be synced: {error}") from error

    def truncate(self, size: int) -> None:
        file = self._open_file()
        with _named(self._name, "cannot be cut"):
            os.ftruncate(file, size)
            os.fsync(file)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _open_file(self) -> int:
        if self.broken or self._file is None or self._file.closed:
            state = "failed earlier" if self.broken else "is closed"
            raise StorageError(f"{self._name} cannot be appended to: its writer {state}; open it again")
        return self._file.fileno()

    def _undo(self, size: int) -> None:
        try:
            self.truncate(size)
        except StorageError:
            self.broken = True


def _unless_missing(error: OSError) -> None:
    """A missing folder counts as empty; one that cannot be read is an error, not an empty listing."""
    if not isinstance(error, FileNotFoundError):
        raise error


@contextmanager
def _named(name: str, what: str) -> Iterator[None]:
    """Turns an operating system error into one that names the file, in the user's terms."""
    try:
        yield
    except FileNotFoundError as error:
        raise StorageError(f"{name} {what}: it does not exist") from error
    except OSError as error:
        raise StorageError(f"{name} {what}: {error}") from error


def _write_file(path: Path, parts: list[pa.Buffer]) -> None:
    """Make a new file, synced."""
    if sum(part.size for part in parts) >= SMALLEST and write_direct(path, parts):
        return
    with io.FileIO(path, "x") as file:
        _write_all(file.fileno(), parts)
        os.fsync(file.fileno())


def _write_all(fd: int, parts: Sequence[Part]) -> None:
    """Write the parts with as few calls as the system allows, never joining them."""
    pending = [b for b in map(to_buffer, parts) if b.size]
    first = 0
    while first < len(pending):
        count = os.writev(fd, pending[first : first + _IOV_MAX])
        while first < len(pending) and count >= pending[first].size:
            count -= pending[first].size
            first += 1
        if count:
            pending[first] = pending[first].slice(count)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
