"""Checks segments: their own checksums, and that they hold what versions refer to.

One entry, or some blocks of it, are in memory at a time. A segment may vanish while it is checked, because a
newer version of a running pipeline replaced it: that is damage only if a version that refers to it is still
there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import CorruptionError, StorageError
from penstock.pipeline.checking.blocks import wrong_blocks
from penstock.pipeline.checking.report import Note, Problem
from penstock.schedule.change_log import PACKED as PACKED_CHANGES
from penstock.schedule.change_log import PLAIN as CHANGES
from penstock.schedule.change_log import STEP_COLUMN, unpacked_changes
from penstock.schedule.snapshot import PACKED
from penstock.schedule.stored_version import NOBODY, ChangesRef, Owner, StoredVersion
from penstock.storage import Backend, BatchRef, Entry, ManifestStore, Segment
from penstock.trace import stored_rows, unsound
from penstock.trace.stored import BLOCKS

__all__ = ["SegmentCheck", "Use", "uses_of"]

BATCH = "batch"


@dataclass(frozen=True)
class Use:
    """A version's reference to a block: for an arrangement, or for the changes of a view."""

    version: int
    name: str
    ref: BatchRef | ChangesRef
    owner: Owner = NOBODY

    @property
    def views(self) -> tuple[str, ...]:
        """The views that the block matters to."""
        return (self.name,) if isinstance(self.ref, ChangesRef) else self.owner.views


def uses_of(versions: Sequence[StoredVersion]) -> dict[str, list[Use]]:
    """The references of all versions, by segment."""
    found: dict[str, list[Use]] = defaultdict(list)
    for version in versions:
        for slot, refs in version.arrangements.items():
            for ref in refs:
                found[ref.segment].append(Use(version.number, slot, ref, version.owner(slot)))
        for view, changes in version.changes.items():
            for change in changes:
                found[change.segment].append(Use(version.number, view, change))
    return found


class SegmentCheck:
    """Checks segments one by one, and collects what it finds."""

    def __init__(self, backend: Backend, uses: Mapping[str, Sequence[Use]]) -> None:
        self._backend, self._uses = backend, uses
        self.problems: list[Problem] = []
        self.notes: list[Note] = []
        self.blocks = self.rows = 0

    def check(self, name: str, advance: Callable[[int], None]) -> None:
        """Checks one segment; ``advance`` is told how many bytes were read."""
        uses = self._uses.get(name, ())
        try:
            segment = Segment.open(self._backend, name)
        except StorageError as error:
            if not self._is_replaced(name, uses):
                self._found(name, None, uses, str(error))
            return
        by_entry: dict[int, list[Use]] = defaultdict(list)
        for use in uses:
            by_entry[use.ref.entry].append(use)
        for number in sorted(by_entry):
            if number >= len(segment.entries):
                what = f"block {number} is referred to, and the file has {len(segment.entries)}"
                self._found(name, number, by_entry[number], what)
        for number, entry in enumerate(segment.entries):
            found = by_entry.get(number, [])
            try:
                for what in self._block(segment, number, found):
                    self._found(name, number, found, what)
            except StorageError as error:
                if self._is_replaced(name, uses):
                    return
                self._found(name, number, found, str(error))
            advance(entry.length)
        if not uses:
            self.notes.append(Note(name, _unused(self._backend, name), self._backend_size(name)))

    def _block(self, segment: Segment, number: int, uses: Sequence[Use]) -> Iterable[str]:
        entry = segment.entries[number]
        rows = _rows(entry)
        yield from _wrong_references(entry, rows, uses)
        self.blocks += 1
        self.rows += rows
        if entry.kind == BLOCKS:
            for what in wrong_blocks(segment, self._backend, number):
                yield f"entry {number}: {what}"
            return
        block = segment.read_copy(self._backend, number)
        try:
            yield from _wrong_contents(block, entry, rows, uses)
        except (pa.ArrowException, OSError, ValueError, KeyError, StopIteration) as error:
            raise CorruptionError(
                f"{segment.name}: block {number} ({entry.describe()}) cannot be unpacked: {error}"
            ) from error

    def _found(self, name: str, number: int | None, uses: Sequence[Use], what: str) -> None:
        if not uses:
            self.notes.append(Note(name, f"no version refers to this: {what}", self._backend_size(name)))
            return
        state = [use for use in uses if isinstance(use.ref, BatchRef)]
        where = "" if number is None or "block" in what else f"block {number}: "
        self.problems.append(
            Problem(
                name,
                where + what,
                number,
                _once(use.name for use in state),
                _once(use.owner.operator for use in state),
                _once(view for use in uses for view in use.views),
                tuple(sorted({use.version for use in uses})),
            )
        )

    def _is_replaced(self, name: str, uses: Sequence[Use]) -> bool:
        """Whether the file is gone, and so is every version that refers to it."""
        if self._backend.exists(name):
            return False
        left = set(ManifestStore(self._backend).versions())
        return left.isdisjoint(use.version for use in uses)

    def _backend_size(self, name: str) -> int:
        return self._backend.size(name) if self._backend.exists(name) else 0


