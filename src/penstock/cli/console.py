"""Output of the command line: one console for results, one for errors, and small formatting functions.

Results go to standard output, so that they can be piped; errors and progress go to standard error. Rich turns
off colours and live displays by itself if the output is not a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from penstock.pipeline.rendering import counted

__all__ = [
    "ago_text",
    "arrow_table",
    "counted",
    "err",
    "out",
    "print_error",
    "shown_path",
    "size_text",
    "sparkline",
]

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

_BARS = "▁▂▃▄▅▆▇█"


def print_error(error: Exception, hint: str = "") -> None:
    """One message for people: what went wrong, and what to do about it if that is known."""
    err.print(f"[bold red]Error:[/] [red]{escape(str(error))}[/]", soft_wrap=True)
    if hint:
        err.print(f"[dim]{escape(hint)}[/]", soft_wrap=True)


def arrow_table(data: pa.Table, title: str, rows_max: int = 20) -> RenderableType:
    """The first rows of ``data`` under a heading that says what is left out; numbers are right-aligned."""
    extent = f"the first {rows_max} of {data.num_rows:,} rows" if data.num_rows > rows_max else ""
    heading = f"{title}: {extent or counted(data.num_rows, 'row')}"
    if not data.num_rows:
        return Text(heading)
    table = Table()
    for field in data.schema:
        kind = field.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        table.add_column(escape(field.name), justify="right" if number else "left", overflow="fold")
    for row in data.slice(0, rows_max).to_pylist():
        table.add_row(*("[dim]NULL[/]" if value is None else escape(str(value)) for value in row.values()))
    return Group(Text(heading), table)


def sparkline(values: Sequence[float], width: int) -> str:
    """The last ``width`` values as bars of eight heights, scaled to the largest among them.

    >>> sparkline([1, 2, 4, 8], 4)
    '▁▂▄█'
    """
    recent = values[-width:]
    top = max(recent, default=0.0)
    if top <= 0:
        return _BARS[0] * len(recent)
    return "".join(_BARS[min(7, int(value / top * 8 - 1e-9))] for value in recent)


def ago_text(seconds: float) -> str:
    """A time that has passed, in the largest unit that fits.

    >>> ago_text(0.4), ago_text(90), ago_text(7200), ago_text(200_000)
    ('0 s', '1 min', '2 h', '2 days')
    """
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "min"), (48 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds // 86400)} days"


def size_text(size_bytes: int) -> str:
    """A number of bytes, for people.

    >>> size_text(512), size_text(1_500_000)
    ('512 B', '1.4 MiB')
    """
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def shown_path(path: Path | str) -> str:
    """A path as short as it can be from here; a URL as it is."""
    if "://" in str(path):
        return str(path)
    try:
        return str(Path(path).resolve().relative_to(Path.cwd())) or "."
    except ValueError:
        return str(path)
