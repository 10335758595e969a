"""The versions of a state folder, for people and programs that choose one of them.

Nothing but manifests, pages and the sizes of files is read, so it needs no Spark and works while the pipeline
runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.errors import PipelineError, StorageError
from penstock.storage import Backend, Unreadable, Version, VersionStore

__all__ = ["VersionInfo", "versions_in"]

_ATTEMPTS = 5


@dataclass(frozen=True)
class VersionInfo:
    """One version. ``own_bytes`` is what deleting it alone would free: the segments that no other version
    refers to. ``shared_bytes`` is the size of the others that it refers to. ``problem`` says why it cannot be
    opened, if it cannot."""

    number: int
    step: int
    made_at: datetime | None
    """When it was made; None if that was not recorded."""
    workers: int
    own_bytes: int
    shared_bytes: int
    is_newest: bool
    problem: str = ""

    @property
    def is_openable(self) -> bool:
        """Whether ``Pipeline(…, version=number)`` can open it."""
        return not self.problem


def versions_in(backend: Backend) -> tuple[VersionInfo, ...]:
    """The versions of a pipeline that can be opened, oldest first; none in a new storage."""
    for _ in range(_ATTEMPTS):
        store = VersionStore(backend)
        before = store.numbers()
        try:
            found = _Listing(backend, store).infos()
            is_sound = all(info.is_openable for info in found)
        except StorageError:
            if store.numbers() == before:
                raise
            continue
        # What a running pipeline replaced meanwhile is not a problem.
        if is_sound or store.numbers() == before:
            return found
    raise PipelineError(f"{backend.url}: versions come and go too fast to be listed; try again")


class _Listing:
    """Reads the versions one by one: each may refer to thousands of files, so only counts are kept."""

    def __init__(self, backend: Backend, store: VersionStore) -> None:
        self._backend, self._store = backend, store
        self._sizes: dict[str, int | None] = {}  # None: the file is missing
        self._count: Counter[str] = Counter()  # versions that refer to a file
        self._by: dict[str, int] = {}  # one of them

    def infos(self) -> tuple[VersionInfo, ...]:
        newest = self._store.newest()
        if newest is None:
            return ()
        earlier = self._store.earlier(newest)
        numbers = [found.number for found in earlier]
        marks = {found.number: found for found in (*earlier, newest.mark)}
        parts = [self._part(newest), *(self._part(v) for v in self._store.load_each(numbers))]
        own: Counter[int] = Counter()
        for name, count in self._count.items():
            if count == 1:
                own[self._by[name]] += self._sizes[name] or 0
        return tuple(
            VersionInfo(
                number,
                marks[number].step,
                _time(marks[number].made_us),
                workers,
                own[number],
                size - own[number],
                number == newest.number,
                problem,
            )
            for number, workers, size, problem in reversed(parts)
        )

    def _part(self, version: Version | Unreadable) -> tuple[int, int, int, str]:
        """Number, workers, size of all that the version refers to, and what is wrong with it."""
        if isinstance(version, Unreadable):
            return version.number, 0, 0, str(version.problem)
        workers = 0 if version.layout is None else version.layout.workers
        try:
            names = self._store.segments(version)
        except StorageError as error:
            return version.number, workers, 0, str(error)
        size, missing = 0, ""
        for name in names:
            self._count[name] += 1
            self._by[name] = version.number
            found = self._size(name)
            size += found or 0
            if found is None:
                missing = min(missing or name, name)
        return version.number, workers, size, f"{missing} is missing" if missing else ""

    def _size(self, name: str) -> int | None:
        if name not in self._sizes:
            try:
                self._sizes[name] = self._backend.size(name)
            except StorageError:
                self._sizes[name] = None
        return self._sizes[name]


def _time(made_us: int) -> datetime | None:
    return datetime.fromtimestamp(made_us / 1e6, UTC) if made_us else None
