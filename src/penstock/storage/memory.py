"""Files in this process's memory: the same contract as files on disk, for tests and temporary pipelines.

Durable only as long as the process; exclusive publishing, exclusive appending and alignment work as on disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from penstock.errors import InUse, StorageError
from penstock.storage.interface import (
    IoCounts,
    Names,
    NameTakenError,
    Part,
    Pointer,
    check_name,
    joined,
    to_buffer,
)

__all__ = ["MemoryAppender", "MemoryBackend"]


class MemoryBackend:
    """A dictionary of buffers. Give it a name and :func:`open_backend` finds it again in the same process."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._files: dict[str, pa.Buffer] = {}
        self._held: set[str] = set()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"memory://{self._name}"

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        content = joined(parts)
        with self._lock:
            if check_name(name) in self._files:
                raise NameTakenError(name)
            self._files[name] = content

    @property
    def maps_files(self) -> bool:
        return False

    @property
    def reads_in_place(self) -> bool:
        return True

    @property
    def is_remote(self) -> bool:
        return False

    @property
    def counts(self) -> IoCounts:
        return IoCounts()

    def draft(self) -> MemoryDraft:
        return MemoryDraft(self)

    def open(self, name: str) -> pa.Buffer:
        try:
            return self._files[check_name(name)]
        except KeyError:
            raise StorageError(f"{name} cannot be read: it does not exist") from None

    def read_at(self, name: str, offset: int, length: int) -> pa.Buffer:
        content = self.open(name)
        start = min(offset, content.size)
        return joined([content.slice(start, min(length, content.size - start))])

    def read(self, pointers: Sequence[Pointer]) -> Iterator[pa.Buffer]:
        return (self.read_at(each.name, each.offset, each.length) for each in pointers)

    def read_end(self, name: str, length: int) -> tuple[pa.Buffer, int]:
        size = self.size(name)
        return self.read_at(name, max(0, size - length), length), size

    def prefetch(self, pointers: Sequence[Pointer]) -> None:
        pass

    def get_buffer(self, size: int) -> pa.Buffer:
        return pa.allocate_buffer(size)

    def size(self, name: str) -> int:
        return int(self.open(name).size)

    def list(self, prefix: str = "") -> Names:
        with self._lock:
            return sorted(n for n in self._files if n.startswith(prefix))

    def exists(self, name: str) -> bool:
        return check_name(name) in self._files

    def delete(self, name: str) -> None:
        self._files.pop(check_name(name), None)

    def appender(self, name: str) -> MemoryAppender:
        self.open(name)
        with self._lock:
            if name in self._held:
                raise InUse(f"{name} is being appended to by another writer")
            self._held.add(name)
        return MemoryAppender(name, self._files, self._held)

    def sync(self, name: str) -> None:
        self.open(name)


class MemoryDraft:
    """Collects a file in memory."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend, self._content = backend, bytearray()

    def write_at(self, offset: int, part: Part) -> None:
        buffer = to_buffer(part)
        self._content.extend(bytes(max(0, offset + buffer.size - len(self._content))))
        self._content[offset : offset + buffer.size] = memoryview(buffer)

    def sync(self) -> None:
        pass

    def publish(self, name: str) -> None:
        self._backend.write_new(name, [self._content])

    def discard(self) -> None:
        self._content = bytearray()


class MemoryAppender:
    """Appends by making a new buffer, so what a reader holds never moves: quadratic, and fine for tests."""

    def __init__(self, name: str, files: dict[str, pa.Buffer], held: set[str]) -> None:
        self._name, self._files, self._held = name, files, held
        self.broken = self._closed = False

    def append(self, parts: Sequence[Part], *, durable: bool = True) -> None:
        self._check()
        self._files[self._name] = joined([self._files[self._name], *parts])

    def truncate(self, size: int) -> None:
        self._check()
        self._files[self._name] = joined([self._files[self._name].slice(0, size)])

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._held.discard(self._name)

    def _check(self) -> None:
        if self._closed:
            raise StorageError(f"{self._name} cannot be appended to: its writer is closed; open it again")
