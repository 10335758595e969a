"""A version: a state of a pipeline that can be opened, as a frozen value.

It says which batches every arrangement consists of, where the changes of views are, and what is needed to run
on from there. Everything a version refers to is immutable, so two versions share what did not change between
them. :mod:`penstock.storage.version_json` says how a version is stored; nobody else reads that JSON.

The changes of views of a thousand steps are far more references than the state of a step has. So the version
has only the newest of them; the others are in pages (:mod:`penstock.storage.change_pages`) that it names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.storage.references import BatchRef, ChangeSegment, PageRef

__all__ = ["StoredLayout", "Version"]


@dataclass(frozen=True, slots=True)
class StoredLayout:
    """How many workers wrote the version, and which one owned each shard."""

    workers: int
    assignment: tuple[int, ...]


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

    @property
    def retained_after(self) -> int:
        """Segments of changes whose last step is after this one are retained. What views had when they were
        filled counts as a change of the step before, which may be step 0."""
        return self.changes_after or -1

    def batches(self) -> Iterator[BatchRef]:
        """The references to all batches of all arrangements."""
        for refs in self.arrangements.values():
            yield from refs
