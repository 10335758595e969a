"""What a laid-out drawing consists of: boxes, wires and words, all frozen, all in pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from penstock.cli.graph.model import GraphEdge

__all__ = ["Box", "FragmentBox", "LevelBand", "Metrics", "Placement", "Route", "Wire", "Words"]


@dataclass(frozen=True, slots=True)
class Metrics:
    """Sizes in pixels."""

    card_width: float = 206
    label_size: float = 11.5
    detail_size: float = 9.5
    detail_lines: int = 3
    key_size: float = 9
    word_gap: float = 6
    pad: float = 10
    row_height: float = 19
    line_height: float = 12
    table_bar: float = 4
    card_gap: float = 10
    fragment_head: float = 17
    fragment_gap: float = 16
    lane_height: float = 12
    port_gap: float = 15
    gutter: float = 7
    key_room: float = 48
    gap_min: float = 62
    gap_max: float = 140
    margin: float = 24
    top: float = 92


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: left, top, width, height."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x of the right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of the lower side."""
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class FragmentBox:
    """A placed fragment."""

    fragment: int
    box: Box


@dataclass(frozen=True, slots=True)
class LevelBand:
    """The stretch of x that a level takes."""

    level: int
    left: float
    right: float


class Route(Enum):
    """How an edge is drawn: to the next line of a card (not at all), straight down to the next card, through
    its fragment's gutter, or across a gap."""

    NEXT = "next"
    DOWN = "down"
    GUTTER = "gutter"
    ACROSS = "across"


@dataclass(frozen=True, slots=True)
class Wire:
    """A placed edge and the points it passes."""

    edge: GraphEdge
    points: tuple[tuple[float, float], ...]
    route: Route


@dataclass(frozen=True, slots=True)
class Words:
    """The text of an operator: its label, what follows on the same line, and the lines below."""

    label: str
    beside: str
    below: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """The finished drawing, without its paint."""

    width: float
    height: float
    bands: tuple[LevelBand, ...]
    fragments: tuple[FragmentBox, ...]
    cards: tuple[tuple[int, ...], ...]
    nodes: Mapping[int, Box]
    words: Mapping[int, Words]
    wires: tuple[Wire, ...]
