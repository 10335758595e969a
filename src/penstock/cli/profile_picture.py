"""Draws a profile: a bar for each part of a mean step, and one for each operator with the views it works for.

Names stand at the left in a column as wide as the longest of them needs, up to a limit; what is longer ends
in an ellipsis and is there in full as a tooltip. The file stands alone, like the pictures of circuits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from penstock.cli.graph.paint import FAINT, FONT, INK, text
from penstock.cli.graph.text import shorten, text_width

__all__ = ["Bar", "profile_picture"]

_MARGIN, _ROW, _LINE, _BARS, _NUMBER = 24.0, 22.0, 13.0, 480.0, 70.0
_NAME_SIZE, _NOTE_SIZE, _HEAD_SIZE = 12.0, 10.0, 14.0
_NAMES_MAX = 460.0
_COLOURS = {"table": "#4c78a8", "join": "#f58518", "aggregate": "#54a24b", "view": "#b279a2", "": "#72b7b2"}
_OTHER = "#9d9da1"


@dataclass(frozen=True, slots=True)
class Bar:
    """How long something took in a mean step. ``kind`` is an operator's name, ``note`` names its views."""

    name: str
    duration_ms: float
    kind: str = ""
    note: str = ""


def profile_picture(title: str, sections: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """The text of an SVG file with bars under headings."""
    bars = [bar for _, members in sections for bar in members]
    longest = max((bar.duration_ms for bar in bars), default=0.0) or 1.0
    needed = [text_width(bar.name, _NAME_SIZE) for bar in bars]
    needed += [text_width(bar.note, _NOTE_SIZE) for bar in bars]
    names = min(_NAMES_MAX, max(needed, default=0.0))
    width = 2 * _MARGIN + names + 12 + _BARS + _NUMBER
    y = _MARGIN + 12
    body = [text(_MARGIN, y, shorten(title, 18, width - 2 * _MARGIN, bold=True), 18, INK, bold=True)]
    for heading, members in sections:
        y += 34
        body.append(text(_MARGIN, y, heading, _HEAD_SIZE, INK, bold=True))
        y += 8
        for bar in members:
            y += _ROW
            body.append(_drawn(bar, y, names, bar.duration_ms / longest))
            y += _LINE if bar.note else 0.0
    height = y + _MARGIN
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:.0f} {height:.0f}" '
            f'font-family="{FONT}" role="img">',
            f'<title>{escape(title)}</title><rect {size} fill="#ffffff"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _drawn(bar: Bar, y: float, names: float, share: float) -> str:
    left, length = _MARGIN + names + 12, max(1.0, share * _BARS)
    colour = _COLOURS.get(bar.kind.split()[-1] if bar.kind else "", _OTHER)
    note = (
        text(_MARGIN, y + _LINE, shorten(bar.note, _NOTE_SIZE, names), _NOTE_SIZE, FAINT) if bar.note else ""
    )
    return (
        f"<g><title>{escape(bar.name)}{escape(chr(10) + bar.note) if bar.note else ''}</title>"
        + text(_MARGIN, y, shorten(bar.name, _NAME_SIZE, names), _NAME_SIZE, INK)
        + note
        + f'<rect x="{left:.1f}" y="{y - 11:.1f}" width="{length:.1f}" height="15" fill="{colour}"/>'
        + text(left + length + 6, y, f"{bar.duration_ms:.2f}", _NAME_SIZE, INK)
        + "</g>"
    )
