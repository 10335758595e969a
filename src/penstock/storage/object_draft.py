"""An object in the making: a temporary local file, uploaded when it is published.

Nobody else sees it before that. It takes as much local disk as the object will have, in the folder for
temporary files (``TMPDIR``); a process that is killed leaves it there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage.interface import Part, check_name, to_buffer
from penstock.storage.object_store import ObjectStore

__all__ = ["ObjectDraft"]


class ObjectDraft:
    """Writes a temporary file and publishes it to ``store``."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        try:
            descriptor, path = tempfile.mkstemp(prefix="penstock-draft-")
        except OSError as error:
            raise StorageError(f"a temporary file cannot be made: {error}; set TMPDIR") from error
        self._file, self._path = descriptor, Path(path)

    def write_at(self, offset: int, part: Part) -> None:
        buffer = to_buffer(part)
        try:
            while buffer.size:
                count = os.pwrite(self._file, buffer, offset)
                buffer, offset = buffer.slice(count), offset + count
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error}; set TMPDIR") from error

    def sync(self) -> None:
        pass

    def publish(self, name: str) -> None:
        self._store.put_file(check_name(name), self._path, os.fstat(self._file).st_size)
        self.discard()

    def discard(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._path.unlink(missing_ok=True)

    def __del__(self) -> None:
        if getattr(self, "_file", -1) >= 0:
            self.discard()
