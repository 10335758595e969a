"""Versions as they are stored: chains of manifests, and the pages of the index of changes that they name.

A version is a delta to the one before, so it costs what changed in it. It is stored whole if there is none to
build on, if the deltas since the last whole one together would be larger than that, or if there are ``CHAIN``
of them: then opening, which reads the chain, stays cheap. With a whole version, the references to changes
that the deltas brought become a page. So all that is ever written is at most about twice the deltas, and
the pages.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from penstock.errors import StorageError
from penstock.storage.change_pages import Page, due_for_merging, live, read_page
from penstock.storage.delta import apply, delta
from penstock.storage.interface import Backend, NameTakenError
from penstock.storage.manifest import Base, Manifest, ManifestStore, StoredManifest, measured
from penstock.storage.references import ChangeBlock, ChangeSegment, PageRef
from penstock.storage.version import EarlierVersion, Version
from penstock.storage.version_json import (
    delta_from_json,
    delta_to_json,
    version_from_format_1,
    version_from_json,
    version_to_json,
)

__all__ = ["Prepared", "Unreadable", "VersionStore", "newest_version"]

CHAIN = 64
"""The largest number of deltas to one whole version."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Chain:
    """The newest version of a chain, and what its deltas have cost so far."""

    version: Version
    stored: StoredManifest
    whole_size: int
    deltas: int
    deltas_size: int

    @property
    def whole(self) -> int:
        """The version that the chain begins with."""
        base = self.stored.manifest.base
        return self.version.number if base is None else base.whole

    def followed_by(self, version: Version, stored: StoredManifest) -> _Chain:
        """The chain with one more delta."""
        size = self.deltas_size + stored.size
        return _Chain(version, stored, self.whole_size, self.deltas + 1, size)


@dataclass(frozen=True)
class Prepared:
    """A version as it will be stored: its references to changes may have become a page."""

    chain: _Chain
    pages: tuple[Page, ...]

    @property
    def version(self) -> Version:
        """The version."""
        return self.chain.version


@dataclass(frozen=True)
class Unreadable:
    """A version that cannot be read, and why."""

    number: int
    problem: StorageError


