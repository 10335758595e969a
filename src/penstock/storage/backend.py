"""The available backends, and how a path or URL selects one.

A plain path or ``file:///…`` is a folder of files; ``memory://name`` lives in this process only and is found
again under the same name; ``memory://`` is a fresh one each time. Anything else is rejected with this list.
"""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.errors import StorageError
from penstock.storage.interface import Appender, Backend, Part
from penstock.storage.local import LocalBackend
from penstock.storage.memory import MemoryBackend

__all__ = ["Appender", "Backend", "LocalBackend", "MemoryBackend", "Part", "open_backend"]

_memory: dict[str, MemoryBackend] = {}
_memory_lock = threading.Lock()


def open_backend(url_or_path: str | Path) -> Backend:
    """The backend for a storage location as a user writes it. A missing folder is made when written to."""
    text = str(url_or_path)
    scheme, separator, rest = text.partition("://")
    if isinstance(url_or_path, Path) or not separator:
        return LocalBackend(Path(text).expanduser())
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise StorageError(
                f"{text}: a file URL has three slashes (file:///path); {parts.netloc!r} is a host"
            )
        return LocalBackend(Path(unquote(parts.path)))
    if scheme == "memory":
        return _named_memory(rest) if rest else MemoryBackend()
    raise StorageError(
        f"{text}: storage is a folder, file:///folder or memory://name; {scheme}:// is not known"
    )


def _named_memory(name: str) -> MemoryBackend:
    with _memory_lock:
        return _memory.setdefault(name, MemoryBackend(name))
