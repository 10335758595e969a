"""How many small reads become few large ones.

Neighbouring pointers are joined into one *run*, also if a small gap lies between them: reading a few bytes
too many takes less time than another request. A pure function, so that it can be tested as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.storage.interface import Pointer

__all__ = ["Run", "runs_of", "windows_of"]


@dataclass(frozen=True, slots=True)
class Run:
    """One read: the whole, and the positions of its members in the sequence that they came from."""

    whole: Pointer
    members: tuple[int, ...]


def runs_of(pointers: Sequence[Pointer], *, gap: int, most: int) -> list[Run]:
    """The reads that cover all pointers, by file and offset. ``gap`` is the number of bytes that may be read
    in vain between two; a run has at most ``most`` bytes, unless a single pointer has more."""
    runs: list[Run] = []
    whole, members = Pointer("", 0, 0), list[int]()
    for number in sorted(range(len(pointers)), key=pointers.__getitem__):
        each = pointers[number]
        end = max(whole.offset + whole.length, each.offset + each.length)
        joins = (
            members
            and each.name == whole.name
            and each.offset <= whole.offset + whole.length + gap
            and end - whole.offset <= most
        )
        if not joins:
            if members:
                runs.append(Run(whole, tuple(members)))
            whole, members, end = each, [], each.offset + each.length
        whole = Pointer(whole.name, whole.offset, end - whole.offset)
        members.append(number)
    if members:
        runs.append(Run(whole, tuple(members)))
    return runs


def windows_of(pointers: Sequence[Pointer], size: int) -> Iterator[Sequence[Pointer]]:
    """The pointers in order, in parts of at most ``size`` bytes (or a single pointer)."""
    start = held = 0
    for number, pointer in enumerate(pointers):
        if number > start and held + pointer.length > size:
            yield pointers[start:number]
            start, held = number, 0
        held += pointer.length
    if start < len(pointers):
        yield pointers[start:]
