"""A spine: the integral of a stream of batches, kept as O(log n) immutable batches.

Addition of Z-sets commutes, so the age of a batch does not matter and any two may merge. Batches of similar
size are merged, so sizes stay geometric: a row is merged O(log n) times in its life, and a lookup searches
O(log n) batches.

A batch that a segment already holds has a :class:`BatchRef`; a batch made since (by a step or a merge)
has none and is written by the next commit. Until the commit's manifest exists, the old batches stay on
disk: forgetting an interrupted merge loses nothing.

Merging two large batches takes longer than many small steps. With an executor that is done in passing: the
batches stay where they are, searched and complete, until the merged one takes their place when the next batch
comes. Only what is due while another large merge is still under way waits for it. A merge that is not large
beside the batch that brought it about is made at once where two batches are merged: it will be due again with
the next one.

While large batches come (a load), more of them are left side by side: searching one more for many keys costs
far less than merging, and what is merged must be written again. What they bring about is due only now and
then, so it is made in passing whatever its size. When the load is over (a step brought none of it, or no step
comes) :meth:`Spine.tidy` merges what is left. Where merging makes rows fewer, because they are about the same
keys (the groups of an aggregate), that does not pay: there they are merged at once, as ever.

A commit writes while steps go on: it holds on to :attr:`Spine.held` as it was, and notes in each
:class:`Held` where it wrote the batch. If the batch was merged meanwhile, nobody reads that note any more.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass
from typing import Any

from penstock.trace.batch import Batch, merge_batches

__all__ = ["LARGE", "BatchRef", "Held", "Spine"]

LARGE = 65_536
"""Rows of a merge that is not waited for."""
RARE = 16
"""How many times the rows that came it must be, for it not to be due all the time."""
BULK = 32_768
"""Rows of a batch that is part of a load."""
BULK_FAN = 8
"""How many batches of similar size a load leaves."""
SHRUNK = 0.75
"""What is left of the rows of a merge, at most, if rows were about the same."""


@dataclass(frozen=True, slots=True)
class BatchRef:
    """Where a batch lies on disk: rows ``start`` to ``stop`` of entry ``entry`` of segment ``segment``."""

    segment: str
    entry: int
    start: int
    stop: int

    def to_json(self) -> dict[str, Any]:
        """The reference as it stands in a manifest."""
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> BatchRef:
        """The inverse of :meth:`to_json`."""
        return BatchRef(**value)


@dataclass(slots=True, eq=False)
class Held:
    """A batch of a spine, and where it is stored once it is, in how many bytes. ``mapped`` is the same batch
    in the mapped file, which is to take its place: its memory is the system's to take back. Until then, and
    unless it was opened there, it is ``in_memory``."""

    batch: Batch
    ref: BatchRef | None = None
    stored: int = 0
    mapped: Batch | None = None
    in_memory: bool = True


class Spine:
    """The batches of one arrangement, largest first.

    ``fan`` batches of similar size are merged at once. Two keeps the number of batches that a lookup must
    search smallest; more means less merging, for arrangements that are read now and then but not searched.
    """

    def __init__(self, fan: int = 2, merger: Executor | None = None) -> None:
        self._fan, self._merger = fan, merger
        self._held: list[Held] = []
        self._batches: tuple[Batch, ...] = ()
        self._merging: tuple[int, int, Future[Batch]] | None = None  # which of the held: from, to
        self._shrinks = False  # whether the last merge made rows fewer
        self._loading = False  # whether the last batch was part of a load, and no step came after it
        self._settled = True  # whether there is nothing to merge

    @property
    def batches(self) -> tuple[Batch, ...]:
        """The batches, largest first. Their sum is the arrangement."""
        return self._batches

    @property
    def held(self) -> tuple[Held, ...]:
        """The same with the places where they are stored, or None while a batch lives in memory only."""
        return tuple(self._held)

    def __len__(self) -> int:
        """Stored rows, an upper bound of the rows of the arrangement (batches may cancel out)."""
        return sum(map(len, self._batches))

    def load(self, batch: Batch, ref: BatchRef, stored: int = 0) -> None:
        """Adds a batch that a segment holds in ``stored`` bytes, at its place by size."""
        if len(batch):
            place = bisect_right(self._held, -len(batch), key=lambda other: -len(other.batch))
            self._held.insert(place, Held(batch, ref, stored, in_memory=False))
            self._changed()

    def insert(self, batch: Batch) -> None:
        """Adds a batch, merging while there are ``fan`` of similar size."""
        if len(batch):
            self._held.append(Held(batch))
            self._merge(len(batch))
            self._changed()

    def tidy(self) -> bool:
        """Goes on with what is merged in passing; to be called after each step, and while none comes. What a
        load left is merged from the smallest on. False if nothing is left to do."""
        if self._settled:
            return False
        if self._merging is not None and self._merging[2].done():
            self._take_over()
            self._changed()
        if self._loading:
            self._loading = False
        elif self._merging is None:
            self._settled = self._merger is None or not self._merge_left(self._merger)
        return not self._settled

    def settle(self) -> None:
        """The same, and waits for it."""
        while self.tidy():
            if self._merging is not None:
                self._merging[2].result()

    def _merge_left(self, merger: Executor) -> bool:
        """Begins to merge the smallest batches of similar size, if there are any."""
        sizes = [len(held.batch) for held in self._held]
        for stop in range(len(sizes), 1, -1):
            if (alike := _alike(sizes[:stop], self._fan)) >= self._fan:
                self._merge_in_passing(merger, stop - alike, stop)
                return True
        return False

    def _merge(self, came: int) -> None:
        if self._merging is not None and self._merging[2].done():
            self._take_over()
        bulk = self._merger is not None and came >= BULK and not self._shrinks
        while due := self._due(max(self._fan, BULK_FAN) if bulk else self._fan):
            start, stop = len(self._held) - due, len(self._held)
            rows = sum(len(held.batch) for held in self._held[start:])
            rare = bulk or self._fan >= BULK_FAN or rows >= RARE * came
            if self._merger is None or rows < LARGE or not rare:
                self._replace(start, stop, merge_batches([held.batch for held in self._held[start:]]))
            elif self._merging is None:
                self._merge_in_passing(self._merger, start, stop)
            else:
                self._take_over()
        self._loading, self._settled = bulk, False

    def _merge_in_passing(self, merger: Executor, start: int, stop: int) -> None:
        batches = [held.batch for held in self._held[start:stop]]
        self._merging = (start, stop, merger.submit(merge_batches, batches))

    def _take_over(self) -> None:
        """Waits for the merge under way, and puts its result in place."""
        assert self._merging is not None
        (start, stop, merging), self._merging = self._merging, None
        self._replace(start, stop, merging.result())

    def _replace(self, start: int, stop: int, merged: Batch) -> None:
        self._shrinks = len(merged) < SHRUNK * sum(len(held.batch) for held in self._held[start:stop])
        self._held[start:stop] = [Held(merged)] if len(merged) else []

    def _due(self, fan: int) -> int:
        """How many of the last batches are to be merged: ``fan`` or more of similar size, and those that are
        of similar size with what comes of it. So what would be merged again at once is merged once."""
        busy = 0 if self._merging is None else self._merging[1]
        sizes = [len(held.batch) for held in self._held[busy:]]
        due = 0
        while (alike := _alike(sizes, fan)) >= fan:
            due += alike - (due > 0)
            sizes[-alike:] = [sum(sizes[-alike:])]
        return due

    def take_mapped(self) -> None:
        """Goes over to the mapped batches that there are."""
        for held in self._held:
            if held.mapped is not None:
                held.batch, held.mapped, held.in_memory = held.mapped, None, False
        self._changed()

    def _changed(self) -> None:
        self._batches = tuple(held.batch for held in self._held)

    def merged(self) -> Batch | None:
        """The whole arrangement as one batch (a scan: for reading a view, never in a step)."""
        return merge_batches(self._batches) if self._batches else None


def _alike(sizes: Sequence[int], fan: int) -> int:
    """How many of the last sizes are similar: less than ``fan / 2`` times that of a later one (but twice at
    least). So what ``fan`` were merged into is of another size than they, even if rows cancelled out."""
    largest = count = 0
    for size in reversed(sizes):
        if count and size >= max(2, fan // 2) * largest:
            break
        largest = max(largest, size)
        count += 1
    return count
