"""The storage interface: a few operations on named, immutable files, and append-only ones.

Invariant: once a name is visible, it has its complete and final content. ``write_new`` publishes a complete
and synced file atomically and never replaces another, so readers need no locks and a writer that dies or is
fenced off leaves nothing but an invisible temporary file. The only files that grow are those made for an
:class:`Appender`; what one ``append`` wrote is durable when the call returns.

Every byte Penstock stores passes through these protocols, so a test can inject a fault anywhere by wrapping
them, and files, memory and object stores share all formats. Names are relative and use forward slashes
(``segments/000012-w03-ab12cd.seg``) on every platform.

The unit of reading is a :class:`Pointer`: some bytes of a published file. Readers pass all pointers that they
need in one call, so a backend can join neighbours and read many at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa

from penstock.errors import StorageError

__all__ = [
    "GROWING",
    "Appender",
    "Backend",
    "Draft",
    "IoCounts",
    "NameTakenError",
    "Names",
    "Part",
    "Pointer",
    "check_name",
    "joined",
    "to_buffer",
]

# Anything with contiguous bytes. Writers take sequences of parts so that callers need not concatenate them.
Part: TypeAlias = bytes | bytearray | memoryview | pa.Buffer

# ``Backend.list`` hides the builtin inside the class body, where annotations are resolved.
Names: TypeAlias = list[str]

GROWING = ".log"
"""How the names of files end that may be appended to."""

# No component may start with a dot: that keeps "..", hidden files and the temporary folder out of reach.
_NAME = re.compile(r"[A-Za-z0-9_=+@-][A-Za-z0-9._=+@-]*(/[A-Za-z0-9_=+@-][A-Za-z0-9._=+@-]*)*")


@dataclass(frozen=True, slots=True, order=True)
class Pointer:
    """``length`` bytes from ``offset`` on of a file."""

    name: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class IoCounts:
    """What a backend read since it was made. Mapped pages, which the system reads, are not counted."""

    reads: int = 0
    """Requests to the file system or the object store."""
    bytes_read: int = 0
    prefetched: int = 0
    """Pointers that were read, or announced to the system, before somebody asked for their bytes."""
    waits: int = 0
    """Pointers whose bytes were not there yet when somebody asked for them."""
    cache_hits: int = 0
    """Blocks of objects that were found in the local cache."""
    cache_misses: int = 0


class NameTakenError(StorageError):
    """The name has already been published, by another writer. Names are never published twice."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} exists already and is never overwritten")


class Appender(Protocol):
    """The one writer of a growing file. Not for use by several threads at once."""

    @property
    def broken(self) -> bool:
        """Whether an append failed such that the contents on disk are unknown. Then close it."""

    def append(self, parts: Sequence[Part], *, durable: bool = True) -> None:
        """Add the parts at the end with one write and, if ``durable``, one sync.

        If it raises a StorageError, the file is as it was before, or else the appender is ``broken`` and
        refuses all further appends. After any other exception (an interrupt) the file may hold all of the
        parts, some bytes of them, or nothing: check before appending again.
        """

    def truncate(self, size: int) -> None:
        """Cut the file to ``size`` bytes, durably."""

    def close(self) -> None:
        """Release the file, so that another appender may be made for it. Safe to call twice."""


class Draft(Protocol):
    """A file in the making, written piece by piece and invisible until it is published."""

    def write_at(self, offset: int, part: Part) -> None:
        """Writes at a position. What is never written stays zero."""

    def sync(self) -> None:
        """Makes what was written so far durable, so that publishing need not wait for all of it."""

    def publish(self, name: str) -> None:
        """Makes the file visible under a new name, complete and durable; as :meth:`Backend.write_new`."""

    def discard(self) -> None:
        """Removes the file, unless it was published. Safe to call twice."""


class Backend(Protocol):
    """A place where files live. Every failure is a :class:`StorageError` that names the file."""

    @property
    def url(self) -> str:
        """What to pass to :func:`penstock.storage.open_backend` to reach the same storage."""

    @property
    def maps_files(self) -> bool:
        """Whether :meth:`open` maps files: then the system can take the pages of a buffer back at any
        time."""

    @property
    def reads_in_place(self) -> bool:
        """Whether :meth:`open` reads nothing, because files are mapped or in memory. If not, large files are
        read piece by piece."""

    @property
    def is_remote(self) -> bool:
        """Whether waiting for an answer takes much longer than reading a block: then it pays to read what may
        be needed before that is known."""

    @property
    def counts(self) -> IoCounts:
        """What was read so far."""

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        """Publish a new file, complete and durable; NameTakenError if the name is taken.

        If it raises anything else the file may or may not have been published (its content is complete in
        either case): check before deciding what to do next.
        """

    def draft(self) -> Draft:
        """A new file, to be written piece by piece and then published."""

    def open(self, name: str) -> pa.Buffer:
        """The whole content, without a copy where the platform can map files; starts 64-byte aligned."""

    def read_at(self, name: str, offset: int, length: int) -> pa.Buffer:
        """A copy of up to ``length`` bytes from ``offset`` (fewer at the end of the file), 64-byte aligned.

        For files that may still grow or be cut: a mapping of those would kill the process when cut.
        """

    def read(self, pointers: Sequence[Pointer]) -> Iterator[pa.Buffer]:
        """Copies of the bytes at each pointer, in that order (fewer at the end of a file). All of them are
        requested before the first is waited for, as far as a bound on memory allows."""

    def read_end(self, name: str, length: int) -> tuple[pa.Buffer, int]:
        """The last ``length`` bytes of a file (all of a shorter one), and how long the file is."""

    def prefetch(self, pointers: Sequence[Pointer]) -> None:
        """Starts to read what :meth:`read` will be asked for soon, with the same pointers. It does not wait,
        reports no errors, and may do nothing."""

    def get_buffer(self, size: int) -> pa.Buffer:
        """Memory that this backend can read into and write from without copying it."""

    def size(self, name: str) -> int:
        """The file's length in bytes."""

    def list(self, prefix: str = "") -> Names:
        """All names that start with ``prefix``, sorted."""

    def exists(self, name: str) -> bool:
        """Whether the name is published."""

    def delete(self, name: str) -> None:
        """Remove a file; no error if it does not exist. After a power cut it may reappear, complete."""

    def appender(self, name: str) -> Appender:
        """The exclusive right to append to an existing file, whose name must end in ``GROWING``; an error if
        another appender holds it."""

    def sync(self, name: str) -> None:
        """Make the content and the visibility of an existing file durable.

        For recovery: the process that published or appended may have died just before its own sync.
        """


def check_name(name: str) -> str:
    """The name itself, if it is valid."""
    if not _NAME.fullmatch(name):
        raise StorageError(
            f"{name!r} is not a storage name: use letters, digits and ._=+@- with forward slashes between"
        )
    return name


def to_buffer(part: Part) -> pa.Buffer:
    """The part as an Arrow buffer, never copied. Its ``size`` is in bytes, unlike a memoryview's len."""
    return part if isinstance(part, pa.Buffer) else pa.py_buffer(part)


def joined(parts: Sequence[Part]) -> pa.Buffer:
    """The parts in one buffer from Arrow's own allocator, which aligns to 64 bytes as a mapping would."""
    buffers = [to_buffer(p) for p in parts]
    whole = pa.allocate_buffer(sum(b.size for b in buffers))
    with pa.FixedSizeBufferWriter(whole) as out:
        for buffer in buffers:
            out.write(buffer)
    return whole
