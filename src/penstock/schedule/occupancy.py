"""How much of the segments that a worker's arrangements lie in is still in use.

A segment is deleted when nothing in it is named any more, and it holds what many arrangements got between two
commits. One that hardly ever changes would keep the whole file of a load for ever, for its few rows. So what
is left of a segment of which little is left is written again, with the next commit. That is at most a third
of what can be deleted for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.trace import Held

__all__ = ["Occupancy"]

SPARSE = 0.25
"""A segment is sparse if less than this share of it is in use."""


class Occupancy:
    """Bytes of batches in segments: those that were written, beside those that are in use."""

    def __init__(self) -> None:
        self._written: dict[str, int] = {}

    def note(self, segment: str, written: int) -> None:
        """``written`` more bytes of a segment are this worker's to use."""
        self._written[segment] = self._written.get(segment, 0) + written

    def stretch(self, segment: str, factor: float) -> None:
        """So many times what was noted of a segment is in it."""
        if segment in self._written:
            self._written[segment] = round(self._written[segment] * factor)

    def sparse(self, held: Iterable[Held]) -> frozenset[str]:
        """The segments to be left, if ``held`` is all that is in use."""
        used: Counter[str] = Counter()
        for each in held:
            if each.ref is not None:
                used[each.ref.segment] += each.stored
        self._written = {name: size for name, size in self._written.items() if name in used}
        return frozenset(name for name, size in self._written.items() if used[name] < SPARSE * size)
