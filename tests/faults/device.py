"""A disk that fails once: the n-th system call of the storage raises EIO or ENOSPC, and the next ones work.

The calls of :mod:`penstock.storage.local` (and those for reading of :mod:`.positional`) are replaced, not the
backend, so that its own clean-up after a failed write, sync or link is tested too.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from penstock.storage import local, positional

WRITES = ("writev", "fsync", "fdatasync", "link", "ftruncate", "open")
READS = ("preadv", "memory_map")


class Device:
    """Counts the calls of some kinds; fails number ``at``."""

    def __init__(self, at: int, code: int, calls: tuple[str, ...]) -> None:
        self.at, self.code, self.calls = at, code, calls
        self.count = 0
        self.failed = self.target = ""  # which call, and its first argument

    def wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*arguments: Any, **options: Any) -> Any:
            if name in self.calls:
                self.count += 1
                if self.count == self.at:
                    self.failed, self.target = name, str(arguments[0])
                    raise OSError(self.code, os.strerror(self.code))
            return call(*arguments, **options)

        return failing


class _Replaced:
    """A module with some of its functions replaced."""

    def __init__(self, module: Any, device: Device, names: tuple[str, ...] = (*WRITES, *READS)) -> None:
        self._module, self._device, self._names = module, device, names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._device.wrapped(name, found) if name in self._names else found


@contextmanager
def failing(at: int, code: int = errno.EIO, calls: tuple[str, ...] = WRITES) -> Iterator[Device]:
    """While this lasts, call number ``at`` of the storage fails."""
    device = Device(at, code, calls)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "os", _Replaced(os, device))
        patch.setattr(local, "pa", _Replaced(pa, device))
        patch.setattr(positional, "os", _Replaced(os, device, READS))
        patch.setattr(local, "_sync_data", device.wrapped("fdatasync", os.fdatasync))
        yield device
