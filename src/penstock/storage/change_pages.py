"""Pages: the index of the changes of views, beside the versions that name it.

A page is an immutable file that lists segments of changes with their blocks by view. References that were in
versions until then become a page when a version is written whole. Pages of similar size are merged, ``FAN``
at a time, so a reference is rewritten O(log n) times and there are few pages. A page is dropped when none of
its changes is retained any more; until then, entries that are too old are ignored.

A page's name contains a digest of its contents: making it again, after a failed attempt, gives the same file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.errors import CorruptionError
from penstock.storage import strict_json
from penstock.storage.interface import Backend
from penstock.storage.references import ChangeSegment, PageRef
from penstock.storage.sealed_json import seal, unseal
from penstock.storage.version_json import segment_from_json, segment_to_json

__all__ = ["FAN", "PAGE_FORMAT", "Page", "due_for_merging", "live", "read_page"]

PAGE_FORMAT = 1
FAN = 8
"""How many pages of similar size are merged into one."""


@dataclass(frozen=True)
class Page:
    """A page to be written."""

    ref: PageRef
    segments: tuple[ChangeSegment, ...]
    content: bytes

    @staticmethod
    def of(version: int, segments: Sequence[ChangeSegment]) -> Page:
        """The page that holds these segments (at least one), made for a version."""
        listed = [segment_to_json(found) for found in segments]
        digest = hashlib.sha256(strict_json.encode(listed, "changes/")).hexdigest()[:12]
        name = f"changes/{version:010d}-{digest}.json"
        content, crc = seal(name, PAGE_FORMAT, {"name": name, "segments": listed})
        first, last = min(found.first for found in segments), max(found.last for found in segments)
        return Page(PageRef(name, first, last, len(segments), crc), tuple(segments), content)


def read_page(backend: Backend, ref: PageRef) -> tuple[ChangeSegment, ...]:
    """What a page lists, checked."""
    name = ref.name
    if not backend.exists(name):
        raise CorruptionError(
            f"{name}: this page of the index of changes is missing; restore it from a backup"
        )
    content = bytes(backend.open(name))
    page = unseal(name, "the page of the index of changes", content, {PAGE_FORMAT}, {"name", "segments"})
    if page.value["name"] != name or page.crc32c != ref.crc32c:
        raise CorruptionError(
            f"{name}: this is {page.value['name']} with checksum {page.crc32c:08x}, where {ref.crc32c:08x} "
            "was expected; it was renamed or misplaced"
        )
    return tuple(segment_from_json(found) for found in page.value["segments"])


def due_for_merging(sizes: Sequence[int]) -> int:
    """How many of the last pages, given their numbers of segments, are to be merged into one; 0 for none. If
    the result makes ``FAN`` of similar size with those before it, they are merged too."""
    count = 1
    while True:
        tier, similar = _tier(sum(sizes[-count:])), count
        while similar < len(sizes) and _tier(sizes[-similar - 1]) <= tier:
            similar += 1
        if similar - count + 1 < FAN:
            return count if count > 1 else 0
        count = similar


def _tier(size: int) -> int:
    """Pages of one tier are of similar size."""
    tier = 0
    while size >= FAN:
        size //= FAN
        tier += 1
    return tier


def live(segments: Iterable[ChangeSegment], after: int) -> list[ChangeSegment]:
    """Those with changes of steps after ``after``."""
    return [found for found in segments if found.last > after]