class VersionStore:
    """The versions in one backend. One thread at a time prepares and publishes; others may read."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._manifests = ManifestStore(backend)
        self._newest: _Chain | None = None  # that was loaded or adopted here
        self._read: dict[str, tuple[ChangeSegment, ...]] = {}  # pages, by name

    # ---- reading ----------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """The versions that have a manifest, oldest first. Those of :meth:`earlier` and the newest one can be
        opened: others are there because one of those is read from them."""
        return self._manifests.versions()

    def latest(self) -> Version | None:
        """The newest version, guaranteed durable; None in a new storage."""
        stored = self._manifests.latest()
        if stored is None:
            self._newest = None
            return None
        self._newest = self._chain(stored)[-1]
        return self._newest.version

    def newest(self) -> Version | None:
        """The newest version for somebody who only looks: it may not be durable yet."""
        numbers = self.numbers()
        return self.load(numbers[-1]) if numbers else None

    def load(self, number: int) -> Version:
        """One version."""
        return self._chain(self._manifests.load(number))[-1].version

    def load_each(self, numbers: Collection[int]) -> Iterator[Version | Unreadable]:
        """These versions, newest first. Each manifest is read once, and no more versions are in memory than
        one chain has."""
        left = sorted(numbers)
        while left:
            number = left[-1]
            try:
                chain = self._chain(self._manifests.load(number))
            except StorageError as problem:
                left.pop()
                yield Unreadable(number, problem)
                continue
            for each in reversed(chain):
                if left and each.version.number == left[-1]:
                    left.pop()
                    yield each.version

    def earlier(self, latest: Version) -> tuple[EarlierVersion, ...]:
        """The versions before the newest one that can be opened, oldest first. Where the newest one does not
        record it, one that cannot be read is left out, with all before it: that does no harm to the newest
        one."""
        if latest.earlier is not None:
            return latest.earlier
        found: list[EarlierVersion] = []
        for each in self.load_each([n for n in self.numbers() if latest.oldest <= n < latest.number]):
            if isinstance(each, Unreadable):
                _log.warning("version %d cannot be opened any more: %s", each.number, each.problem)
                break
            found.append(each.mark)
        return tuple(reversed(found))

    def whole_of(self, number: int) -> int:
        """The version that is stored whole and that this one is read from."""
        base = self._manifests.load(number).manifest.base
        return number if base is None else base.whole

    def _chain(self, stored: StoredManifest) -> list[_Chain]:
        """The versions from the whole one up to this one."""
        links = [stored]
        while links[-1].manifest.base is not None:
            links.append(self._manifests.base_of(links[-1].manifest))
        links.reverse()
        whole = links[0]
        decode = version_from_format_1 if whole.format == 1 else version_from_json
        version = decode(whole.manifest.version, whole.manifest.body)
        chain = [_Chain(version, whole, whole.size, 0, 0)]
        for link in links[1:]:
            change = delta_from_json(link.manifest.version, link.manifest.body)
            chain.append(chain[-1].followed_by(apply(change, chain[-1].version), link))
        return chain

    def changes(self, version: Version, since: int = -1) -> Iterator[ChangeSegment]:
        """All segments with changes of views of steps after ``since``, as far as the version retains them,
        oldest first."""
        after = max(since, version.retained_after)
        for page in version.pages:
            if page.last > after:
                yield from live(self._page(page), after)
        yield from live(version.changes, after)

    def changes_of(self, version: Version, view: str, since: int) -> Iterator[tuple[str, ChangeBlock]]:
        """Segment and block of the changes of a view that may be of steps after ``since``, oldest first."""
        for found in self.changes(version, since):
            for block in found.of_view(view):
                yield found.segment, block

    def segments(self, version: Version) -> set[str]:
        """The segments that a version refers to: those of its state, and of the changes that it retains."""
        return {ref.segment for ref in version.batches()} | {c.segment for c in self.changes(version)}

    def files(self, version: Version) -> set[str]:
        """All segments and pages that a version refers to."""
        return self.segments(version) | {page.name for page in version.pages}

    def _page(self, ref: PageRef) -> tuple[ChangeSegment, ...]:
        found = self._read.get(ref.name)
        if found is None:
            found = self._read[ref.name] = read_page(self._backend, ref)
        return found

    # ---- publishing -------------------------------------------------------------------------------

    def prepare(self, version: Version) -> Prepared:
        """How the version after the newest one is stored. Writes nothing; the same again if nothing else
        was adopted meanwhile."""
        newest = self._newest
        if newest is not None and newest.stored.format != 1 and newest.deltas < CHAIN:
            base = Base(newest.version.number, newest.stored.crc32c, newest.whole)
            body = delta_to_json(delta(newest.version, version))
            chain = newest.followed_by(version, measured(Manifest(version.number, body, base)))
            if chain.deltas_size <= chain.whole_size:
                return Prepared(chain, ())
        pages, made = self._paged(version)
        whole = replace(version, pages=pages, changes=())
        stored = measured(Manifest(version.number, version_to_json(whole)))
        return Prepared(_Chain(whole, stored, stored.size, 0, 0), made)

    def _paged(self, version: Version) -> tuple[tuple[PageRef, ...], tuple[Page, ...]]:
        """The pages of a version whose latest changes are in a page too, and those of them that are new."""
        pages = [page for page in version.pages if page.last > version.retained_after]
        if not version.changes:
            return tuple(pages), ()
        segments = list(version.changes)
        count = due_for_merging([*(page.segments for page in pages), len(segments)])
        if count:
            merged, pages = pages[len(pages) - count + 1 :], pages[: len(pages) - count + 1]
            old = [found for page in merged for found in self._page(page)]
            segments = [*live(old, version.retained_after), *segments]
        made = Page.of(version.number, segments)
        return (*pages, made.ref), (made,)

    def publish(self, prepared: Prepared) -> None:
        """When it returns, the version exists for everyone. A StorageError means that another writer made it,
        or a later one, or that it is not known whether it exists."""
        for page in prepared.pages:
            self._read[page.ref.name] = page.segments
            with suppress(NameTakenError):  # by an earlier attempt: the name has a digest of the contents
                self._backend.write_new(page.ref.name, [page.content])
        self._manifests.commit(prepared.chain.stored.manifest)

    def holds(self, prepared: Prepared) -> bool:
        """Whether exactly this is published; if so it is durable on return."""
        return self._manifests.holds(prepared.chain.stored.manifest)

    def adopt(self, prepared: Prepared) -> None:
        """The version was published: the next one is built on it."""
        self._newest = prepared.chain

    # ---- deleting ---------------------------------------------------------------------------------

    def prune(self, oldest: int) -> None:
        """Deletes the manifests that no version from ``oldest`` on is read from."""
        with suppress(StorageError):  # damaged: then nothing says which manifests it needs
            self._manifests.prune_before(self.whole_of(oldest))

    def forget_page(self, name: str) -> None:
        """A page was deleted."""
        self._read.pop(name, None)


def newest_version(backend: Backend) -> Version | None:
    """The newest version in a storage, guaranteed durable; None in a new one."""
    return VersionStore(backend).latest()
