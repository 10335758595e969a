"""The append-only log of (step, bytes): durable when ``append`` returns, cut after a crash, split into files.

Invariant: after opening, the log holds exactly the frames whose append returned, and at most one more
(written completely, but its writer died before returning). Steps never decrease; a step may have several
frames.

A log is a folder of files named by the first step they may hold (``input/0000000042.log``): ``rotate`` starts
the next file and ``drop_before`` deletes whole files, so dropping old steps rewrites nothing. Only the last
file can have a torn tail; damage anywhere else is a CorruptionError. Opening finds a torn tail and changes
nothing: it is cut by the first call that writes. So whoever opens the log can still refuse it, and what the
tail held is there for people to look at.

What the writer knows about the log is one value, its *tail*. A call invalidates the tail before it changes a
file and sets the new one when it is done, so whatever exception ends the call, and wherever (a full disk,
Ctrl-C between two byte codes), the next call finds the tail unknown and reads it from the file first.

One limit is inherent: if the disk damages the very last frame after it was acknowledged, that looks like a
torn tail. ``cut`` reports what is cut off, and the owner compares ``last_step`` with the last step it
knows to be acknowledged.

Cost: an append is one write and one sync. Opening reads the last file once.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pyarrow as pa

from penstock.errors import CorruptionError, InUse, StorageError
from penstock.storage.checksum import HEADER_SIZE
from penstock.storage.frames import LogFile, frame_parts, log_header
from penstock.storage.interface import Appender, Backend, Part

__all__ = ["Log", "log_owner", "read_log"]

_FILE = re.compile(r"\d{10}\.log")
_STEP_LIMIT = 10**10  # ten digits in a name, so that names sort as steps do


@dataclass(frozen=True)
class _Tail:
    """Where the next frame goes: the last file (none in an empty log), its length, and what is in the log."""

    name: str = ""
    salt: int = 0
    size: int = 0
    first_step: int = 0
    last_step: int | None = None
    torn: bool = False  # whether something that is no frame follows, and must be cut before the next one


class Log:
    """The writer's end of a log; only one at a time. Use ``read_log`` to read without owning it.

    A log that is not ``durable`` does not sync: it survives a crash of the process but not of the machine.
    With an ``owner`` (see :func:`log_owner`), files of another owner are refused.
    """

    def __init__(self, backend: Backend, folder: str, *, durable: bool = True, owner: int = 0) -> None:
        """Open the log in a folder, up to a torn tail; an empty folder is an empty log."""
        self.folder = folder
        self.cut = ""  # what the next write cuts off, or the last one did, for people
        self._backend, self._durable, self._owner = backend, durable, owner
        self._writer: tuple[str, Appender] | None = None  # the last file, and the right to append to it
        self._tail: _Tail | None = None  # None: unknown
        self._closed = False
        try:
            self._known()
        except BaseException:
            self.close()
            raise

    @property
    def last_step(self) -> int | None:
        """The step of the newest frame."""
        return self._known().last_step

    @property
    def first_step(self) -> int:
        """The first step that may stand in the last file: all steps before it are in earlier ones."""
        return self._known().first_step

    @property
    def is_certain(self) -> bool:
        """Whether the contents of the log are known. If not, the next call determines them."""
        return self._tail is not None

    def append(self, step: int, parts: Sequence[Part]) -> None:
        """Add a frame; durable on return. After a StorageError the log is unchanged if it ``is_certain``."""
        tail = self._before(step, distance=0)
        if not tail.name:
            tail = self._start(step, tail)
        assert self._writer is not None
        _, appender = self._writer
        frame = frame_parts(tail.salt, tail.size, step, parts)
        self._tail = None
        if tail.torn:
            appender.truncate(tail.size)
            tail = replace(tail, torn=False)
        try:
            appender.append(frame, durable=self._durable)
        except StorageError:
            if not appender.broken:
                self._tail = tail
            raise
        self._tail = replace(tail, size=tail.size + sum(part.size for part in frame), last_step=step)

    def rotate(self, step: int) -> None:
        """Start a new file: frames of ``step`` and later go there, earlier ones can then be dropped."""
        tail = self._before(step, distance=1)
        if tail.name:
            if step == tail.first_step:
                return
            assert self._writer is not None
            # Only the last file may have a bad tail. This removes one that opening found or a failed append
            # left, or raises.
            self._writer[1].truncate(tail.size)
        self._start(step, tail)

    def drop_before(self, step: int) -> list[str]:
        """Delete the files that hold only steps before ``step``; their names. The last file always stays."""
        gone = _superseded(_files(self._backend, self.folder), step)
        for name in gone:
            self._backend.delete(name)
        return gone

    def read(self, from_step: int = 0) -> Iterator[tuple[int, pa.Buffer]]:
        """All frames of ``from_step`` and later, in order, checked."""
        return read_log(self._backend, self.folder, from_step, self._owner)

    def close(self) -> None:
        """Release the log, so that another writer may open it. Safe to call again."""
        self._closed = True
        if self._writer is not None:
            self._writer[1].close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _before(self, step: int, distance: int) -> _Tail:
        """The tail, if ``step`` may come next: not before the last file and not before the last frame."""
        if self._closed:
            raise StorageError(f"{self.folder}: the log is closed; open it again")
        tail = self._known()
        lowest = 0 if tail.last_step is None else tail.last_step + distance
        if not max(lowest, tail.first_step) <= step < _STEP_LIMIT:
            raise StorageError(
                f"{self.folder}: step {step} cannot come next: the log ends with step {tail.last_step} "
                f"and its last file starts at step {tail.first_step}"
            )
        return tail

    def _known(self) -> _Tail:
        """The tail, read from the files if it is unknown."""
        if self._tail is None:
            if self._closed:
                raise StorageError(f"{self.folder}: the log is closed; open it again")
            files = _files(self._backend, self.folder)
            self._tail = self._found(files) if files else _Tail()
        return self._tail

    def _found(self, files: list[str]) -> _Tail:
        name = files[-1]
        if self._writer is not None and (self._writer[0] != name or self._writer[1].broken):
            self._writer[1].close()
            self._writer = None
        if self._writer is None:
            self._writer = (name, self._backend.appender(name))
        # Its owner may have rotated between our listing and our locking.
        if _files(self._backend, self.folder)[-1] != name:
            raise InUse(f"{self.folder}: the log is being appended to by another writer")
        file = LogFile(self._backend, name)
        file.expect(self._owner)
        last_step = _last_step(file, last=True)
        if file.torn:
            self.cut = f"{name}: its last {file.size - file.end} bytes, from byte {file.end} on: {file.torn}"
        # A complete frame may still be only in the page cache of a dead writer; from now on it counts.
        self._backend.sync(name)
        for earlier in reversed(files[:-1]):
            if last_step is not None:
                break
            last_step = _last_step(LogFile(self._backend, earlier), last=False)
        return _Tail(name, file.salt, file.end, file.first_step, last_step, torn=bool(file.torn))

    def _start(self, step: int, tail: _Tail) -> _Tail:
        """Continue in a new file."""
        salt = secrets.randbits(64)
        name = f"{self.folder}/{step:010d}.log"
        self._tail = None
        self._backend.write_new(name, [log_header(salt, step, self._owner)])
        before, self._writer = self._writer, (name, self._backend.appender(name))
        if before is not None:
            before[1].close()
        self._tail = replace(tail, name=name, salt=salt, size=HEADER_SIZE, first_step=step, torn=False)
        return self._tail


def log_owner(pipeline: str, folder: str) -> int:
    """The number by which the files of a log are known: ``pipeline`` is something unique to the pipeline."""
    digest = hashlib.sha256(f"{pipeline}/{folder}".encode()).digest()
    return int.from_bytes(digest[:8], "little")


def read_log(
    backend: Backend, folder: str, from_step: int = 0, owner: int = 0
) -> Iterator[tuple[int, pa.Buffer]]:
    """All frames of ``from_step`` and later, as of now, without owning the log. Stops at a torn tail."""
    files = _files(backend, folder)
    files = files[len(_superseded(files, from_step)) :]
    for number, name in enumerate(files):
        following = files[number + 1] if number + 1 < len(files) else None
        file = LogFile(backend, name)
        file.expect(owner)
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
    """The files whose successor starts at ``step`` or before."""
    return [name for name, following in pairwise(files) if _first_step(following) <= step]
