"""Colours and face of a drawing, and how a line of text is written."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from penstock.cli.graph.model import NodeKind

__all__ = ["DETAIL", "EXCHANGE", "FAINT", "FONT", "INK", "PAINT", "Paint", "text"]

FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
INK, DETAIL, FAINT, EXCHANGE = "#1d2733", "#4d5965", "#66717d", "#d0532f"


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours of one kind of node."""

    stroke: str
    fill: str
    ink: str


# Dark enough on light to read at half size and for the common kinds of colour blindness.
PAINT: dict[NodeKind, Paint] = {
    NodeKind.TABLE: Paint("#2563a8", "#e3eefb", "#173f6d"),
    NodeKind.VIEW: Paint("#1f7a4d", "#ddf3e6", "#12502f"),
    NodeKind.LINEAR: Paint("#7b8794", "#ffffff", "#27313b"),
    NodeKind.BILINEAR: Paint("#7a4fb5", "#f3edfb", "#4a2a7a"),
    NodeKind.NON_LINEAR: Paint("#b8641b", "#fdf1e4", "#73390a"),
}


def text(
    x: float,
    y: float,
    content: str,
    size: float,
    colour: str,
    *,
    anchor: str = "start",
    bold: bool = False,
    after: str = "",
) -> str:
    """A line of text; ``after`` is a finished element that goes on in the same line."""
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(content)}{after}</text>"
    )
