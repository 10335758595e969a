"""The versions of a state folder, for people and programs that choose one of them.

Nothing but manifests, pages and the sizes of files is read, so it needs no Spark and works while the pipeline
runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.errors import PipelineError, StorageError
from penstock.storage import Backend, EarlierVersion, Unreadable, Version, VersionStore

__all__ = ["VersionInfo", "versions_in"]

_ATTEMPTS = 5


@dataclass(frozen=True)
class VersionInfo:
    """One version. ``own_bytes`` is what deleting it alone would free: the segments that no other version
    refers to. ``shared_bytes`` is the size of the others that it refers to. ``problem`` says why it cannot be
    opened, if it cannot."""

    number: int
    step: int
    """The step whose state it is; -1 if the version cannot be read."""
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
        self._marks: dict[int, EarlierVersion] = {}

    def infos(self) -> tuple[VersionInfo, ...]:
        numbers = self._store.numbers()
        if not numbers:
            return ()
        try:
            newest = self._store.load(numbers[-1])
        except StorageError:  # then it is not known which of the others can be opened
            parts = [self._part(found) for found in self._store.load_each(numbers)]
        else:
            earlier = self._store.earlier(newest)
            self._marks |= {found.number: found for found in earlier}
            others = self._store.load_each([found.number for found in earlier])
            parts = [self._part(newest), *map(self._part, others)]
        own: Counter[int] = Counter()
        for name, count in self._count.items():
            if count == 1:
                own[self._by[name]] += self._sizes[name] or 0
        return tuple(
            VersionInfo(
                number,
                self._marks[number].step if number in self._marks else -1,
                _time(self._marks[number].made_us) if number in self._marks else None,
                workers,
                own[number],
                size - own[number],
                number == numbers[-1],
                problem,
            )
            for number, workers, size, problem in reversed(parts)
        )

    def _part(self, version: Version | Unreadable) -> tuple[int, int, int, str]:
        """Number, workers, size of all that the version refers to, and what is wrong with it."""
        if isinstance(version, Unreadable):
            return version.number, 0, 0, str(version.problem)
        self._marks[version.number] = version.mark
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
