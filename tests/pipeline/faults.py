"""Crashes and losses at every point: a backend that dies at its n-th write, workers at their n-th call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from penstock.errors import WorkerLost
from penstock.schedule import Message
from penstock.schedule.opening import Opening, Written
from penstock.storage import Appender, MemoryBackend, Part
from tests.schedule.inline import Meanwhile, Resident, Staged

_Result = TypeVar("_Result")


class Crash(BaseException):
    """The process is gone: nothing in it may run on, not even an ``except Exception``."""


class CrashingBackend(MemoryBackend):
    """Dies at the write number ``at``: before it, or (an append) with half of it done.

    To die after a write is to die before the next one: nothing else outlives the process."""

    def __init__(self, at: int = -1, how: str = "before") -> None:
        super().__init__()
        self.at, self.how, self.writes = at, how, 0
        self.appends: list[int] = []

    def survive(self) -> None:
        """The machine comes back: locks of the dead process are gone, and nothing fails any more."""
        self._held.clear()
        self.at = -1

    def count(self, write: Callable[[], None], torn: Callable[[], None] | None = None) -> None:
        self.writes += 1
        if torn is not None:
            self.appends.append(self.writes)
        if self.writes != self.at:
            write()
            return
        if self.how == "torn" and torn is not None:
            torn()
        raise Crash(f"at write {self.at}, {self.how}")

    def write_new(self, name: str, parts: Sequence[Part]) -> None:
        self.count(lambda: super(CrashingBackend, self).write_new(name, parts))

    def delete(self, name: str) -> None:
        self.count(lambda: super(CrashingBackend, self).delete(name))

    def appender(self, name: str) -> Appender:  # type: ignore[override]
        return _CrashingAppender(self, super().appender(name))


class _CrashingAppender:
    def __init__(self, backend: CrashingBackend, inner: Appender) -> None:
        self._backend, self._inner = backend, inner

    @property
    def broken(self) -> bool:
        return self._inner.broken

    def append(self, parts: Sequence[Part], *, durable: bool = True) -> None:
        whole = b"".join(bytes(pa.py_buffer(part)) for part in parts)
        self._backend.count(
            lambda: self._inner.append([whole], durable=durable),
            lambda: self._inner.append([whole[: len(whole) // 2]], durable=durable),
        )

    def truncate(self, size: int) -> None:
        self._backend.count(lambda: self._inner.truncate(size))

    def close(self) -> None:
        self._inner.close()


class _Losing:
    """Raises WorkerLost at the call number ``lose_at``, before or after doing it; then nobody answers until
    the workers are opened again."""

    lose_at = -1
    lose_after = False
    calls = 0
    gone = False
    log: list[str]

    def _call(self, name: str, act: Callable[[], _Result]) -> _Result:
        self.calls += 1
        if self.gone and name != "open":
            raise WorkerLost(f"nobody is there to {name}")
        self.gone = False
        if self.calls != self.lose_at:
            return act()
        if self.lose_after:
            act()
        self.gone = True
        raise WorkerLost(f"killed at call {self.calls} ({name})")


class LosingResident(_Losing, Resident):
    """Resident workers that can be lost."""

    def open(self, opening: Opening) -> None:
        return self._call("open", lambda: Resident.open(self, opening))

    def step(self, step: int, inputs: Sequence[Message], meanwhile: Meanwhile = None) -> list[dict[str, Any]]:
        return self._call("step", lambda: Resident.step(self, step, inputs, meanwhile))

    def accept(self) -> None:
        return self._call("accept", lambda: Resident.accept(self))

    def settle(self) -> None:
        return self._call("settle", lambda: Resident.settle(self))

    def commit(self, version: int) -> list[Written]:
        return self._call("commit", lambda: Resident.commit(self, version))

    def begin_commit(self, version: int) -> None:
        return self._call("begin_commit", lambda: Resident.begin_commit(self, version))

    def finish_commit(self) -> list[Written]:
        return self._call("finish_commit", lambda: Resident.finish_commit(self))

    def read(self, name: str) -> pa.Table:
        return self._call("read", lambda: Resident.read(self, name))

    def changes(self, view: str, since: int) -> pa.Table:
        return self._call("changes", lambda: Resident.changes(self, view, since))


class LosingStaged(_Losing, Staged):
    """Staged workers that can be lost: only jobs can fail, the rest happens in the driver."""

    def step(self, step: int, inputs: Sequence[Message], meanwhile: Meanwhile = None) -> list[dict[str, Any]]:
        return self._call("step", lambda: Staged.step(self, step, inputs, meanwhile))

    def open(self, opening: Opening) -> None:
        self.gone = False
        Staged.open(self, opening)

    def read(self, name: str) -> pa.Table:
        return self._call("read", lambda: Staged.read(self, name))
