"""Lower priority for background threads, so that they yield to those that run steps.

Merging uses the CPU time that steps leave. Where a thread cannot have its own priority (on Linux it can) it
runs like any other. Not for work that holds the GIL for long: a step that waits for it would then wait for a
thread that is not scheduled.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

__all__ = ["give_way"]

_NICE = 10


def give_way() -> None:
    """Lowers the priority of the current thread."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):  # without permission to change it, the priority stays
            identity = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, identity, os.getpriority(os.PRIO_PROCESS, identity) + _NICE)
