"""A state folder from outside: what each arrangement, batch, segment and byte of it is for.

Blocks that the newest version refers to are state or changes of views; blocks that only an older version
refers to are kept for going back to it; the others wait until their segment is deleted. Only manifests and
the footers of segments are read. The pipeline may be running: if a newer version replaced a file that is
missing, everything is read again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from penstock.errors import CorruptionError, PipelineError, StorageError
from penstock.schedule.snapshot import PACKED
from penstock.schedule.stored_version import Owner, StoredVersion, stored_versions
from penstock.storage import Backend, BatchRef, Entry, ManifestStore, Segment
from penstock.trace.stored import BLOCKS

__all__ = ["ArrangementParts", "BatchPart", "Folder", "SegmentPart", "Uses", "read_folder", "rows_of"]

_ATTEMPTS = 5
Block = tuple[str, int]
Use = Literal["state", "changes", "older", "garbage"]


@dataclass(frozen=True)
class BatchPart:
    """A batch of a spine: the slice of a stored block that one worker uses. ``size`` is its part of the
    block."""

    ref: BatchRef
    kind: str
    rows: int
    size: int

    @property
    def packed(self) -> bool:
        """Whether it is compressed as a whole, as earlier releases did."""
        return self.kind == PACKED

    @property
    def in_blocks(self) -> bool:
        """Whether it is in blocks, and need not be read as a whole."""
        return self.kind == BLOCKS


@dataclass(frozen=True)
class ArrangementParts:
    """The spine of an arrangement in the newest version: all workers' batches, the largest first."""

    name: str
    owner: Owner
    batches: tuple[BatchPart, ...]

    @property
    def rows(self) -> int:
        """Rows in all batches."""
        return sum(batch.rows for batch in self.batches)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(batch.size for batch in self.batches)


@dataclass(frozen=True)
class SegmentPart:
    """A segment file: bytes of blocks that hold state and changes of the newest version, that only older
    versions refer to, and that nobody does."""

    name: str
    size: int
    blocks: int
    state: int
    changes: int
    older: int
    garbage: int

    @property
    def used(self) -> int:
        """Bytes of all blocks: the rest is header, footer and trailer."""
        return self.state + self.changes + self.older + self.garbage


@dataclass(frozen=True)
class Folder:
    """All of a folder. ``changes`` are the bytes and rows of the changes of each view."""

    versions: tuple[StoredVersion, ...]
    arrangements: tuple[ArrangementParts, ...]
    changes: dict[str, tuple[int, int]]
    segments: tuple[SegmentPart, ...]
    files: dict[str, int]
    """Sizes of everything besides segments, by folder."""

    @property
    def newest(self) -> StoredVersion:
        """The newest version."""
        return self.versions[-1]


@dataclass(frozen=True)
class Uses:
    """What the blocks of all segments are for: ``state`` and ``changes`` have the names of arrangement and
    view in the newest version."""

    state: Mapping[Block, str]
    changes: Mapping[Block, str]
    older: Set[Block]

    @staticmethod
    def of(versions: Sequence[StoredVersion]) -> Uses:
        """The uses of versions, of which the last is the newest."""
        newest = versions[-1]
        return Uses(
            {(ref.segment, ref.entry): slot for slot, refs in newest.arrangements.items() for ref in refs},
            {(ref.segment, ref.entry): view for view, refs in newest.changes.items() for ref in refs},
            {block for version in versions[:-1] for block in version.blocks},
        )

    def use(self, block: Block) -> Use:
        """What a block is for."""
        if block in self.state:
            return "state"
        if block in self.changes:
            return "changes"
        return "older" if block in self.older else "garbage"


def read_folder(backend: Backend) -> Folder:
    """Reads manifests and the footers of segments."""
    for _ in range(_ATTEMPTS):
        before = ManifestStore(backend).versions()
        try:
            return _read(backend)
        except StorageError:
            if ManifestStore(backend).versions() == before:
                raise
    return _read(backend)


def _read(backend: Backend) -> Folder:
    versions = stored_versions(backend)
    if not versions:
        raise PipelineError(f"{backend.url} holds no pipeline: there is no manifest in it")
    newest, uses = versions[-1], Uses.of(versions)
    changes: dict[str, tuple[int, int]] = dict.fromkeys(newest.changes, (0, 0))
    entries: dict[Block, Entry] = {}
    segments = []
    for name in backend.list("segments/"):
        if name.endswith(".seg"):
            found = Segment.open(backend, name).entries
            entries |= {(name, number): entry for number, entry in enumerate(found)}
            segments.append(_segment(backend, name, found, uses))
    for block, view in uses.changes.items():
        entry = _entry(entries, block)
        size, rows = changes[view]
        changes[view] = (size + entry.length, rows + rows_of(entry))
    arrangements = [
        ArrangementParts(slot, newest.owner(slot), _spine(refs, entries))
        for slot, refs in newest.arrangements.items()
    ]
    arrangements.sort(key=lambda found: (-found.size, found.name))
    return Folder(tuple(versions), tuple(arrangements), changes, tuple(segments), _files(backend))


def _segment(backend: Backend, name: str, entries: Sequence[Entry], uses: Uses) -> SegmentPart:
    sizes: Counter[str] = Counter()
    for number, entry in enumerate(entries):
        sizes[uses.use((name, number))] += entry.length
    return SegmentPart(
        name,
        backend.size(name),
        len(entries),
        sizes["state"],
        sizes["changes"],
        sizes["older"],
        sizes["garbage"],
    )


def _entry(entries: Mapping[Block, Entry], block: Block) -> Entry:
    if block not in entries:
        raise CorruptionError(f"{block[0]}: block {block[1]} is referred to and is not there")
    return entries[block]


def _spine(refs: Sequence[BatchRef], entries: Mapping[Block, Entry]) -> tuple[BatchPart, ...]:
    found = []
    for ref in refs:
        entry = _entry(entries, (ref.segment, ref.entry))
        rows = ref.stop - ref.start
        found.append(BatchPart(ref, entry.kind, rows, entry.length * rows // max(1, rows_of(entry))))
    return tuple(sorted(found, key=lambda batch: -batch.rows))


def _files(backend: Backend) -> dict[str, int]:
    sizes: defaultdict[str, int] = defaultdict(int)
    for name in backend.list():
        if not name.startswith("segments/"):
            sizes[name.partition("/")[0]] += backend.size(name)
    return dict(sizes)


def rows_of(entry: Entry) -> int:
    """How many rows a block stands for; packed ones are stored as a single row."""
    return int(str(entry.meta.get("rows", entry.rows)))
