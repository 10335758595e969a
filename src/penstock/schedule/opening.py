"""What the coordinator tells workers when it opens them, and what they reply when they have written.

Both pass between processes; ``to_json`` and ``from_json`` are called where they enter and leave the wire.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.schedule.storage_counts import StorageCounts
from penstock.storage import BatchRef, ChangeBlock, Version
from penstock.storage.references import blocks_of

__all__ = ["Opening", "Written", "WrittenChanges"]


@dataclass(frozen=True)
class Opening:
    """The version at which workers begin: the batches of its arrangements, and the arrangements that it lacks
    (``missing``). If there are any, the next step fills them from those that exist, and takes no input."""

    version: int = 0
    arrangements: Mapping[str, tuple[BatchRef, ...]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @staticmethod
    def of(version: Version, slots: Collection[str] = ()) -> Opening:
        """A version, to be opened by a program with these arrangements."""
        missing = sorted(set(slots) - set(version.arrangements))
        return Opening(version.number, version.arrangements, tuple(missing))

    def to_json(self) -> dict[str, Any]:
        """For the wire."""
        return {
            "version": self.version,
            "arrangements": _refs_to_json(self.arrangements),
            "missing": list(self.missing),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Opening:
        """The inverse."""
        return Opening(value["version"], _refs_from_json(value["arrangements"]), tuple(value["missing"]))


@dataclass(frozen=True)
class WrittenChanges:
    """A segment of changes of views."""

    segment: str
    blocks: tuple[ChangeBlock, ...]


@dataclass(frozen=True)
class Written:
    """What one worker holds and has written for a version: all batches of the arrangements it was asked for,
    the changes of views since the version before (None if there are none), rows and bytes of each
    arrangement in memory, and what its storage has done so far."""

    worker: int
    arrangements: Mapping[str, tuple[BatchRef, ...]]
    changes: WrittenChanges | None = None
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    counts: StorageCounts = field(default_factory=StorageCounts)

    def to_json(self) -> dict[str, Any]:
        """For the wire."""
        views: dict[str, list[list[int | None]]] = {}
        for block in self.changes.blocks if self.changes is not None else ():
            views.setdefault(block.view, []).append([block.entry, block.crc32c])
        return {
            "worker": self.worker,
            "arrangements": _refs_to_json(self.arrangements),
            "changes": None if self.changes is None else [self.changes.segment, views],
            "sizes": {slot: list(size) for slot, size in self.sizes.items()},
            "counts": asdict(self.counts),
        }

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Written:
        """The inverse."""
        changes = value["changes"]
        return Written(
            value["worker"],
            _refs_from_json(value["arrangements"]),
            None if changes is None else WrittenChanges(changes[0], blocks_of(changes[1])),
            {slot: (rows, size) for slot, (rows, size) in value["sizes"].items()},
            StorageCounts(**value["counts"]),
        )


def _refs_to_json(arrangements: Mapping[str, tuple[BatchRef, ...]]) -> dict[str, list[list[Any]]]:
    return {
        slot: [[ref.segment, ref.entry, ref.start, ref.stop, ref.crc32c] for ref in refs]
        for slot, refs in arrangements.items()
    }


def _refs_from_json(value: Mapping[str, Any]) -> dict[str, tuple[BatchRef, ...]]:
    return {slot: tuple(BatchRef(*ref) for ref in refs) for slot, refs in value.items()}
