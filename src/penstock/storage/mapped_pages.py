"""Whether a page of a mapped file is in the system's cache, where the system tells."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Any

__all__ = ["is_in_memory"]


def is_in_memory(address: int) -> bool:
    """Whether the page at an address of a mapping can be read without waiting; True if unknown."""
    if _mincore is None:
        return True
    found = (ctypes.c_ubyte * 1)()
    page = address // mmap.PAGESIZE * mmap.PAGESIZE
    failed = _mincore(ctypes.c_void_p(page), ctypes.c_size_t(1), found)
    return bool(failed) or bool(found[0] & 1)


def _find_mincore() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return ctypes.CDLL(None, use_errno=True).mincore


_mincore = _find_mincore()
