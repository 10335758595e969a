"""A backend that only reads, and holds the files that it was given.

Files of a version may be deleted by the pipeline that goes on meanwhile. Where files are mapped, a mapping
keeps its contents after that, so those that are held can be read as long as this object lives. Mapping a file
reads nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import pyarrow as pa

from penstock.errors import StorageError
from penstock.storage.interface import Appender, Backend, Draft, IoCounts, Names, Part, Pointer

__all__ = ["ReadOnlyBackend"]


class ReadOnlyBackend:
    """Reads from ``inner``; ``held`` are the files to hold, if it maps files."""

    def __init__(self, inner: Backend, held: Iterable[str] = ()) -> None:
        self._inner = inner
        self._held = {name: inner.open(name) for name in held} if inner.maps_files else {}

    @property
    def url(self) -> str:
        return self._inner.url

    @property
    def maps_files(self) -> bool:
        return self._inner.maps_files

    @property
    def reads_in_place(self) -> bool:
        return self._inner.reads_in_place

    @property
    def is_remote(self) -> bool:
        return self._inner.is_remote

    @property
    def counts(self) -> IoCounts:
        return self._inner.counts

    def open(self, name: str) -> pa.Buffer:
        found = self._held.get(name)
        return self._inner.open(name) if found is None else found

    def read_at(self, name: str, offset: int, length: int) -> pa.Buffer:
        found = self._held.get(name)
        if found is None:
            return self._inner.read_at(name, offset, length)
        start = min(offset, found.size)
        return found.slice(start, min(length, found.size - start))

    def read(self, pointers: Sequence[Pointer]) -> Iterator[pa.Buffer]:
        if not self._held:
            yield from self._inner.read(pointers)
            return
        for pointer in pointers:
            yield self.read_at(pointer.name, pointer.offset, pointer.length)

    def read_end(self, name: str, length: int) -> tuple[pa.Buffer, int]:
        size = self.size(name)
        start = max(0, size - length)
        return self.read_at(name, start, size - start), size

    def prefetch(self, pointers: Sequence[Pointer]) -> None:
        self._inner.prefetch(pointers)

    def get_buffer(self, size: int) -> pa.Buffer:
        return self._inner.get_buffer(size)

    def size(self, name: str) -> int:
        found = self._held.get(name)
        return self._inner.size(name) if found is None else int(found.size)

    def list(self, prefix: str = "") -> Names:
        return self._inner.list(prefix)

    def exists(self, name: str) -> bool:
        return name in self._held or self._inner.exists(name)

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        _refuse(name)

    def draft(self) -> Draft:
        _refuse("a new file")

    def delete(self, name: str) -> None:
        _refuse(name)

    def appender(self, name: str) -> Appender:
        _refuse(name)

    def sync(self, name: str) -> None:
        """Whoever only reads leaves that to the writer."""


def _refuse(name: str) -> NoReturn:
    raise StorageError(f"{name} cannot be written: the storage was opened to be read only")
