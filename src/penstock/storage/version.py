"""A version: a state of a pipeline that can be opened, as a frozen value.

It says which batches every arrangement consists of, where the changes of views are, and what is needed to run
on from there. Everything a version refers to is immutable, so two versions share what did not change between
them. :mod:`penstock.storage.version_json` says how a version is stored; nobody else reads that JSON.

The changes of views of a thousand steps are far more references than the state of a step has. So the version
has only the newest of them; the others are in pages (:mod:`penstock.storage.change_pages`) that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.storage.references import BatchRef, ChangeSegment, PageRef

__all__ = ["EarlierVersion", "Retention", "StoredLayout", "Version"]

ALWAYS_KEPT = 2
"""The newest version, and the one before it: a crash during a commit leaves one of them or both."""


@dataclass(frozen=True, slots=True)
class StoredLayout:
    """How many workers wrote the version, and which one owned each shard."""

    workers: int
    assignment: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """A version before another one, which can still be opened."""

    number: int
    step: int
    made_us: int


@dataclass(frozen=True, slots=True)
class Retention:
    """Which versions stay openable: the last ``versions`` ones, and those made in the last ``for_us``
    microseconds. They are always the newest ones without a gap in time."""

    versions: int = ALWAYS_KEPT
    for_us: int = 0

    def kept(self, earlier: Sequence[EarlierVersion], newest: EarlierVersion) -> tuple[EarlierVersion, ...]:
        """Those of the ``earlier`` versions (oldest first) that are kept when ``newest`` is made."""
        first = max(0, len(earlier) + 1 - max(self.versions, ALWAYS_KEPT))
        if self.for_us:
            since = newest.made_us - self.for_us
            first = next((n for n, found in enumerate(earlier[:first]) if found.made_us >= since), first)
        return tuple(earlier[first:])


@dataclass(frozen=True)
class Version:
    """The state after ``step``, and what belongs to it."""

    number: int
    pipeline: str
    hash_version: int
    seed: str
    """The seed of all hashes, in hexadecimal digits."""
    step: int = 0
    made_us: int = 0
    """When it was made, in microseconds since 1970; 0 if that is not known."""
    oldest: int = 0
    """The oldest version that could be opened when this one was made."""
    arrangements: Mapping[str, tuple[BatchRef, ...]] = field(default_factory=dict)
    """The batches of every arrangement, by its slot, in the order of :func:`sorted_refs`."""
    pages: tuple[PageRef, ...] = ()
    """The pages of the index of changes of views, oldest first."""
    changes: tuple[ChangeSegment, ...] = ()
    """Where the changes of views are that are in no page yet, oldest first."""
    changes_after: int = 0
    """Changes of views are kept for all steps after this one."""
    times: tuple[tuple[int, int], ...] = ()
    """Step and time (microseconds since 1970) of the steps whose changes are kept, oldest first."""
    static_frozen: bool = False
    """Whether rows have come to tables that are not static, so that static ones must not change any more."""
    catalog: Mapping[str, Any] | None = None
    layout: StoredLayout | None = None
    earlier: tuple[EarlierVersion, ...] | None = None
    """The versions before it that can be opened, oldest first; None if it was not recorded. Then it is those
    from ``oldest`` on."""
    retention: Retention = Retention()
    """Which versions are to be kept, until a run says otherwise."""
    branch: int = 0
    """The version that the last restore made; 0 if there was none. The input log has its own folder in each
    branch, so steps that a restore discarded are not taken for later ones."""

    @property
    def mark(self) -> EarlierVersion:
        """What later versions record about this one."""
        return EarlierVersion(self.number, self.step, self.made_us)

    @property
    def retained_after(self) -> int:
        """Segments of changes whose last step is after this one are retained. What views had when they were
        filled counts as a change of the step before, which may be step 0."""
        return self.changes_after or -1

    def batches(self) -> Iterator[BatchRef]:
        """The references to all batches of all arrangements."""
        for refs in self.arrangements.values():
            yield from refs