def _wrong_references(entry: Entry, rows: int, uses: Sequence[Use]) -> Iterable[str]:
    for use in uses:
        ref = use.ref
        if ref.crc32c is not None and ref.crc32c != entry.crc32c:
            yield (
                f"its checksum is {entry.crc32c:08x}, and version {use.version} refers to {ref.crc32c:08x}: "
                "it is not the file that was written"
            )
        if isinstance(ref, BatchRef):
            if not 0 <= ref.start <= ref.stop <= rows:
                yield f"version {use.version} refers to rows {ref.start} to {ref.stop} of {rows}"
            if entry.meta.get("arrangement", use.name) != use.name or entry.kind not in (
                BATCH,
                PACKED,
                BLOCKS,
            ):
                yield (
                    f"version {use.version} takes it for the arrangement {use.name}, but it is {entry.kind} "
                    f"{dict(entry.meta)}"
                )
        elif entry.meta.get("view", use.name) != use.name or entry.kind not in (CHANGES, PACKED_CHANGES):
            yield (
                f"version {use.version} takes it for changes of {use.name}, but it is {entry.kind} "
                f"{dict(entry.meta)}"
            )
    yield from _overlaps(uses)


def _overlaps(uses: Sequence[Use]) -> Iterable[str]:
    """Slices of one block that a version refers to twice: workers share a batch, but not its rows."""
    slices: dict[int, list[BatchRef]] = defaultdict(list)
    for use in uses:
        if isinstance(use.ref, BatchRef) and use.ref.start < use.ref.stop:
            slices[use.version].append(use.ref)
    for version, refs in slices.items():
        for one, other in pairwise(sorted(refs, key=lambda ref: (ref.start, ref.stop))):
            if other.start < one.stop:
                yield (
                    f"version {version} refers to some rows twice: {one.start} to {one.stop} and "
                    f"{other.start} to {other.stop}"
                )


def _wrong_contents(block: pa.RecordBatch, entry: Entry, rows: int, uses: Sequence[Use]) -> Iterable[str]:
    if entry.kind in (BATCH, PACKED):
        stored = stored_rows(block) if entry.kind == PACKED else block
        if stored.num_rows != rows:
            yield f"it holds {stored.num_rows} rows, and {rows} were written"
        if what := unsound(stored):
            yield what
    elif entry.kind in (CHANGES, PACKED_CHANGES):
        changes = unpacked_changes(block, entry)
        if changes.num_rows != rows:
            yield f"it holds {changes.num_rows} rows, and {rows} were written"
        last = pc.max(changes.column(STEP_COLUMN)).as_py() if changes.num_rows else None
        late = [use for use in uses if isinstance(use.ref, ChangesRef) and (last or 0) > use.ref.last]
        if late:
            yield f"it holds changes of step {last}, and version {late[0].version} ends before that"


def _unused(backend: Backend, name: str) -> str:
    """Why no version refers to a sound segment."""
    versions, written_for = ManifestStore(backend).versions(), name[9:19]
    if versions and written_for.isdigit() and int(written_for) > versions[-1]:
        return f"written for version {int(written_for)}, which is not published (yet)"
    return "no version refers to it; it waits to be deleted"


def _rows(entry: Entry) -> int:
    """How many rows a block stands for; packed ones are stored as a single row."""
    return int(str(entry.meta.get("rows", entry.rows)))


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))
