"""Large files are written past the system's cache.

Why: what is written through the cache takes a page of memory for every page of the file. On a machine whose
memory is mostly free or holds other files, finding and filling those pages takes longer than the disk does
(docs/decisions.md 40), and the cache is of no use: whoever wrote a segment has its batches in memory.

Such a write must start, in memory and in the file, at a multiple of the disk's block. Parts lie anywhere, so
they are gathered in one aligned buffer that is written and filled again; the last block is filled up with
zeros and the file cut to its length. A file system that cannot do this says so at once, and is written to
in the ordinary way.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["SMALLEST", "write_direct"]

SMALLEST = 4 << 20
"""Bytes from which on it pays."""
_BLOCK = 4096  # every disk's block divides it
_GATHERED = 4 << 20
_FLAG: int = getattr(os, "O_DIRECT", 0)


def write_direct(path: Path, parts: Sequence[pa.Buffer]) -> bool:
    """Makes a new file of the parts and syncs it. False, and no file, if the file system cannot do that."""
    if not _FLAG:
        return False
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | _FLAG, 0o666)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        path.unlink(missing_ok=True)  # some systems make the file before they refuse
        return False
    try:
        _write(file, parts)
        os.fsync(file)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        path.unlink()
        return False
    finally:
        os.close(file)
    return True


def _write(file: int, parts: Sequence[pa.Buffer]) -> None:
    size = 0
    with mmap.mmap(-1, _GATHERED) as memory:
        for filled in _gathered(memory, parts):
            whole = -(-filled // _BLOCK) * _BLOCK
            memory[filled:whole] = bytes(whole - filled)
            _write_blocks(file, memory, whole)
            size += filled
    os.ftruncate(file, size)


def _gathered(memory: mmap.mmap, parts: Sequence[pa.Buffer]) -> Iterator[int]:
    """Fills the memory with the parts, again and again; how many bytes, all of them but for the last time."""
    target: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
    filled = 0
    for part in parts:
        source = np.frombuffer(part, np.uint8)
        taken = 0
        while taken < len(source):
            count = min(len(source) - taken, len(target) - filled)
            np.copyto(target[filled : filled + count], source[taken : taken + count])  # leaves Python's lock
            taken += count
            filled += count
            if filled == len(target):
                yield filled
                filled = 0
    if filled:
        yield filled
    del target  # or the memory could not be given back


def _write_blocks(file: int, memory: mmap.mmap, size: int) -> None:
    done = 0
    with memoryview(memory) as view:
        while done < size:
            with view[done:size] as rest:
                done += os.writev(file, [rest])
            if done % _BLOCK:
                raise OSError(errno.EIO, "the disk took a part of a block")
