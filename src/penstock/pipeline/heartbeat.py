"""Heartbeats of a running pipeline, for other processes to read.

While a run is open, a thread writes a small hidden file into the storage folder every few seconds: which
process runs the pipeline, where, since when, and its last step. The file is not part of the state: it is
replaced atomically, never synced, read without a lock, and can be lost without harm. ``penstock status``
shows it, and so does the error of a second process that tries to run the same pipeline.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

from penstock.errors import InUse
from penstock.storage import local_folder

__all__ = ["INTERVAL_S", "Beat", "Heartbeat", "in_use", "last_beat"]

INTERVAL_S = 2.0
_FILE = ".heartbeat.json"


@dataclass(frozen=True)
class Beat:
    """One heartbeat. Times are µs since 1970. ``ended`` says that the run was closed, as opposed to
    killed."""

    pid: int
    host: str
    started_us: int
    at_us: int
    step: int
    phase: str
    ended: bool = False

    @property
    def at(self) -> datetime:
        """When it was."""
        return datetime.fromtimestamp(self.at_us / 1e6, UTC)

    @property
    def age_s(self) -> float:
        """How many seconds ago it was."""
        return max(0.0, time.time() - self.at_us / 1e6)

    @property
    def who(self) -> str:
        """The process, for people."""
        return f"process {self.pid} on {self.host}"

    @property
    def is_fresh(self) -> bool:
        """Whether the run can be considered alive: the next heartbeat is not overdue."""
        return not self.ended and self.age_s < 3 * INTERVAL_S

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to be gone. Unknown for another host."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False


class Heartbeat:
    """Writes heartbeats into ``folder`` until :meth:`stop`; ``look`` returns the step and the phase."""

    def __init__(self, folder: Path, look: Callable[[], tuple[int, str]]) -> None:
        self._path, self._look = folder / _FILE, look
        now = time.time_ns() // 1000
        self._beat = Beat(os.getpid(), socket.gethostname(), now, now, 0, "")
        self._stopped = threading.Event()
        self.beat()
        self._thread = threading.Thread(target=self._run, name="penstock-heartbeat", daemon=True)
        self._thread.start()

    @property
    def last(self) -> Beat:
        """The last heartbeat."""
        return self._beat

    def beat(self, *, ended: bool = False) -> None:
        """Writes a heartbeat now. Disk errors are ignored: whoever needs the disk reports them."""
        step, phase = self._look()
        self._beat = replace(
            self._beat,
            at_us=time.time_ns() // 1000,
            step=step,
            phase="closed" if ended else phase,
            ended=ended,
        )
        temporary = self._path.with_name(f"{_FILE}.{os.getpid()}")
        with suppress(OSError):
            temporary.write_text(json.dumps(asdict(self._beat)), encoding="utf-8")
            temporary.replace(self._path)

    def stop(self) -> None:
        """The run ends."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()
            self.beat(ended=True)

    def _run(self) -> None:
        while not self._stopped.wait(INTERVAL_S):
            self.beat()


def last_beat(folder: Path) -> Beat | None:
    """The last heartbeat in a storage folder; None if there is none that can be read."""
    try:
        found = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return Beat(**{field.name: found[field.name] for field in fields(Beat)})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def in_use(pipeline: str, storage: str) -> InUse:
    """The error for a pipeline that another writer runs, with what is known about it."""
    folder = local_folder(storage)
    beat = None if folder is None else last_beat(folder)
    known = beat is not None and not beat.ended
    if known and beat is not None and beat.pid == os.getpid() and beat.host == socket.gethostname():
        who = "another run in this process"
        advice = "Close that run (leave its with block, or call close() or kill() on it)"
    else:
        who = beat.who if known and beat is not None else "another process"
        advice = "Wait until it ends, or stop it"
    return InUse(
        f"the pipeline {pipeline!r} in {storage} is being run by {who}, and one run at a time may change it. "
        f"{advice}; to look at the pipeline meanwhile, use penstock status; to run a second pipeline, give "
        "it another storage"
    )
