"""Blocks of objects on a local disk, so that an object store is asked for each of them once.

A block is a fixed range of an object. Objects never change, and the key contains the object's tag, so there
is nothing to invalidate. Each block is a file of its own with a checksum in front: one that was damaged, cut
or replaced counts as missing. Writing goes through a temporary file and a rename, and nothing is synced.

So several processes can share a folder, and anybody may delete files in it at any time. What does not work
(a full disk, a folder without permission) is skipped: the cache saves time and never causes an error.

The least recently used files are deleted when all together exceed the bound. A process knows what it added
itself and looks at the folder now and then, so processes that write at the same time may exceed it a little.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from penstock.storage.checksum import crc32c
from penstock.storage.interface import Part, to_buffer

__all__ = ["BlockCache", "cache_folder"]

_HEAD = 64  # of which 4 are the checksum, so that the content is aligned
_SUFFIX = ".block"
_KEPT = 0.8  # of the bound, after files were deleted
_LOOK_AFTER = 0.05  # of the bound: what is added before the folder is looked at again


class BlockCache:
    """Up to ``most`` bytes of blocks in ``folder``."""

    def __init__(self, folder: Path, most: int) -> None:
        self.folder, self.most = folder, most
        self._added: int | None = None  # since the folder was looked at; None: never
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def get(self, key: str) -> pa.Buffer | None:
        """A block, if it is there and sound."""
        path = self._path(key)
        try:
            content = to_buffer(path.read_bytes())
        except OSError:
            self.misses += 1
            return None
        block = content.slice(min(_HEAD, content.size))
        if content.size < _HEAD or bytes(content.slice(0, 4)) != _checksum(block):
            with suppress(OSError):
                path.unlink()
            self.misses += 1
            return None
        with suppress(OSError):
            os.utime(path)  # used now
        self.hits += 1
        return block

    def put(self, key: str, block: Part) -> None:
        """Adds a block."""
        path, content = self._path(key), to_buffer(block)
        temporary = path.with_name(f"{secrets.token_hex(8)}.new")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with temporary.open("xb") as file:
                    file.write(_checksum(content).ljust(_HEAD, b"\0"))
                    file.write(content)
                temporary.replace(path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        except OSError:
            return
        with self._lock:
            due = self._added is None or self._added + content.size > _LOOK_AFTER * self.most
            self._added = 0 if due else (self._added or 0) + content.size
        if due:
            self._trim()

    def _trim(self) -> None:
        """Deletes the least recently used files if there are too many."""
        files = []
        with suppress(OSError):
            for path in self.folder.glob("*/*"):
                with suppress(OSError):
                    found = path.stat()
                    files.append((found.st_mtime, found.st_size, path))
        held = sum(size for _, size, _ in files)
        if held <= (1 - _LOOK_AFTER) * self.most:
            return
        for _, size, path in sorted(files):
            if held <= _KEPT * self.most:
                break
            with suppress(OSError):
                path.unlink()
            held -= size

    def _path(self, key: str) -> Path:
        digest = hashlib.blake2b(key.encode(), digest_size=20).hexdigest()
        return self.folder / digest[:2] / f"{digest[2:]}{_SUFFIX}"


def _checksum(block: pa.Buffer) -> bytes:
    return crc32c([block]).to_bytes(4, "little")


def cache_folder() -> Path | None:
    """Where files go that can be made again (``PENSTOCK_CACHE``), by default ``penstock`` in the user's cache
    folder; None if there should be none (``off``)."""
    chosen = os.environ.get("PENSTOCK_CACHE")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # a user without a home
        return (Path(base) if base else Path.home() / ".cache") / "penstock"
    return None
