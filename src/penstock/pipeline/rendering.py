"""Tables for people: HTML in a notebook, plain text elsewhere.

No styles of its own, so that the notebook's theme applies; everything is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["counted", "html_table", "text_table"]

Cell = object


def html_table(
    caption: str, headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, note: str = ""
) -> str:
    """An HTML table under a caption; numbers are aligned right. ``note`` is a line below."""
    head = "".join(f'<th style="text-align: left">{escape(header)}</th>' for header in headers)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    title = f'<caption style="text-align: left; caption-side: top">{escape(caption)}</caption>'
    table = f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{table}{f'<p>{escape(note)}</p>' if note else ''}</div>"


def _cell(value: Cell) -> str:
    side = "right" if _is_number(value) else "left"
    return f'<td style="text-align: {side}; white-space: pre-wrap">{escape(_shown(value))}</td>'


def _is_number(value: Cell) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_table(headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """The same as lines of text, in columns.

    >>> print(text_table(("view", "rows"), [("revenue", 12), ("v", 1)]))
    view     rows
    revenue    12
    v           1
    """
    listed = [list(row) for row in rows]
    cells = [[_shown(value) for value in row] for row in listed]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    right = [bool(listed) and all(map(_is_number, column)) for column in zip(*listed, strict=True)]
    right = right or [False] * len(widths)
    lines = [
        "  ".join(
            text.rjust(width) if side else text.ljust(width)
            for text, width, side in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in (list(headers), *cells)
    ]
    return "\n".join(lines)


def _shown(value: Cell) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row"), counted(3, "batch", "batches")
    ('1 row', '2,000 rows', '3 batches')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
