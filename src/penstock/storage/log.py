"""The append-only log of (step, bytes): durable when ``append`` returns, cut at a crash, split into files.

Invariant: after opening, the log holds exactly the frames whose append returned, and at most one more
(written whole, but its writer died before it could say so). Steps never go down; a step may have several
frames.

A log is a folder of files named by the first step they may hold (``input/0000000042.log``): ``rotate``
starts the next file and ``drop_before`` deletes whole files, so forgetting the past rewrites nothing. Only
the last file can have a torn tail, and opening cuts it; damage anywhere else is a CorruptionError.

One limit is inherent: if the disk spoils the very last frame after it was acknowledged, that looks like a
torn tail. ``cut`` tells what was cut, and the owner should compare ``last_step`` with what it knows to be
committed.

Cost: an append is one write and one sync. Opening reads the last file once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from penstock.errors import CorruptionError, StorageError
from penstock.storage.checksum import HEADER_SIZE
from penstock.storage.frames import LogFile, frame_parts, log_header
from penstock.storage.interface import Appender, Backend, Part

__all__ = ["Log", "read_log"]

_FILE = re.compile(r"\d{10}\.log")
_STEP_LIMIT = 10**10  # ten digits in a name, so that names sort as steps do


class Log:
    """The writer's end of a log; one at a time. Use ``read_log`` to look on without owning it."""

    def __init__(self, backend: Backend, folder: str) -> None:
        """Open the log in a folder, cutting a torn tail; an empty folder is an empty log."""
        self.folder = folder
        self.cut = ""  # what opening had to cut off, for people
        self.last_step: int | None = None  # of the newest frame
        self._backend = backend
        self._appender: Appender | None = None
        self._closed = False
        self._salt = self._size = self._first_step = 0
        if files := _files(backend, folder):
            self._recover(files)

    def append(self, step: int, parts: Sequence[Part]) -> None:
        """Add a frame; durable on return. If it raises, the log is unchanged or refuses all that follows."""
        self._check(step, lowest=self._first_step if self.last_step is None else self.last_step)
        if self._appender is None:
            self._start(step)
        assert self._appender is not None
        frame = frame_parts(self._salt, self._size, step, parts)
        self._appender.append(frame)
        self._size += sum(part.size for part in frame)
        self.last_step = step

    def rotate(self, step: int) -> None:
        """Start a new file: frames of ``step`` and later go there, earlier ones can then be dropped."""
        self._check(step, lowest=self._first_step if self.last_step is None else self.last_step + 1)
        if self._appender is not None:
            if step == self._first_step:
                return
            # Only the last file may have a bad tail. This removes one a failed append left, or raises.
            self._appender.truncate(self._size)
        self._start(step)

    def drop_before(self, step: int) -> list[str]:
        """Delete the files that hold only steps before ``step``; their names. The last file always stays."""
        gone = _superseded(_files(self._backend, self.folder), step)
        for name in gone:
            self._backend.delete(name)
        return gone

    def read(self, from_step: int = 0) -> Iterator[tuple[int, pa.Buffer]]:
        """All frames of ``from_step`` and later, in order, checked."""
        return read_log(self._backend, self.folder, from_step)

    def close(self) -> None:
        """Give the log up, so that another writer may open it."""
        self._closed = True
        if self._appender is not None:
            self._appender.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, step: int, lowest: int) -> None:
        if self._closed:
            raise StorageError(f"{self.folder}: the log is closed; open it again")
        if not max(lowest, self._first_step) <= step < _STEP_LIMIT:
            raise StorageError(
                f"{self.folder}: step {step} cannot come next: the log ends with step {self.last_step} "
                f"and its last file starts at step {self._first_step}"
            )

    def _recover(self, files: list[str]) -> None:
        name = files[-1]
        self._appender = self._backend.appender(name)
        try:
            # Its owner may have rotated between our listing and our locking.
            if _files(self._backend, self.folder)[-1] != name:
                raise StorageError(f"{self.folder}: the log is being appended to by another writer")
            file = LogFile(self._backend, name)
            self.last_step = _last_step(file, last=True)
            if file.torn:
                self._appender.truncate(file.end)
                self.cut = f"{name}: cut {file.size - file.end} bytes at byte {file.end}: {file.torn}"
            # A whole frame may still be only in the page cache of a dead writer; from now on it counts.
            self._backend.sync(name)
            for earlier in reversed(files[:-1]):
                if self.last_step is not None:
                    break
                self.last_step = _last_step(LogFile(self._backend, earlier), last=False)
        except BaseException:
            self.close()
            raise
        self._salt, self._size, self._first_step = file.salt, file.end, file.first_step

    def _start(self, step: int) -> None:
        """Go on in a new file. If that fails it may exist nevertheless, so only reopening can go on."""
        salt = secrets.randbits(64)
        name = f"{self.folder}/{step:010d}.log"
        try:
            self._backend.write_new(name, [log_header(salt, step)])
            appender = self._backend.appender(name)
        except BaseException:
            self.close()
            raise
        if self._appender is not None:
            self._appender.close()
        self._appender, self._salt, self._size, self._first_step = appender, salt, HEADER_SIZE, step


def read_log(backend: Backend, folder: str, from_step: int = 0) -> Iterator[tuple[int, pa.Buffer]]:
    """All frames of ``from_step`` and later, as of now, without owning the log. A torn tail ends it."""
    files = _files(backend, folder)
    files = files[len(_superseded(files, from_step)) :]
    for number, name in enumerate(files):
        following = files[number + 1] if number + 1 < len(files) else None
        file = LogFile(backend, name)
        if file.first_step != _first_step(name):
            raise CorruptionError(f"{name}: the file starts at step {file.first_step}; it was renamed")
        for frame in file.frames(last=following is None):
            if following is not None and frame.step >= _first_step(following):
                raise CorruptionError(f"{name}: holds step {frame.step}, which belongs into {following}")
            if frame.step >= from_step:
                yield frame.step, frame.payload


def _last_step(file: LogFile, *, last: bool) -> int | None:
    step = None
    for frame in file.frames(last=last):
        step = frame.step
    return step


def _files(backend: Backend, folder: str) -> list[str]:
    start = len(folder) + 1
    return [name for name in backend.list(f"{folder}/") if _FILE.fullmatch(name[start:])]


def _first_step(name: str) -> int:
    return int(name[-14:-4])


def _superseded(files: list[str], step: int) -> list[str]:
    """The files whose successor takes over at ``step`` or before."""
    return [name for name, following in pairwise(files) if _first_step(following) <= step]
