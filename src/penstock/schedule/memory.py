"""How much memory a worker may take, and what the parts of it are for.

A worker's memory = batches in memory + resident blocks of batches on file + what a step stages + a constant
(the interpreter and its libraries, some 200 MB, which no setting changes). The budget is for the first two:

* beyond ``batches`` bytes of batches, the largest arrangements go to files, in the background, long before a
  commit is due;
* beyond ``most`` bytes, the next step waits for that;
* resident blocks may take what batches leave of five eighths, and always a quarter; mapped pages around them
  (:mod:`penstock.storage.pool`) and freed memory that the allocator keeps take the rest.

Without a number from the user, workers of one machine share half of its memory.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LEAST_BYTES", "MemoryBudget", "machine_memory", "usual_budget"]

LEAST_BYTES = 32 << 20
"""The smallest budget that makes sense: a few blocks of a few arrangements, and the rows of a small step."""

_UNKNOWN = 4 << 30
_GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """What one worker may hold, in bytes."""

    total: int

    @property
    def batches(self) -> int:
        """What batches in memory may take before some of them go to files."""
        return self.total // 2

    @property
    def most(self) -> int:
        """What batches in memory may take before steps wait."""
        return self.total * 3 // 4

    @property
    def merged(self) -> int:
        """The size from which on the result of a merge goes to a file: merging takes the same once more."""
        return self.total // 8

    @property
    def changes(self) -> int:
        """What changes of views may take before a version is due."""
        return self.total // 8

    def blocks(self, in_memory: int) -> int:
        """What resident blocks may take beside batches of ``in_memory`` bytes."""
        return max(self.total // 4, self.total * 5 // 8 - in_memory)


def usual_budget(sharing: int) -> int:
    """The budget of each of ``sharing`` workers of this machine, unless the user gives another."""
    return max(LEAST_BYTES, machine_memory() // 2 // max(1, sharing))


def machine_memory() -> int:
    """The memory of this machine, or of the control group that this process is confined to, in bytes."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        found = _UNKNOWN
    try:
        limit = _GROUP_LIMIT.read_text(encoding="ascii").strip()
    except OSError:
        return found
    return min(found, int(limit)) if limit.isdigit() else found
