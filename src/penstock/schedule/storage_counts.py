"""What a worker's storage does, in bytes and blocks, counted since the worker was opened.

Reported with every version, kept in the metrics, and shown by ``penstock status`` and ``penstock inspect``:
how close a worker is to its budget, how often blocks had to be read, and how much is written for each byte
that steps add (*write amplification*).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

__all__ = ["StorageCounts"]


@dataclass(frozen=True, slots=True)
class StorageCounts:
    """Of one worker, or the sum of several."""

    budget_bytes: int = 0
    """What batches and blocks may take in memory."""
    batches_bytes: int = 0
    """What batches take in memory."""
    blocks_bytes: int = 0
    """What resident blocks of batches on file take."""
    added_bytes: int = 0
    """What steps added: their batches, and the changes of views."""
    written_bytes: int = 0
    """What was written to segments: by commits, and by merges to files."""
    block_hits: int = 0
    """Blocks that were asked for and resident."""
    block_misses: int = 0
    """Blocks that had to be read."""
    block_evictions: int = 0
    """Blocks that were dropped to stay within the budget."""
    read_bytes: int = 0
    """What was read of segments in blocks."""

    @property
    def write_amplification(self) -> float:
        """Bytes written for each byte that steps added; 0 if they added nothing."""
        return self.written_bytes / self.added_bytes if self.added_bytes else 0.0

    @property
    def hit_share(self) -> float:
        """The share of blocks that were resident when they were asked for; 1 if none was asked for."""
        asked = self.block_hits + self.block_misses
        return self.block_hits / asked if asked else 1.0

    @staticmethod
    def total(counts: Iterable[StorageCounts]) -> StorageCounts:
        """Of several workers together."""
        found = list(counts)
        return StorageCounts(*(sum(getattr(each, f.name) for each in found) for f in fields(StorageCounts)))
