"""What changed from one version to the next, as a value: ``apply(delta(a, b), a) == b``.

A version costs what changed in it. Of an arrangement that changed, the delta has the positions of the
references that are gone and the references that are new. Lists that grow at the end and are cut at the start
(times, pages, changes of views) are a number of dropped items and the items that are new. The catalogue and
the layout are in a delta only if they are not the same as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from penstock.storage.references import BatchRef, ChangeSegment, PageRef, sorted_refs
from penstock.storage.version import EarlierVersion, Retention, StoredLayout, Version

__all__ = ["Replaced", "Slid", "SlotDelta", "VersionDelta", "apply", "delta"]

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Slid(Generic[_Item]):
    """A sequence without its first ``dropped`` items and with ``added`` at its end."""

    dropped: int
    added: tuple[_Item, ...]

    @staticmethod
    def of(before: Sequence[_Item], after: Sequence[_Item]) -> Slid[_Item]:
        """The difference that drops the least."""
        for dropped in range(len(before) if after else 0):
            common = len(before) - dropped
            if before[dropped] == after[0] and tuple(before[dropped:]) == tuple(after[:common]):
                return Slid(dropped, tuple(after[common:]))
        return Slid(len(before), tuple(after))

    def of_sequence(self, before: Sequence[_Item]) -> tuple[_Item, ...]:
        """What became of a sequence."""
        return (*before[self.dropped :], *self.added)


@dataclass(frozen=True)
class SlotDelta:
    """References of an arrangement: the positions of those that are gone, and those that are new."""

    removed: tuple[int, ...]
    added: tuple[BatchRef, ...]


@dataclass(frozen=True)
class Replaced(Generic[_Item]):
    """A new value where there was another."""

    value: _Item


@dataclass(frozen=True)
class VersionDelta:
    """What is different in a version, compared with the one before. Small fields are always there."""

    number: int
    step: int
    made_us: int
    oldest: int
    changes_after: int
    static_frozen: bool
    slots: Mapping[str, SlotDelta]
    """Arrangements that changed, and new ones (nothing removed)."""
    dropped_slots: tuple[str, ...]
    times: Slid[tuple[int, int]]
    pages: Slid[PageRef]
    changes: Slid[ChangeSegment]
    catalog: Replaced[Mapping[str, Any] | None] | None = None
    layout: Replaced[StoredLayout | None] | None = None
    earlier: Slid[EarlierVersion] | None = None
    """None if it is not recorded which versions can be opened."""
    retention: Replaced[Retention] | None = None


def delta(before: Version, after: Version) -> VersionDelta:
    """What changed. Both are versions of one pipeline: name, seed and hash version never change. The branch
    is that of a restore, whose version is stored whole."""
    one, other = (
        (version.pipeline, version.seed, version.hash_version, version.branch) for version in (before, after)
    )
    if one != other:
        raise ValueError("a delta is between two versions of one pipeline and branch")
    slots: dict[str, SlotDelta] = {}
    for slot, refs in after.arrangements.items():
        old = before.arrangements.get(slot)
        if old is None or old != refs:
            had, has = set(old or ()), set(refs)
            removed = tuple(number for number, ref in enumerate(old or ()) if ref not in has)
            slots[slot] = SlotDelta(removed, tuple(ref for ref in refs if ref not in had))
    return VersionDelta(
        after.number,
        after.step,
        after.made_us,
        after.oldest,
        after.changes_after,
        after.static_frozen,
        slots,
        tuple(slot for slot in before.arrangements if slot not in after.arrangements),
        Slid.of(before.times, after.times),
        Slid.of(before.pages, after.pages),
        Slid.of(before.changes, after.changes),
        None if before.catalog == after.catalog else Replaced(after.catalog),
        None if before.layout == after.layout else Replaced(after.layout),
        None if after.earlier is None else Slid.of(before.earlier or (), after.earlier),
        None if before.retention == after.retention else Replaced(after.retention),
    )


def apply(change: VersionDelta, before: Version) -> Version:
    """The version after ``before``."""
    arrangements = {s: refs for s, refs in before.arrangements.items() if s not in change.dropped_slots}
    for slot, found in change.slots.items():
        gone = set(found.removed)
        left = [ref for number, ref in enumerate(arrangements.get(slot, ())) if number not in gone]
        arrangements[slot] = sorted_refs([*left, *found.added])
    return replace(
        before,
        number=change.number,
        step=change.step,
        made_us=change.made_us,
        oldest=change.oldest,
        changes_after=change.changes_after,
        static_frozen=change.static_frozen,
        arrangements=arrangements,
        times=change.times.of_sequence(before.times),
        pages=change.pages.of_sequence(before.pages),
        changes=change.changes.of_sequence(before.changes),
        catalog=before.catalog if change.catalog is None else change.catalog.value,
        layout=before.layout if change.layout is None else change.layout.value,
        earlier=None if change.earlier is None else change.earlier.of_sequence(before.earlier or ()),
        retention=before.retention if change.retention is None else change.retention.value,
    )
