"""The available backends, and how a path or URL selects one.

A plain path or ``file:///…`` is a folder of files, which are mapped; ``?io=pread`` and ``?io=direct`` read
them by position. ``s3://bucket/prefix`` (and ``gs://``, ``az://``) is an object store. ``memory://name``
lives in this process only and is found again under the same name; ``memory://`` is a fresh one each time.
Anything else is rejected with this list.
"""

from __future__ import annotations

import threading
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.errors import StorageError
from penstock.storage.interface import Appender, Backend, Part
from penstock.storage.local import Io, LocalBackend
from penstock.storage.memory import MemoryBackend
from penstock.storage.object_store import SCHEMES
from penstock.storage.objects import ObjectBackend

__all__ = [
    "Appender",
    "Backend",
    "LocalBackend",
    "MemoryBackend",
    "ObjectBackend",
    "Part",
    "local_folder",
    "open_backend",
]

_memory: dict[str, MemoryBackend] = {}
_memory_lock = threading.Lock()


def open_backend(url_or_path: str | Path) -> Backend:
    """The backend for a storage location as a user writes it. A missing folder is made when written to."""
    text = str(url_or_path)
    scheme, separator, rest = text.partition("://")
    if isinstance(url_or_path, Path) or not separator:
        return LocalBackend(Path(text).expanduser())
    if scheme == "file":
        return _from_file_url(text)
    if scheme == "memory":
        return _named_memory(rest) if rest else MemoryBackend()
    if scheme in SCHEMES:
        return ObjectBackend(text)
    raise StorageError(
        f"{text}: storage is a folder, file:///folder, s3://bucket/prefix, gs://…, az://… or memory://name; "
        f"{scheme}:// is not known"
    )


def local_folder(url_or_path: str | Path) -> Path | None:
    """The folder that a storage location is, if it is one and exists."""
    text = str(url_or_path)
    folder = Path(unquote(urlsplit(text).path)) if text.startswith("file://") else Path(text)
    return folder if folder.is_dir() else None


def _from_file_url(text: str) -> LocalBackend:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise StorageError(f"{text}: a file URL has three slashes (file:///path); {parts.netloc!r} is a host")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    io = options.pop("io", Io.MAPPED)
    if options or io not in list(Io):
        raise StorageError(f"{text}: the only option is io, which is one of {', '.join(Io)}")
    return LocalBackend(Path(unquote(parts.path)), Io(io))


def _named_memory(name: str) -> MemoryBackend:
    with _memory_lock:
        return _memory.setdefault(name, MemoryBackend(name))
