"""Versions as tools read them: which stored batches belong to which arrangement, operator and view.

This is the only place where tools that look at a folder from outside (``penstock check``, ``penstock
inspect``, the breakdown of a folder) read versions. It needs no program and no Spark: the names of operators
and the views they work for are in the metrics that the pipeline stores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from penstock.errors import CorruptionError
from penstock.storage import Backend, BatchRef, VersionStore, read_metrics

__all__ = ["NOBODY", "ChangesRef", "Owner", "StoredVersion", "load_version", "openable", "stored_versions"]


@dataclass(frozen=True)
class ChangesRef:
    """Where changes of a view are stored, and up to which step."""

    segment: str
    entry: int
    last: int
    crc32c: int | None = None


@dataclass(frozen=True)
class Owner:
    """The operator that keeps an arrangement, and the views that it works for."""

    operator: str
    views: tuple[str, ...]


NOBODY = Owner("", ())
"""The owner of an arrangement in versions of earlier releases, which did not name it."""


@dataclass(frozen=True)
class StoredVersion:
    """One version: the references of its arrangements and of the changes of its views. ``seed`` is unique to
    the pipeline."""

    number: int
    pipeline: str
    seed: str
    step: int
    workers: int
    arrangements: Mapping[str, tuple[BatchRef, ...]]
    changes: Mapping[str, tuple[ChangesRef, ...]]
    owners: Mapping[str, Owner]
    branch: int = 0

    def owner(self, arrangement: str) -> Owner:
        """The operator of an arrangement."""
        return self.owners.get(arrangement, NOBODY)

    @property
    def blocks(self) -> Collection[tuple[str, int]]:
        """The blocks that the version refers to, by segment and number."""
        state = ((ref.segment, ref.entry) for refs in self.arrangements.values() for ref in refs)
        changes = ((ref.segment, ref.entry) for refs in self.changes.values() for ref in refs)
        return {*state, *changes}


def stored_versions(backend: Backend) -> list[StoredVersion]:
    """All versions of a folder that can be opened, oldest first."""
    store = VersionStore(backend)
    return [load_version(backend, store, number) for number in openable(store)]


def openable(store: VersionStore) -> list[int]:
    """The numbers of the versions that can be opened, oldest first, as the newest one says. Other manifests
    are there because one of these is stored as a change to them, or were discarded by a restore."""
    with _malformed_is_damage("the newest version"):
        latest = store.newest()
        if latest is None:
            return []
        if latest.earlier is None:
            return [number for number in store.numbers() if latest.oldest <= number]
        return [*(found.number for found in latest.earlier), latest.number]


def load_version(backend: Backend, store: VersionStore, number: int) -> StoredVersion:
    """One version; the manifests and pages that it is read from are checked."""
    with _malformed_is_damage(f"manifest/{number:010d}.json: version {number}"):
        version = store.load(number)
        changes = list(store.changes(version))
    views: dict[str, list[ChangesRef]] = {}
    for found in changes:
        for block in found.blocks:
            ref = ChangesRef(found.segment, block.entry, found.last, block.crc32c)
            views.setdefault(block.view, []).append(ref)
    return StoredVersion(
        number,
        version.pipeline,
        version.seed,
        version.step,
        0 if version.layout is None else version.layout.workers,
        version.arrangements,
        {view: tuple(refs) for view, refs in views.items()},
        _owners(read_metrics(backend) or {}),
        version.branch,
    )


@contextmanager
def _malformed_is_damage(what: str) -> Iterator[None]:
    """For reading a version whose checksums are right but which lacks something."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptionError(f"{what} lacks something that every version has: {error!r}") from error


def _owners(metrics: Mapping[str, Any]) -> dict[str, Owner]:
    return {
        slot: Owner(
            f"{operator['operator']} {operator['description']}".strip(), tuple(operator.get("views", ()))
        )
        for operator in metrics.get("operators", ())
        for slot in operator.get("arrangements", ())
    }
