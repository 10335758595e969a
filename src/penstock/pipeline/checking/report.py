"""What a check found: problems, which are damage, and notes, which are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["CheckReport", "Note", "Problem", "Progress"]

Progress = Callable[[str, int, int], None]
"""Called with the file that is being read, the bytes done so far, and those of the whole folder."""


@dataclass(frozen=True)
class Problem:
    """Damage: a file, what is wrong, and who uses it. ``block`` is a segment's block, ``frame`` the step of a
    log, where it can be said."""

    file: str
    what: str
    block: int | None = None
    arrangements: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()

    def __str__(self) -> str:
        used = []
        if self.arrangements:
            named = ", ".join(self.arrangements)
            by = f" of {'; '.join(self.operators)}" if self.operators else ""
            used.append(f"arrangement {named}{by}")
        if self.views:
            used.append(f"used by {', '.join(self.views)}")
        if self.versions:
            used.append(f"in version {' and '.join(map(str, self.versions))}")
        named = self.what if self.file in self.what else f"{self.file}: {self.what}"
        return f"{named} ({'; '.join(used)})" if used else named


@dataclass(frozen=True)
class Note:
    """A file that is no part of any version, and why that does no harm."""

    file: str
    what: str
    size: int

    def __str__(self) -> str:
        return f"{self.file}: {self.what}"


@dataclass(frozen=True)
class CheckReport:
    """The result of a check; true if nothing is damaged."""

    pipeline: str
    versions: tuple[int, ...]
    files: int
    blocks: int
    rows: int
    size: int
    problems: tuple[Problem, ...]
    notes: tuple[Note, ...]

    def __bool__(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """The report for other programs."""
        return {"sound": bool(self), **asdict(self)}
