"""Versions and deltas as JSON, in the formats of the manifest.

Format 2 names every segment once, in a table, to which references refer by position. Format 1, of earlier
releases, is only read: it held the references of all changes of views, and metrics, which are left out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from penstock.storage.delta import Replaced, Slid, SlotDelta, VersionDelta
from penstock.storage.references import (
    BatchRef,
    ChangeBlock,
    ChangeSegment,
    PageRef,
    blocks_of,
    sorted_refs,
)
from penstock.storage.version import EarlierVersion, Retention, StoredLayout, Version

__all__ = [
    "delta_from_json",
    "delta_to_json",
    "segment_from_json",
    "segment_to_json",
    "version_from_format_1",
    "version_from_json",
    "version_to_json",
]


class _Names:
    """The table of segments of one file."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The position of a name, which is added if it is new."""
        return self._numbers.setdefault(name, len(self._numbers))

    def to_json(self) -> list[str]:
        """All names, in order."""
        return list(self._numbers)


def version_to_json(version: Version) -> dict[str, Any]:
    """The body of a manifest that has the version whole."""
    names = _Names()
    arrangements = {slot: _refs_to_json(refs, names) for slot, refs in version.arrangements.items()}
    changes = [segment_to_json(found) for found in version.changes]
    value = {
        "pipeline": version.pipeline,
        "hash_version": version.hash_version,
        "seed": version.seed,
        "step": version.step,
        "made_us": version.made_us,
        "oldest": version.oldest,
        "changes_after": version.changes_after,
        "moving": version.static_frozen,
        "segments": names.to_json(),
        "arrangements": arrangements,
        "pages": [_page_to_json(page) for page in version.pages],
        "changes": changes,
        "times": version.times,
        "layout": _layout_to_json(version.layout),
        "catalog": version.catalog,
    }
    if version.earlier is not None:
        value["earlier"] = _earlier_to_json(version.earlier)
    if version.retention != Retention():
        value["retention"] = _retention_to_json(version.retention)
    if version.branch:
        value["branch"] = version.branch
    return value


def version_from_json(number: int, body: Mapping[str, Any]) -> Version:
    """The inverse of :func:`version_to_json`."""
    names = body["segments"]
    return Version(
        number,
        body["pipeline"],
        body["hash_version"],
        body["seed"],
        step=body["step"],
        made_us=body["made_us"],
        oldest=body["oldest"],
        arrangements={slot: _refs_from_json(refs, names) for slot, refs in body["arrangements"].items()},
        pages=tuple(PageRef(*page) for page in body["pages"]),
        changes=tuple(segment_from_json(found) for found in body["changes"]),
        changes_after=body["changes_after"],
        times=tuple((step, at) for step, at in body["times"]),
        static_frozen=body["moving"],
        catalog=body["catalog"],
        layout=_layout_from_json(body["layout"]),
        earlier=_earlier_from_json(body["earlier"]) if "earlier" in body else None,
        retention=Retention(**body["retention"]) if "retention" in body else Retention(),
        branch=body.get("branch", 0),
    )


def delta_to_json(change: VersionDelta) -> dict[str, Any]:
    """The delta of a manifest; ``catalog``, ``layout`` and ``retention`` are there only if they were
    replaced."""
    names = _Names()
    slots = {
        slot: [list(found.removed), _refs_to_json(found.added, names)] for slot, found in change.slots.items()
    }
    value: dict[str, Any] = {
        "step": change.step,
        "made_us": change.made_us,
        "oldest": change.oldest,
        "changes_after": change.changes_after,
        "moving": change.static_frozen,
        "segments": names.to_json(),
        "arrangements": slots,
        "dropped": list(change.dropped_slots),
        "pages": [change.pages.dropped, [_page_to_json(page) for page in change.pages.added]],
        "changes": [change.changes.dropped, [segment_to_json(found) for found in change.changes.added]],
        "times": [change.times.dropped, change.times.added],
    }
    if change.layout is not None:
        value["layout"] = _layout_to_json(change.layout.value)
    if change.catalog is not None:
        value["catalog"] = change.catalog.value
    if change.earlier is not None:
        value["earlier"] = [change.earlier.dropped, _earlier_to_json(change.earlier.added)]
    if change.retention is not None:
        value["retention"] = _retention_to_json(change.retention.value)
    return value


