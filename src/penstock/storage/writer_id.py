"""Who writes a temporary file, as a part of its name, so that others can tell whether the writer is dead.

A process is known by its machine, the start of the machine, and its number. Processes in containers have
numbers of their own, so the machine is the host together with the space of process numbers. Whatever is not
known for certain (another machine, a number that was given out again) counts as alive.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
from functools import lru_cache
from pathlib import Path

__all__ = ["is_dead", "is_draft", "writer_id"]

_ID = re.compile(r"\.([0-9a-f]{12})-([0-9a-f]{12})-(\d+)\.[0-9a-f]{16}$")
_DRAFT = re.compile(r"\.[0-9a-f]{16}$")


def writer_id() -> str:
    """This process."""
    machine, start = _machine()
    return f"{machine}-{start}-{os.getpid()}"


def is_draft(name: str) -> bool:
    """Whether a file in the folder of temporary ones has the name of one (earlier releases did not write who
    made it)."""
    return _DRAFT.search(name) is not None


def is_dead(name: str) -> bool:
    """Whether the writer in the name of a temporary file is known to be gone."""
    match = _ID.search(name)
    if match is None:
        return False
    machine, start = _machine()
    if match[1] != machine:
        return False
    return match[2] != start or not _runs(int(match[3]))


@lru_cache(maxsize=1)
def _machine() -> tuple[str, str]:
    try:
        numbers = Path("/proc/self/ns/pid").stat().st_ino
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # not Linux: there are no such containers, and a restart cannot be told
        numbers, start = 0, ""
    return _digest(f"{socket.gethostname()}/{numbers}"), _digest(start)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
