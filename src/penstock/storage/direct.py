"""Large files are written with direct I/O, bypassing the page cache.

Why: a write through the cache needs a page of memory for every page of the file. On a machine whose memory is
mostly free or holds other files, finding and filling those pages takes longer than the disk does
(docs/decisions.md 40), and the cache is of no use: the worker that wrote a segment has its batches in memory.

Direct writes must be aligned to the disk's block size, in memory and in the file. Parts can be anywhere, so
they are copied into one aligned buffer that is written and filled again; the last block is padded with zeros
and the file truncated to its length. A file system without direct I/O reports an error at once, and is
written to in the ordinary way.
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

__all__ = ["BLOCK", "DIRECT_FLAG", "SMALLEST", "write_direct"]

SMALLEST = 4 << 20
"""The file size in bytes from which on direct I/O pays."""
BLOCK = 4096
"""A multiple of every disk's block size."""
_GATHERED = 4 << 20
DIRECT_FLAG: int = getattr(os, "O_DIRECT", 0)
"""For opening a file; 0 where there is no direct I/O."""


def write_direct(path: Path, parts: Sequence[pa.Buffer]) -> bool:
    """Writes a new file of the parts and syncs it. False, and no file, if the file system cannot do that."""
    if not DIRECT_FLAG:
        return False
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | DIRECT_FLAG, 0o666)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        path.unlink(missing_ok=True)  # some systems create the file before they report the error
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
            whole = -(-filled // BLOCK) * BLOCK
            memory[filled:whole] = bytes(whole - filled)
            _write_blocks(file, memory, whole)
            size += filled
    os.ftruncate(file, size)


def _gathered(memory: mmap.mmap, parts: Sequence[pa.Buffer]) -> Iterator[int]:
    """Fills the buffer with the parts, repeatedly; yields how many bytes, which is all of them except the
    last time."""
    target: NDArray[np.uint8] = np.frombuffer(memory, np.uint8)
    filled = 0
    for part in parts:
        source = np.frombuffer(part, np.uint8)
        taken = 0
        while taken < len(source):
            count = min(len(source) - taken, len(target) - filled)
            np.copyto(target[filled : filled + count], source[taken : taken + count])  # releases the GIL
            taken += count
            filled += count
            if filled == len(target):
                yield filled
                filled = 0
    if filled:
        yield filled
    del target  # otherwise the memory could not be freed


def _write_blocks(file: int, memory: mmap.mmap, size: int) -> None:
    done = 0
    with memoryview(memory) as view:
        while done < size:
            with view[done:size] as rest:
                done += os.writev(file, [rest])
            if done % BLOCK:
                raise OSError(errno.EIO, "the disk took a part of a block")
