"""Draws the spines of a state folder: a row for each arrangement, a bar for each batch.

The length of a bar is the bytes of the batch, on one scale for all arrangements, so that it shows at a glance
where the space goes and which spines wait to be merged. Packed batches are darker. A batch too small to be
seen is drawn one point wide; the number at the end of the row says how many there are.
"""

from __future__ import annotations

from html import escape

from penstock.cli.console import counted, size_text
from penstock.cli.graph.paint import DETAIL, FAINT, FONT, INK, text
from penstock.cli.graph.text import shorten, text_width
from penstock.schedule.folder_parts import ArrangementParts, Folder

__all__ = ["spine_picture"]

_MARGIN, _ROW, _LINE, _BARS, _NUMBER, _GAP = 24.0, 26.0, 13.0, 520.0, 230.0, 1.5
_NAME_SIZE, _NOTE_SIZE = 12.0, 10.0
_NAMES_MAX = 420.0
_BAR_MIN = 1.0
_PLAIN, _PACKED, _OLDER, _GARBAGE, _CHANGES = "#4c78a8", "#1d3f66", "#e2a95b", "#c0504d", "#54a24b"


def spine_picture(folder: Folder) -> str:
    """The text of an SVG file."""
    names = min(_NAMES_MAX, max((_needed(found) for found in folder.arrangements), default=120.0))
    left = _MARGIN + names + 12
    width = left + _BARS + _NUMBER + _MARGIN
    newest = folder.newest
    title = f"{newest.pipeline}: version {newest.number}, the state after step {newest.step}"
    y = _MARGIN + 12
    body = [text(_MARGIN, y, shorten(title, 18, width - 2 * _MARGIN, bold=True), 18, INK, bold=True)]
    y += 28
    body += _segments(folder, left, y)
    y += 20
    body.append(_legend(left, y))
    y += 12
    longest = max((found.size for found in folder.arrangements), default=0) or 1
    for found in folder.arrangements:
        y += _ROW
        body.append(_spine(found, y, left, names, longest))
        y += _LINE if found.owner.views else 0.0
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


def _name(found: ArrangementParts) -> str:
    return found.owner.operator or found.name


def _note(found: ArrangementParts) -> str:
    return f"for {', '.join(found.owner.views)}" if found.owner.views else ""


def _needed(found: ArrangementParts) -> float:
    return max(text_width(_name(found), _NAME_SIZE), text_width(_note(found), _NOTE_SIZE))


def _segments(folder: Folder, left: float, y: float) -> list[str]:
    """One bar for all segments: what their bytes are for."""
    whole = sum(segment.size for segment in folder.segments) or 1
    parts = [
        ("state", sum(s.state for s in folder.segments), _PLAIN),
        ("changes of views", sum(s.changes for s in folder.segments), _CHANGES),
        ("only in the version before", sum(s.older for s in folder.segments), _OLDER),
        ("garbage", sum(s.garbage for s in folder.segments), _GARBAGE),
    ]
    found = [text(_MARGIN, y, f"All {counted(len(folder.segments), 'segment')}", _NAME_SIZE, INK)]
    x = left
    for what, size, colour in parts:
        length = size / whole * _BARS
        found.append(_bar(x, y, length, colour, f"{what}: {size_text(size)}"))
        x += length
    found.append(text(left + _BARS + 6, y, size_text(whole), _NAME_SIZE, INK))
    return found


def _bar(x: float, y: float, length: float, colour: str, tip: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y - 11:.1f}" width="{length:.1f}" height="15" fill="{colour}">'
        f"<title>{escape(tip)}</title></rect>"
    )


def _legend(left: float, y: float) -> str:
    drawn, x = "", left
    for what, colour in (
        ("state", _PLAIN),
        ("packed", _PACKED),
        ("changes of views", _CHANGES),
        ("only in the version before", _OLDER),
        ("garbage", _GARBAGE),
    ):
        drawn += f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="9" height="9" fill="{colour}"/>'
        drawn += text(x + 13, y, what, _NOTE_SIZE, DETAIL)
        x += 13 + text_width(what, _NOTE_SIZE) + 16
    return drawn


def _spine(found: ArrangementParts, y: float, left: float, names: float, longest: int) -> str:
    bars, x = "", left
    for batch in found.batches:
        length = max(_BAR_MIN, batch.size / longest * _BARS - _GAP)
        if x + length > left + _BARS + 1:  # bars too small to be seen may add up to more than their bytes
            break
        colour = _PACKED if batch.packed else _PLAIN
        place = f"{batch.ref.segment} block {batch.ref.entry}"
        tip = f"{counted(batch.rows, 'row')}, {size_text(batch.size)}, {place}"
        bars += _bar(x, y, length, colour, tip)
        x += length + _GAP
    note = _note(found)
    batches = counted(len(found.batches), "batch", "batches")
    end = f"{size_text(found.size)}, {counted(found.rows, 'row')}, {batches}"
    return (
        f"<g><title>{escape(f'{_name(found)} ({found.name})')}</title>"
        + text(_MARGIN, y, shorten(_name(found), _NAME_SIZE, names), _NAME_SIZE, INK)
        + (text(_MARGIN, y + _LINE, shorten(note, _NOTE_SIZE, names), _NOTE_SIZE, FAINT) if note else "")
        + "</g>"
        + bars
        + text(x + 6, y, end, _NAME_SIZE, INK)
    )
