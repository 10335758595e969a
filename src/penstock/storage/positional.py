"""Positional reads of local files: a few open descriptors, and direct I/O where the file system has it.

Direct reads bypass the page cache: the pool is then the only cache, and what it holds is all that is held.
They must be aligned to the disk's blocks, in memory and in the file, so a little more is read than was asked
for. A file system that refuses direct I/O is read in the ordinary way.

Descriptors are kept open for the next read, up to a bound, unless their file was deleted meanwhile.
"""

from __future__ import annotations

import errno
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.storage.direct import BLOCK, DIRECT_FLAG

__all__ = ["PositionalFiles", "aligned_buffer", "read_fully"]

DESCRIPTORS_MAX = 256
_advise = getattr(os, "posix_fadvise", None)


class _Descriptor:
    """An open file, closed with the last reference to it: a reader in another thread may still use it."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class PositionalFiles:
    """Reads files by position. Safe for several threads. ``direct`` asks for direct I/O."""

    def __init__(self, *, direct: bool) -> None:
        self.is_direct = direct and bool(DIRECT_FLAG)
        self._open: OrderedDict[Path, _Descriptor] = OrderedDict()
        self._lock = threading.Lock()
        self.reads = self.bytes_read = 0

    def read(self, path: Path, offset: int, length: int) -> pa.Buffer:
        """Up to ``length`` bytes from ``offset`` on."""
        start = offset // BLOCK * BLOCK if self.is_direct else offset
        whole = aligned_buffer(-(-(offset + length - start) // BLOCK) * BLOCK if self.is_direct else length)
        file = self._file(path)
        try:
            found = whole.slice(0, read_fully(file.number, whole, start))
        except OSError as error:
            if not self.is_direct or error.errno != errno.EINVAL:
                raise
            self._without_direct()
            return self.read(path, offset, length)
        with self._lock:
            self.reads += 1
            self.bytes_read += found.size
        skipped = min(offset - start, found.size)
        return found.slice(skipped, min(length, found.size - skipped))

    def announce(self, path: Path, ranges: Sequence[tuple[int, int]]) -> None:
        """Makes the system read into its page cache, which mappings use too. Errors are left to whoever reads
        the bytes."""
        if _advise is None:
            return
        with suppress(OSError):
            file = _Descriptor(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            for offset, length in ranges:
                _advise(file.number, offset, length, os.POSIX_FADV_WILLNEED)

    def _file(self, path: Path) -> _Descriptor:
        with self._lock:
            file = self._open.pop(path, None)
            if file is None:
                self._forget_deleted()
                file = _Descriptor(self._opened(path))
            self._open[path] = file
            if len(self._open) > DESCRIPTORS_MAX:
                self._open.popitem(last=False)  # closed when the last reader is done with it
            return file

    def _forget_deleted(self) -> None:
        """A deleted file keeps its space on disk as long as it is open."""
        for path, file in list(self._open.items()):
            if os.fstat(file.number).st_nlink == 0:
                del self._open[path]

    def _opened(self, path: Path) -> int:
        flags = os.O_RDONLY | os.O_CLOEXEC
        if self.is_direct:
            try:
                return os.open(path, flags | DIRECT_FLAG)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self.is_direct = False
        return os.open(path, flags)

    def _without_direct(self) -> None:
        """The file system takes the flag, and refuses to read."""
        with self._lock:
            self.is_direct = False
            self._open.clear()


def aligned_buffer(size: int) -> pa.Buffer:
    """Memory that can be written to and starts at a multiple of a disk block."""
    whole = np.frombuffer(pa.allocate_buffer(size + BLOCK), np.uint8)
    start = -whole.ctypes.data % BLOCK
    return pa.py_buffer(whole[start : start + size])


def read_fully(descriptor: int, buffer: pa.Buffer, offset: int) -> int:
    """Fills the buffer from the file; returns how many bytes were there, which may be fewer at its end."""
    view, done = memoryview(buffer).cast("B"), 0
    while done < len(view):
        count = os.preadv(descriptor, [view[done:]], offset + done)
        done += count
        if count == 0 or (count % BLOCK and done < len(view) and offset + done >= _size(descriptor)):
            break  # at the end; a direct read must not be continued there
    return done


def _size(descriptor: int) -> int:
    return os.fstat(descriptor).st_size
