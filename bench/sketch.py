"""What a picture is to show, as plain data: bars beside a goal, growth, distributions, parts of a whole.

A benchmark makes one of these records and it is kept with the figures, so that :mod:`bench.picture` can be
improved and all pictures drawn again without measuring anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

__all__ = [
    "Bar",
    "Bars",
    "Line",
    "Lines",
    "Mark",
    "Range",
    "Ranges",
    "Sketch",
    "Stack",
    "Stacks",
    "sketch_from_json",
    "sketch_to_json",
]


@dataclass(frozen=True)
class Mark:
    """A goal: a line across the picture, with its name."""

    value: float
    label: str


@dataclass(frozen=True)
class Bar:
    """One figure. ``good`` says whether it is on the right side of the goal."""

    label: str
    value: float
    good: bool = True


@dataclass(frozen=True)
class Bars:
    """Figures beside each other. With ``log`` (ratios) they start at 1 where 1 is among them."""

    title: str
    unit: str
    bars: Sequence[Bar]
    marks: Sequence[Mark] = ()
    log: bool = False


@dataclass(frozen=True)
class Line:
    """A series of (x, value, low, high): a line in a pale band."""

    label: str
    points: Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True)
class Lines:
    """How something grows; x is logarithmic, unless it is ``over_time``: then there are many points."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    over_time: bool = False


@dataclass(frozen=True)
class Range:
    """A distribution: a line from p1 to p99, a box from p10 to p90, a stroke at the median."""

    label: str
    p1: float
    p10: float
    p50: float
    p90: float
    p99: float


@dataclass(frozen=True)
class Ranges:
    """Distributions below each other, on a logarithmic axis. Labels that begin with the same words up to a
    colon are one group under a heading."""

    title: str
    unit: str
    ranges: Sequence[Range]
    marks: Sequence[Mark] = ()


@dataclass(frozen=True)
class Stack:
    """A whole and its parts by name."""

    label: str
    parts: Mapping[str, float]


@dataclass(frozen=True)
class Stacks:
    """Wholes below each other, the same part in the same colour."""

    title: str
    unit: str
    stacks: Sequence[Stack]
    marks: Sequence[Mark] = ()


Sketch = Bars | Lines | Ranges | Stacks
_KINDS: dict[str, type[Sketch]] = {"bars": Bars, "lines": Lines, "ranges": Ranges, "stacks": Stacks}
_ITEMS: dict[str, Callable[..., Any]] = {"bars": Bar, "lines": Line, "ranges": Range, "stacks": Stack}


def sketch_to_json(sketch: Sketch) -> dict[str, Any]:
    """As plain data."""
    return {"kind": type(sketch).__name__.lower(), **asdict(sketch)}


def sketch_from_json(stored: Mapping[str, Any]) -> Sketch:
    """What :func:`sketch_to_json` made."""
    kind = stored["kind"]
    rest = {key: value for key, value in stored.items() if key != "kind"}
    rest[kind] = [_ITEMS[kind](**item) for item in stored[kind]]
    rest["marks"] = [Mark(**mark) for mark in stored["marks"]]
    return _KINDS[kind](**rest)
