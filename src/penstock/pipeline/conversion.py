"""``convert_folder``: rewrites segments of older formats, without the pipeline's program and without Spark.

Older formats stay readable, and merging replaces what they hold bit by bit; this does it at once. Every
segment of the newest version that has an older format is written again, with the same entries under the same
numbers, large batches in blocks, and the next version names the new segments. A crash before that version is
published leaves the folder as it was, and some files that are deleted later; the version before keeps the old
segments until the next one is made.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.errors import PipelineError
from penstock.pipeline.checking.report import Progress
from penstock.pipeline.store import PipelineStore
from penstock.schedule.stored_version import Owner, load_version
from penstock.storage import (
    Backend,
    BatchRef,
    ChangeSegment,
    Segment,
    SegmentWriter,
    Version,
    VersionStore,
    newest_version,
    sorted_refs,
)
from penstock.storage.segment import SEGMENT_FORMAT
from penstock.trace import Batch
from penstock.trace.form import Purpose, form_of, shape_of
from penstock.trace.stored import BLOCKS, can_be_stored

__all__ = ["Conversion", "convert_folder"]

_BATCH = "batch"


@dataclass(frozen=True)
class Conversion:
    """What was done: the version that has it, how many segments were written again, and their bytes before
    and after."""

    version: int
    segments: int
    before: int
    after: int


@dataclass(frozen=True)
class _Converted:
    """A segment in the present format, and the checksums of its entries."""

    name: str
    checksums: tuple[int, ...]


def convert_folder(backend: Backend, progress: Progress | None = None) -> Conversion:
    """Converts what the newest version refers to. Raises if the pipeline is running."""
    latest = newest_version(backend)
    if latest is None:
        raise PipelineError(f"{backend.url} holds no pipeline: there is no manifest in it")
    store = PipelineStore(backend, latest.pipeline)
    store.open_log()
    try:
        return _convert(backend, store, progress)
    finally:
        store.close()


def _convert(backend: Backend, store: PipelineStore, progress: Progress | None) -> Conversion:
    version, following = store.version, store.next_version()
    old = [name for name in sorted(store.segments(version)) if _is_old(backend, name)]
    if not old:
        return Conversion(version.number, 0, 0, 0)
    owners = load_version(backend, VersionStore(backend), version.number).owners
    sizes = {name: backend.size(name) for name in old}
    done: dict[str, _Converted] = {}
    reached = 0
    for name in old:
        if progress is not None:
            progress(name, reached, sum(sizes.values()))
        done[name] = _rewritten(backend, name, following.number, owners)
        reached += sizes[name]
    store.publish(_with_new_names(store, following, done))
    store.adopt()
    store.rotate_log()
    store.clean()
    after = sum(backend.size(new.name) for new in done.values())
    return Conversion(following.number, len(done), sum(sizes.values()), after)


def _is_old(backend: Backend, name: str) -> bool:
    return Segment.open(backend, name).format < SEGMENT_FORMAT


def _rewritten(backend: Backend, name: str, version: int, owners: Mapping[str, Owner]) -> _Converted:
    segment = Segment.open(backend, name)
    writer = SegmentWriter(backend, f"segments/{version:010d}-w0000-{uuid.uuid4().hex[:12]}.seg")
    for number, entry in enumerate(segment.entries):
        rows = segment.read(number)
        form = None
        if entry.kind == _BATCH:
            batch = Batch.from_arrow(rows)
            purpose = _purpose(owners.get(str(entry.meta.get("arrangement"))))
            if can_be_stored(batch):
                shape = shape_of(batch, is_sequence=batch.is_sequence)
                form = form_of(shape, purpose, derivable=False, compact=False)
        if form is not None:
            writer.add_blocks(BLOCKS, entry.meta, batch.to_columns(), form)
        else:
            writer.add(entry.kind, entry.meta, rows)
    writer.finish()
    return _Converted(writer.name, tuple(writer.checksum(n) for n in range(writer.entries)))


def _purpose(owner: Owner | None) -> Purpose:
    """By the name of the operator, which begins with what it is."""
    title = "" if owner is None else owner.operator
    if title.startswith(("view", "append-only view")):
        return Purpose.VIEW
    return Purpose.TABLE if title.startswith("table") else Purpose.INDEX


def _with_new_names(store: PipelineStore, version: Version, done: Mapping[str, _Converted]) -> Version:
    def batch(ref: BatchRef) -> BatchRef:
        new = done.get(ref.segment)
        return ref if new is None else replace(ref, segment=new.name, crc32c=new.checksums[ref.entry])

    def changes(found: ChangeSegment) -> ChangeSegment:
        new = done.get(found.segment)
        if new is None:
            return found
        blocks = tuple(replace(block, crc32c=new.checksums[block.entry]) for block in found.blocks)
        return replace(found, segment=new.name, blocks=blocks)

    arrangements = {
        slot: sorted_refs(batch(ref) for ref in refs) for slot, refs in version.arrangements.items()
    }
    every = list(store.changes())
    if not any(found.segment in done for found in every):
        return replace(version, arrangements=arrangements)
    # The pages name old segments: all references are in this version, and become a page of their own.
    return replace(version, arrangements=arrangements, pages=(), changes=tuple(map(changes, every)))
