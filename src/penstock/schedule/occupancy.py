"""How much of each segment is still in use by a worker's arrangements.

A segment is deleted when nothing in it is referenced any more, and it holds what many arrangements received
between two commits. An arrangement that hardly ever changes would keep the whole file of a load for ever, for
its few rows. So the remainder of a mostly unused segment is rewritten with the next commit. That is at most a
third of what can then be deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.trace import Held

__all__ = ["Occupancy"]

SPARSE = 0.25
"""A segment is sparse if less than this share of it is in use."""


class Occupancy:
    """Bytes of batches in segments: written, and still in use."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}

    def note(self, segment: str, written: int) -> None:
        """Records that ``written`` more bytes of a segment belong to this worker."""
        self._written[segment] = self._written.get(segment, 0) + written

    def stretch(self, segment: str, factor: float) -> None:
        """Records that a segment holds this many times the recorded bytes."""
        if segment in self._written:
            self._written[segment] = round(self._written[segment] * factor)

    def sparse(self, held: Iterable[Held]) -> frozenset[str]:
        """The segments to rewrite, if ``held`` is everything that is in use."""
        used: Counter[str] = Counter()
        for each in held:
            for part in each.stored.parts:
                used[part.ref.segment] += part.size
        self._written = {name: size for name, size in self._written.items() if name in used}
        return frozenset(name for name, size in self._written.items() if used[name] < SPARSE * size)
