"""Files that grow, in a store whose objects cannot: the file itself, and one small object for every append.

The objects of a file are numbered, and each is created under the condition that its number is free. So they
form one sequence, whoever writes them:

* a *data* object has the bytes of one append: all of them are there or none;
* a *claim* has no bytes: a writer that opens a file takes the next number, and the one before finds its own
  next number taken. It has lost the file, however long it was stopped and whatever its clock says;
* a *cut* says that the file has only so many bytes from here on.

The folder of these objects is hidden (its name begins with a dot) and contains the tag of the file, so what a
deleted file of the same name left behind is never read as part of another.

Cost: a durable append is one request. Others are collected for a second, or until the next durable one, so a
process that is killed may lose them. Reading a file takes one listing and one request per append.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa

from penstock.errors import CorruptionError, InUse, StorageError
from penstock.storage.checksum import HEADER_SIZE, seal, unseal
from penstock.storage.interface import NameTakenError, Part, Pointer, to_buffer
from penstock.storage.object_store import ObjectInfo, ObjectStore

__all__ = ["GrownFile", "ObjectAppender", "grown_file", "parts_folder"]

_MAGIC = b"PENSTPRT"
_FORMAT = 1
_PART = struct.Struct("<8sIIQQ16s")  # magic, format version, kind, number, bytes after a cut, writer
_COLLECTED_S = 1.0
_COLLECTED_BYTES = 64 << 10


class Kind(IntEnum):
    """What a numbered object does."""

    DATA = 1
    CLAIM = 2
    CUT = 3


@dataclass(frozen=True, slots=True)
class GrownFile:
    """A file as it was when it was looked at: where its bytes are, in order, and the last number taken."""

    pieces: tuple[Pointer, ...]
    last: int

    @property
    def size(self) -> int:
        """The length of the file."""
        return sum(piece.length for piece in self.pieces)

    def cut(self, size: int) -> GrownFile:
        """The same without what is behind the first ``size`` bytes."""
        return GrownFile(self.between(0, size), self.last)

    def between(self, start: int, stop: int) -> tuple[Pointer, ...]:
        """Where some of the bytes are."""
        found, at = [], 0
        for piece in self.pieces:
            first, last = max(start - at, 0), min(stop - at, piece.length)
            if first < last:
                found.append(Pointer(piece.name, piece.offset + first, last - first))
            at += piece.length
        return tuple(found)


def parts_folder(name: str, info: ObjectInfo) -> str:
    """Where the objects are that belong to a file."""
    folder, _, last = name.rpartition("/")
    tag = hashlib.blake2b(info.etag.encode(), digest_size=8).hexdigest()
    return f"{folder}/.{last}.{tag}" if folder else f".{last}.{tag}"


def grown_file(
    name: str, info: ObjectInfo, listed: Mapping[str, int], read_head: Callable[[str], pa.Buffer]
) -> GrownFile:
    """Puts a file together from the objects in its folder and their sizes. Only those without bytes are read,
    with ``read_head``."""
    found = GrownFile((Pointer(name, 0, info.size),), 0)
    for number, part in enumerate(sorted(listed), start=1):
        if part.rpartition("/")[2] != f"{number:010d}":
            raise CorruptionError(f"{name}: its part {number} is missing; {part} is there")
        pieces = found.pieces
        if listed[part] > HEADER_SIZE:
            pieces = (*pieces, Pointer(part, HEADER_SIZE, listed[part] - HEADER_SIZE))
        else:
            kind, size = _decoded(part, number, read_head(part))
            if kind is Kind.CUT:
                pieces = found.cut(size).pieces
        found = GrownFile(pieces, number)
    return found


def _encoded(kind: Kind, number: int, writer: bytes, size: int = 0) -> bytes:
    return seal(_PART.pack(_MAGIC, _FORMAT, kind, number, size, writer))


def _decoded(part: str, number: int, content: pa.Buffer) -> tuple[Kind, int]:
    fields = unseal(content)
    if fields is None or not fields.startswith(_MAGIC):
        raise CorruptionError(f"{part}: this part of a log is damaged")
    _, version, kind, written, size, _ = _PART.unpack_from(fields)
    if version != _FORMAT:
        raise StorageError(
            f"{part}: format {version} is not known to this version of Penstock (it reads {_FORMAT}); "
            "a newer one wrote the object"
        )
    if written != number:
        raise CorruptionError(f"{part}: this is part {written}, which was copied or moved")
    return Kind(kind), size


class ObjectAppender:
    """Appends to one file. ``last`` is the last number that is taken; ``released`` is called at the end."""

    def __init__(
        self,
        store: ObjectStore,
        name: str,
        folder: str,
        last: int,
        look: Callable[[], GrownFile],
        released: Callable[[], None],
    ) -> None:
        self._store, self._name, self._folder, self._last = store, name, folder, last
        self._look, self._released = look, released
        self._writer = secrets.token_bytes(16)
        self._collected: list[pa.Buffer] = []
        self._collected_at = 0.0
        self._closed = False
        self.broken = False

    def append(self, parts: Sequence[Part], *, durable: bool = True) -> None:
        self._check()
        if not self._collected:
            self._collected_at = time.monotonic()
        # A caller may change its memory after a call that did not wait for anything.
        self._collected += [to_buffer(part if durable else bytes(to_buffer(part))) for part in parts]
        waited = time.monotonic() - self._collected_at
        if durable or waited > _COLLECTED_S or _bytes(self._collected) > _COLLECTED_BYTES:
            self._flush()

    def truncate(self, size: int) -> None:
        self._check()
        self._flush()
        found = self._look()
        if found.last != self._last:
            self._lost()
        if size < found.size:
            self._put(Kind.CUT, size=size)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            try:
                if not self.broken:
                    self._flush()
            finally:
                self._released()

    def claim(self) -> None:
        """Takes the file away from whoever had it."""
        self._put(Kind.CLAIM)

    def _flush(self) -> None:
        parts, self._collected = self._collected, []
        if _bytes(parts):
            self._put(Kind.DATA, parts)

    def _put(self, kind: Kind, parts: Sequence[Part] = (), size: int = 0) -> None:
        number = self._last + 1
        header = _encoded(kind, number, self._writer, size)
        self.broken = True  # until it is known that it was written
        try:
            self._store.put_new(f"{self._folder}/{number:010d}", [header, *parts])
        except NameTakenError:
            self._lost()
        self._last, self.broken = number, False

    def _lost(self) -> None:
        self.broken = True
        raise InUse(f"{self._name} was taken over by another writer; open it again") from None

    def _check(self) -> None:
        if self.broken or self._closed:
            state = "failed earlier" if self.broken else "is closed"
            raise StorageError(f"{self._name} cannot be appended to: its writer {state}; open it again")


def _bytes(parts: Sequence[Part]) -> int:
    return sum(to_buffer(part).size for part in parts)
