"""The right to append, where there are no file locks: a small object that its holder renews.

Whoever wants the lease creates the object, or replaces one that expired or was given up, under the condition
that nobody else replaced it meanwhile. So at any time there is one holder at most who renews it.

A holder that was stopped for longer than the lease lasts does not know yet that another took over, and clocks
may differ: the lease keeps writers apart in the normal case, and tells a second one at once that there is a
first. That a former holder cannot write is up to the log (:mod:`.object_log`), not to time.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass

from penstock.errors import InUse, StorageError
from penstock.storage.interface import NameTakenError
from penstock.storage.object_store import ObjectStore

__all__ = ["LASTS_S", "Lease"]

LASTS_S = 15.0
"""How long a lease is valid if nobody renews it."""


@dataclass(frozen=True)
class _Held:
    """The content of the object. ``until`` is in seconds since 1970, by the holder's clock."""

    holder: str
    pid: int
    host: str
    until: float

    @property
    def is_over(self) -> bool:
        return self.until < time.time() or self._is_dead()

    def _is_dead(self) -> bool:
        """Whether the holder is known to be gone, because it was a process of this machine."""
        if self.host != socket.gethostname():
            return False
        with suppress(PermissionError):
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return True
        return False


class Lease:
    """Holds the lease ``name`` from its creation on until :meth:`release`. ``what`` is what it protects."""

    def __init__(self, store: ObjectStore, name: str, what: str) -> None:
        self._store, self._name, self._what = store, name, what
        self._holder = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._tag: str | None = self._acquired()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-lease", daemon=True)
        self._thread.start()

    def confirm(self) -> None:
        """Renews it now; raises if another took over."""
        with self._lock:
            if self._tag is not None:
                self._tag = self._store.replace(self._name, self._content(LASTS_S), self._tag)
            if self._tag is None:
                raise InUse(f"{self._what} was taken over by another writer; open it again")

    def release(self) -> None:
        """Gives it up. Another can have it at once."""
        self._stopped.set()
        self._thread.join()
        with self._lock, suppress(StorageError):
            if self._tag is not None:
                self._store.replace(self._name, self._content(0), self._tag)
            self._tag = None

    def _acquired(self) -> str:
        found = self._store.get_tagged(self._name)
        if found is None:
            try:
                return self._store.put_new(self._name, [self._content(LASTS_S)])
            except NameTakenError:
                raise self._in_use("another process") from None
        content, tag = found
        held = _read(content)
        if held is not None and not held.is_over:
            raise self._in_use(f"process {held.pid} on {held.host}")
        replaced = self._store.replace(self._name, self._content(LASTS_S), tag)
        if replaced is None:
            raise self._in_use("another process")
        return replaced

    def _in_use(self, who: str) -> InUse:
        return InUse(
            f"{self._what} is being appended to by another writer ({who}); if that one was killed, try again "
            f"in {LASTS_S:.0f} s"
        )

    def _content(self, lasts_s: float) -> bytes:
        until = time.time() + lasts_s if lasts_s else 0.0
        held = _Held(self._holder, os.getpid(), socket.gethostname(), until)
        return json.dumps(asdict(held)).encode()

    def _run(self) -> None:
        while not self._stopped.wait(LASTS_S / 3):
            try:
                self.confirm()
            except InUse:
                return
            except StorageError:
                continue  # whoever appends reports it


def _read(content: bytes) -> _Held | None:
    """None if it is not a lease that anybody can hold."""
    try:
        return _Held(**json.loads(content))
    except (ValueError, TypeError):
        return None
