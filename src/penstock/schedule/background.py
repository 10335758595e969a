"""Threads that work in passing give way to those that run steps.

Merging uses what steps leave of the processors. Where a thread cannot have a priority of its own (on Linux it
can) it works like any other. Not for work that holds Python's lock for long: a step that waits for the lock
would then wait for a thread that does not get to run.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

__all__ = ["give_way"]

_NICE = 10


def give_way() -> None:
    """From now on this thread comes after others that want to run."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):  # a process that may not change it keeps its place
            identity = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, identity, os.getpriority(os.PRIO_PROCESS, identity) + _NICE)
