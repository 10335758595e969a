"""Every byte of a state folder, by what it is for; those of state by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.schedule.folder_parts import Uses, rows_of
from penstock.schedule.stored_version import Owner, stored_versions
from penstock.storage import Backend, Pool, Segment
from penstock.storage.block_index import Role
from penstock.trace.stored import BLOCKS

__all__ = ["Part", "bytes_by_use"]

_WORDS = {"order": "order words", "key_lo": "key hashes", "row_lo": "row hashes", "weight": "weights"}


@dataclass(frozen=True)
class Part:
    """``size`` bytes of ``group`` that are ``what``, and how many rows they hold, where that can be said."""

    group: str
    what: str
    size: int
    rows: int = 0


def bytes_by_use(
    storage: Path, backend: Backend, title: Callable[[str, Owner], str] | None = None
) -> list[Part]:
    """All bytes of a state folder, those of state by column. ``title`` names an arrangement."""
    versions = stored_versions(backend)
    assert versions, f"{storage} holds no version"
    newest = versions[-1]
    others = sorted(path for path in storage.iterdir() if path.name != "segments")
    parts = [Part("files", path.name, _bytes_under(path)) for path in others]
    uses = Uses.of(versions)
    sizes: Counter[tuple[str, str]] = Counter()
    rows: Counter[tuple[str, str]] = Counter()
    for name in backend.list("segments/"):
        segment = Segment.open(backend, name)
        rest = backend.size(name)
        for number, entry in enumerate(segment.entries):
            rest -= entry.length
            block = (name, number)
            use = uses.use(block)
            if use == "changes":
                place = ("changes of views", uses.changes[block])
                sizes[place] += entry.length
                rows[place] += rows_of(entry)
            elif use == "state":
                slot = uses.state[block]
                group = slot if title is None else title(slot, newest.owner(slot))
                in_blocks = entry.kind == BLOCKS
                found = _chunks(segment, number) if in_blocks else _columns(segment, number)
                for what, size in found.items():
                    sizes[group, what] += size
                rows[group, "values"] += rows_of(entry)
            else:
                what = "named by the one before" if use == "older" else use
                sizes["not in the newest version", what] += entry.length
        sizes["files", "headers and footers of segments"] += rest
    return parts + [Part(group, what, size, rows[group, what]) for (group, what), size in sizes.items()]


def _columns(segment: Segment, number: int) -> dict[str, int]:
    """The bytes of an entry by what its columns are for."""
    entry = segment.entries[number]
    if entry.kind != "batch":
        return {"packed": entry.length}
    block = segment.read(number)
    found: Counter[str] = Counter()
    for name, column in zip(block.schema.names, block.columns, strict=True):
        found[_title(name)] += column.nbytes
    found["padding and headers"] = entry.length - sum(found.values())
    return dict(found)


def _chunks(segment: Segment, number: int) -> dict[str, int]:
    """The same of an entry in blocks, of which only the index is read."""
    index = segment.columns(number, Pool(), searched=()).index
    found: Counter[str] = Counter()
    for place, buffer in enumerate(index.buffers):
        title = "filters" if buffer.role is Role.FILTER else _title(index.schema.names[buffer.column])
        found[title] += int(index.chunks.length[:, place].sum())
    found["indexes and padding"] = segment.entries[number].length - sum(found.values())
    return dict(found)


def _title(column: str) -> str:
    return _WORDS.get(column, "sums" if column.startswith("sum:") else "values")


def _bytes_under(place: Path) -> int:
    return sum(path.stat().st_size for path in (place, *place.rglob("*")) if path.is_file())
