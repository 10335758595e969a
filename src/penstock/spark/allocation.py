"""How a worker's process keeps its memory.

Every step allocates and frees arrays of the same sizes. By default large ones go back to the operating system
and come back page by page, each page zeroed and faulted in anew, which takes longer than the work on it:
merging 1.4 million rows took 240 ms instead of 90. A worker therefore keeps what it has once used, and lets
NumPy and Arrow share it.

What Python's garbage collector looks for are cycles, of which steps make none. It would look through all that
was ever imported again and again, in the middle of a step; so that is set apart, and it looks more rarely.
"""

from __future__ import annotations

import ctypes
import gc
import sys

import pyarrow as pa

__all__ = ["collect_rarely", "keep_freed_memory"]

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's names for mallopt
_LARGEST = 32 << 20  # the most that glibc allows below which memory is kept


def keep_freed_memory() -> None:
    """From now on freed memory stays with this process. Without glibc nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, 1 << 30)
    mallopt(_TOP_PAD, 2 * _LARGEST)
    pa.set_memory_pool(pa.system_memory_pool())


def collect_rarely() -> None:
    """From now on the garbage collector leaves alone what is there, and waits for more new objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
