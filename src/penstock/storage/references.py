"""References from a version to blocks of segments: to batches of state, and to changes of views.

A reference names the segment and the block's number in it, and repeats the block's checksum, so that a
segment under another's name is noticed. Files of early releases hold references without a checksum.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace

__all__ = ["BatchRef", "ChangeBlock", "ChangeSegment", "PageRef", "blocks_of", "sorted_refs"]


@dataclass(frozen=True, slots=True)
class BatchRef:
    """The position of a batch on disk: rows ``start`` to ``stop`` of entry ``entry`` of segment ``segment``,
    with this checksum (None in references of earlier releases)."""

    segment: str
    entry: int
    start: int
    stop: int
    crc32c: int | None = None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """One block of a segment of changes: changes of one view."""

    view: str
    entry: int
    crc32c: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeSegment:
    """The changes of views that one worker wrote for one version: those of the steps after ``first`` up
    to and including ``last`` (or of step ``last`` alone, if views were filled)."""

    segment: str
    first: int
    last: int
    blocks: tuple[ChangeBlock, ...]

    def of_view(self, view: str) -> tuple[ChangeBlock, ...]:
        """The blocks of one view."""
        return tuple(block for block in self.blocks if block.view == view)

    def of_views(self, views: Container[str]) -> ChangeSegment:
        """The segment with the blocks of these views only."""
        return replace(self, blocks=tuple(block for block in self.blocks if block.view in views))


@dataclass(frozen=True, slots=True)
class PageRef:
    """A page of the index of changes: ``segments`` segments, with changes of the steps after ``first`` up to
    and including ``last``; ``crc32c`` is the page's checksum."""

    name: str
    first: int
    last: int
    segments: int
    crc32c: int


def blocks_of(views: Mapping[str, Iterable[tuple[int, int | None]]]) -> tuple[ChangeBlock, ...]:
    """Blocks, given as numbers and checksums by view."""
    return tuple(ChangeBlock(view, entry, crc) for view, found in views.items() for entry, crc in found)


def sorted_refs(refs: Iterable[BatchRef]) -> tuple[BatchRef, ...]:
    """References in the order in which a version has them, so that equal versions are equal values: their
    order has no meaning, because batches of an arrangement are added up."""
    return tuple(sorted(set(refs), key=lambda ref: (ref.segment, ref.entry, ref.start, ref.stop)))
