"""A local file in the making: a temporary file that is linked to its name when it is complete.

As with every publication, readers see nothing or the whole file (:mod:`.local`). Regions that are never
written are holes, which take no space. The temporary file of a killed process is removed by a later one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from penstock.errors import StorageError
from penstock.storage.interface import NameTakenError, Part, to_buffer

__all__ = ["LocalDraft"]


class LocalDraft:
    """Writes ``temporary``; ``publish_as`` links it to a name, durably."""

    def __init__(self, temporary: Path, publish_as: Callable[[Path, str], None]) -> None:
        self._temporary, self._publish_as = temporary, publish_as
        try:
            self._file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StorageError(f"{temporary.name} cannot be written: {error}") from error

    def write_at(self, offset: int, part: Part) -> None:
        buffer = to_buffer(part)
        try:
            while buffer.size:
                count = os.pwrite(self._file, buffer, offset)
                buffer, offset = buffer.slice(count), offset + count
        except OSError as error:
            raise StorageError(f"{self._temporary.name} cannot be written: {error}") from error

    def sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            raise StorageError(f"{self._temporary.name} cannot be synced: {error}") from error

    def publish(self, name: str) -> None:
        self.sync()
        try:
            self._publish_as(self._temporary, name)
        except FileExistsError:
            raise NameTakenError(name) from None
        except OSError as error:
            raise StorageError(f"{name} cannot be written: {error}") from error
        self.discard()

    def discard(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self._temporary.unlink(missing_ok=True)

    def __del__(self) -> None:
        if getattr(self, "_file", -1) >= 0:
            self.discard()