def delta_from_json(number: int, value: Mapping[str, Any]) -> VersionDelta:
    """The inverse of :func:`delta_to_json`."""
    names = value["segments"]
    times, pages, changes = value["times"], value["pages"], value["changes"]
    return VersionDelta(
        number,
        value["step"],
        value["made_us"],
        value["oldest"],
        value["changes_after"],
        value["moving"],
        {
            slot: SlotDelta(tuple(removed), _refs_from_json(added, names))
            for slot, (removed, added) in value["arrangements"].items()
        },
        tuple(value["dropped"]),
        Slid(times[0], tuple((step, at) for step, at in times[1])),
        Slid(pages[0], tuple(PageRef(*page) for page in pages[1])),
        Slid(changes[0], tuple(segment_from_json(found) for found in changes[1])),
        Replaced(value["catalog"]) if "catalog" in value else None,
        Replaced(_layout_from_json(value["layout"])) if "layout" in value else None,
        _slid_earlier(*value["earlier"]) if "earlier" in value else None,
        Replaced(Retention(**value["retention"])) if "retention" in value else None,
    )


def _refs_to_json(refs: Iterable[BatchRef], names: _Names) -> list[list[int | None]]:
    return [[names.number(ref.segment), ref.entry, ref.start, ref.stop, ref.crc32c] for ref in refs]


def _refs_from_json(refs: Iterable[Sequence[int]], names: Sequence[str]) -> tuple[BatchRef, ...]:
    return tuple(BatchRef(names[number], *position) for number, *position in refs)


def segment_to_json(changes: ChangeSegment) -> list[Any]:
    """Compact: the blocks of a segment share its name, and those of a view the view's."""
    views: dict[str, list[list[int | None]]] = {}
    for block in changes.blocks:
        views.setdefault(block.view, []).append([block.entry, block.crc32c])
    return [changes.segment, changes.first, changes.last, views]


def segment_from_json(value: Sequence[Any]) -> ChangeSegment:
    """The inverse of :func:`segment_to_json`."""
    segment, first, last, views = value
    return ChangeSegment(segment, first, last, blocks_of(views))


def _page_to_json(page: PageRef) -> list[Any]:
    return [page.name, page.first, page.last, page.segments, page.crc32c]


def _earlier_to_json(earlier: Iterable[EarlierVersion]) -> list[list[int]]:
    return [[found.number, found.step, found.made_us] for found in earlier]


def _earlier_from_json(value: Iterable[Sequence[int]]) -> tuple[EarlierVersion, ...]:
    return tuple(EarlierVersion(*found) for found in value)


def _slid_earlier(dropped: int, added: Iterable[Sequence[int]]) -> Slid[EarlierVersion]:
    return Slid(dropped, _earlier_from_json(added))


def _retention_to_json(retention: Retention) -> dict[str, int]:
    return {"versions": retention.versions, "for_us": retention.for_us}


def _layout_to_json(layout: StoredLayout | None) -> dict[str, Any] | None:
    """Neighbouring shards mostly belong to one worker: runs of them, as worker and length."""
    if layout is None:
        return None
    runs = [[worker, len(list(shards))] for worker, shards in groupby(layout.assignment)]
    return {"workers": layout.workers, "shards": runs}


def _layout_from_json(value: Mapping[str, Any] | None) -> StoredLayout | None:
    if value is None:
        return None
    return StoredLayout(value["workers"], tuple(w for w, length in value["shards"] for _ in range(length)))


# ---- format 1 -------------------------------------------------------------------------------------


def version_from_format_1(number: int, body: Mapping[str, Any]) -> Version:
    """A version as earlier releases wrote it. The first ones did not write every key."""
    step, layout = int(body["step"]), body.get("layout")
    times = tuple((int(step), int(at)) for step, at in body["times"])
    after = body.get("changes_after")
    if after is None:  # then times were kept as long as changes
        after = min((step for step, _ in times), default=1) - 1
    return Version(
        number,
        body["pipeline"],
        body["hash_version"],
        body["seed"],
        step=step,
        oldest=max(0, number - 1),
        arrangements={
            slot: sorted_refs(BatchRef(**ref) for ref in refs) for slot, refs in body["arrangements"].items()
        },
        changes=_changes_from_format_1(body["changes"]),
        changes_after=max(0, int(after)),
        times=times,
        # Where it is not recorded, any table may have received rows.
        static_frozen=bool(body.get("moving", step > 0)),
        catalog=body["catalog"],
        layout=None if layout is None else StoredLayout(layout["workers"], tuple(layout["assignment"])),
    )


def _changes_from_format_1(views: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[ChangeSegment, ...]:
    """Format 1 has references by view; a segment of changes has those of several."""
    segments: dict[tuple[int, int, str], list[ChangeBlock]] = {}
    for view, refs in views.items():
        for ref in refs:
            of = (int(ref["last"]), int(ref["first"]), str(ref["segment"]))
            segments.setdefault(of, []).append(ChangeBlock(view, ref["entry"], ref.get("crc32c")))
    return tuple(
        ChangeSegment(segment, first, last, tuple(segments[last, first, segment]))
        for last, first, segment in sorted(segments)
    )
