"""A batch of a spine, and where its rows are stored.

A merge in memory makes searching faster; it is no reason to write everything again. So a merged batch may be
stored as several *parts*, the batches that it was merged from: the sum of the parts and of what is
*unwritten* is the batch. A commit writes what is unwritten, as one more part. When there are too many parts,
or two of them are large, or much of what they hold has cancelled out, the batch is written as a whole, as a
single part. So a row is written once by the commit after its step, and again when the batch that it is in has
grown by a factor of ``MOST_PARTS``, where merging after every commit would write it again each time a batch
doubles. Large batches are merged on disk as they are in memory: whoever opens them should find few.

What is unwritten is kept in memory beside the batch. That is little as long as commits are frequent; if it
becomes much, the batch as a whole is unwritten instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.storage import BatchRef
from penstock.trace.batch import Batch

__all__ = ["MOST_PARTS", "Held", "Part", "Stored", "stored_as_parts"]

MOST_PARTS = 32
"""The number of parts of a batch beyond which it is written as a whole."""
LARGE_PART = 32_768
"""The number of rows from which on a part is large."""
MOST_CANCELLED = 2
"""How many times the rows of a batch its parts may have together."""
MUCH_UNWRITTEN = 65_536
"""The number of unwritten rows from which on a batch is written as a whole, unless it is far larger."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows in a segment, where they take ``size`` bytes."""

    ref: BatchRef
    size: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """Where the rows of a batch are: their sum is the batch."""

    parts: tuple[Part, ...] = ()
    unwritten: tuple[Batch, ...] = ()


@dataclass(slots=True, eq=False)
class Held:
    """A batch of a spine. ``stored`` is replaced by a commit, in another thread. ``source`` is the segment
    that the batch is read from; None while it is in memory."""

    batch: Batch
    stored: Stored
    source: str | None = None

    @property
    def bytes_in_memory(self) -> int:
        """What it takes in memory, apart from resident blocks, which are counted by their pool, and what is
        unwritten, which does not stay."""
        return self.batch.nbytes if self.source is None else 0

    @property
    def refs(self) -> tuple[BatchRef, ...]:
        """The parts that are stored."""
        return tuple(part.ref for part in self.stored.parts)

    @property
    def whole_ref(self) -> BatchRef | None:
        """Where the whole batch is stored, if it is stored as one."""
        stored = self.stored
        return stored.parts[0].ref if len(stored.parts) == 1 and not stored.unwritten else None


def stored_as_parts(inputs: Sequence[Held], merged: Batch) -> Stored:
    """How the sum of some batches is stored: as they are, unless it should be written as a whole."""
    parts = tuple(part for held in inputs for part in held.stored.parts)
    unwritten = tuple(batch for held in inputs for batch in held.stored.unwritten)
    fresh = sum(map(len, unwritten))
    rows = fresh + sum(part.ref.rows for part in parts)
    if (
        not parts
        or sum(part.ref.rows >= LARGE_PART for part in parts) > 1
        or len(parts) + bool(unwritten) > MOST_PARTS
        or rows > MOST_CANCELLED * len(merged)
        or (fresh > MUCH_UNWRITTEN and 2 * fresh > len(merged))
    ):
        return Stored(unwritten=(merged,))
    return Stored(parts, unwritten)
