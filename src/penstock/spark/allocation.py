"""How a worker's process manages its memory.

Every step allocates and frees arrays of the same sizes. By default large ones are returned to the operating
system and come back page by page, each zeroed and faulted in again, which takes longer than the work on it:
merging 1.4 million rows took 240 ms instead of 90. A worker therefore keeps freed memory, shared by NumPy and
Arrow.

Python's garbage collector looks for cycles, of which steps create none. It would scan everything ever
imported again and again, in the middle of a step; so existing objects are frozen, and it runs less often.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from typing import Any

import pyarrow as pa

__all__ = ["collect_rarely", "give_back_excess", "keep_freed_memory", "release_memory"]

KEPT_BYTES = 1 << 30
"""How much freed memory is kept at most; less if the budget of a worker is small."""

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's names for mallopt
_USUAL_THRESHOLDS = gc.get_threshold()
_LARGEST = 32 << 20  # the most that glibc allows for memory that is kept when freed


def kept_bytes(memory: int | None) -> int:
    """How much freed memory a worker with this budget keeps."""
    return KEPT_BYTES if memory is None else min(KEPT_BYTES, max(_LARGEST, memory // 8))


def keep_freed_memory(memory: int | None = None) -> None:
    """From now on freed memory stays with this process, within a share of the budget of ``memory`` bytes.
    Does nothing without glibc."""
    mallopt = _glibc("mallopt")
    if mallopt is None:
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, kept_bytes(memory))
    mallopt(_TOP_PAD, _LARGEST)
    pa.set_memory_pool(pa.system_memory_pool())


def give_back_excess(memory: int | None = None) -> None:
    """Returns freed memory to the system if it is more than steps will soon need again: after an unusually
    large step, such as a first load."""
    trim = _glibc("malloc_trim")
    if trim is not None and free_bytes() > kept_bytes(memory):
        trim(0)


def free_bytes() -> int:
    """How much freed memory this process holds; 0 if unknown."""
    ask = _glibc("mallinfo2")
    if ask is None:
        return 0
    ask.restype = _MallocInfo
    return int(ask().fordblks)


class _MallocInfo(ctypes.Structure):
    """glibc's ``struct mallinfo2``."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _glibc(name: str) -> Any:
    """A function of the C library, if it is glibc and has it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None


def collect_rarely() -> None:
    """From now on the garbage collector ignores existing objects, and waits for more new ones."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def release_memory() -> None:
    """Undoes :func:`collect_rarely` and returns all freed memory: the worker has ended, and Spark may keep
    its process for other tasks."""
    gc.unfreeze()
    gc.set_threshold(*_USUAL_THRESHOLDS)
    gc.collect()
    trim = _glibc("malloc_trim")
    if trim is not None:
        trim(0)
