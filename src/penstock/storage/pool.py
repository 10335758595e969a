"""The buffer pool: which blocks of which batches are in memory, within a budget of bytes.

Every worker has one pool for all its arrangements. A block is *resident* once it was checked (and
decompressed, if it is compressed) and until the pool drops it. The pool follows the clock algorithm: a block
that was used since the last round of the hand gets another round, one that was not is dropped. Batches keep
the state of their blocks as an array, so a round over a thousand blocks is a few NumPy calls.

A block that is used in the mapped file can be dropped at any time: whoever still reads it makes the system
map its pages again. One that was unpacked into memory cannot, because zeros would take its place. So blocks
of the first kind are dropped whenever the pool exceeds its budget, the others only between steps, when nobody
has a view of them: nothing has to be pinned, and the pool exceeds its budget by at most what one step
unpacks.

A mapped file takes more memory than what is read of it: whoever reads a byte gets the pages around it as
well, and packed blocks are unpacked from pages that nobody needs afterwards. The pool counts that apart, and
now and then has all mapped pages dropped: what is needed of them comes back from the system's cache."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Evictable", "Pool", "PoolCounts"]


_MAPPED_SHARE = 8
"""The share of the budget that mapped pages may take beside it."""
_LEAST_MAPPED = 4 << 20


class Evictable(Protocol):
    """A batch on file, some of whose blocks are resident."""

    @property
    def resident_bytes(self) -> int:
        """The bytes of its resident blocks."""

    def sweep(self, *, in_place: bool) -> tuple[int, int]:
        """Moves the hand over its blocks (or only those that are used ``in_place``): drops those that were
        not used since the last time. Returns how many blocks and bytes were dropped."""

    def drop_pages(self) -> None:
        """Lets the system have the pages of the mapped file. Blocks that are used there stay resident."""


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """What a pool did since it was made: blocks that were asked for and found, or had to be read; blocks
    dropped; bytes read; and the bytes that it holds now."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    bytes_read: int = 0
    bytes_held: int = 0


class Pool:
    """Holds blocks of up to ``budget`` bytes; without a budget it holds everything."""

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget
        self._members: list[weakref.ref[Evictable]] = []
        self._hand = 0
        self._held = self._mapped = 0
        self._hits = self._misses = self._evictions = self._bytes_read = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """The bytes of all resident blocks."""
        return self._held

    @property
    def counts(self) -> PoolCounts:
        """What it did so far."""
        return PoolCounts(self._hits, self._misses, self._evictions, self._bytes_read, self._held)

    @property
    def is_calm(self) -> bool:
        """Whether it is far from having to drop anything: then nobody needs to note which blocks are used."""
        return self.budget is None or 2 * self._held < self.budget

    def is_short_for(self, file_size: int) -> bool:
        """Whether a file of this size could take a large share of the budget by being mapped."""
        return self.budget is not None and _MAPPED_SHARE * file_size > self.budget

    def join(self, member: Evictable) -> None:
        """Adds a batch, until nobody uses it any more."""
        with self._lock:
            self._members.append(weakref.ref(member))

    def left(self, held: int) -> None:
        """A batch that had so many resident bytes is gone."""
        self._held -= held

    def mapped(self, size: int) -> None:
        """So many bytes of a mapped file, about, are in memory because something of them was read."""
        self._mapped += size
        if self.budget is not None and self._mapped > max(self.budget // _MAPPED_SHARE, _LEAST_MAPPED):
            self._mapped = 0
            for member in self._members:
                if (columns := member()) is not None:
                    columns.drop_pages()

    def found(self, blocks: int) -> None:
        """Blocks were asked for and were there."""
        self._hits += blocks

    def read(self, blocks: int, stored: int, held: int) -> None:
        """Blocks had to be read: ``stored`` bytes of the file became ``held`` bytes."""
        self._misses += blocks
        self._bytes_read += stored
        self._held += held

    def trim(self, *, in_place: bool = False) -> None:
        """Drops blocks until the pool is within its budget; only those that are used ``in_place``, if
        somebody may have a view of others."""
        target = self.budget
        if target is None or self._held <= target:
            return
        with self._lock:
            self._members = [member for member in self._members if member() is not None]
            # Two rounds: the first may only take second chances away.
            for _ in range(2 * len(self._members)):
                if self._held <= target:
                    break
                self._hand = (self._hand + 1) % len(self._members)
                member = self._members[self._hand]()
                if member is not None and member.resident_bytes:
                    blocks, size = member.sweep(in_place=in_place)
                    self._evictions += blocks
                    self._held -= size
