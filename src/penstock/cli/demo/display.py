"""What the demo shows while it runs: a live panel where somebody watches, plain lines where nobody does.

Both read the same :class:`Journal`. The panel is repainted a few times a second by Rich, not after every
step, so watching does not slow the steps down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import TracebackType
from typing import Protocol

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from penstock.cli.console import sparkline

__all__ = ["Display", "Journal", "Move", "PlainLines", "Watch", "display_for"]

_LINE_EVERY = 20
_MOVES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Move:
    """How a group of the watched view changed in a step."""

    name: str
    before: Decimal | None
    after: Decimal | None

    @property
    def difference(self) -> Decimal:
        """By how much; a group that was not there before, or is gone, counts as zero there."""
        return (self.after or Decimal(0)) - (self.before or Decimal(0))


@dataclass(slots=True)
class Journal:
    """What has happened so far."""

    steps: int
    views: Sequence[str]
    watched: str
    times_ms: list[float] = field(default_factory=list)
    rows_in: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    last_rows_in: int = 0
    last_changed: Mapping[str, int] = field(default_factory=dict)
    moves: Sequence[Move] = ()
    table_rows: int = 0

    def record(
        self, rows_in: int, changed: Mapping[str, int], time_ms: float, moves: Sequence[Move], table_rows: int
    ) -> None:
        """Note one step."""
        self.times_ms.append(time_ms)
        self.rows_in += rows_in
        self.changed.update(changed)
        self.last_rows_in, self.last_changed = rows_in, changed
        self.moves = sorted(moves, key=lambda move: -abs(move.difference))[:_MOVES_SHOWN]
        self.table_rows = table_rows

    @property
    def done(self) -> int:
        """How many steps have been made."""
        return len(self.times_ms)

    def percentile_ms(self, percent: float) -> float:
        """The step time that so many per cent of steps stay below."""
        return float(np.percentile(self.times_ms, percent)) if self.times_ms else 0.0


class Display(Protocol):
    """Shows a journal as it grows."""

    def __enter__(self) -> Display: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def step(self) -> None:
        """One more step is in the journal."""
        ...


def display_for(console: Console, journal: Journal) -> Display:
    """The display that suits where the output goes."""
    return Watch(console, journal) if console.is_terminal else PlainLines(console, journal)


class PlainLines:
    """A line every few steps."""

    def __init__(self, console: Console, journal: Journal) -> None:
        self._console, self._journal = console, journal

    def __enter__(self) -> PlainLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def step(self) -> None:
        """Print a line if one is due."""
        journal = self._journal
        if journal.done % _LINE_EVERY and journal.done != journal.steps:
            return
        self._console.print(
            f"step {journal.done:>4}/{journal.steps}   {journal.rows_in:>7,} rows in   "
            f"{journal.changed.total():>8,} rows changed in views   "
            f"p50 {journal.percentile_ms(50):6.1f} ms   p99 {journal.percentile_ms(99):6.1f} ms",
            soft_wrap=True,
        )


class Watch:
    """A panel that stays in place."""

    def __init__(self, console: Console, journal: Journal) -> None:
        self._journal = journal
        self._live = Live(console=console, refresh_per_second=10, get_renderable=self._render)

    def __enter__(self) -> Watch:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def step(self) -> None:
        """Nothing to do: the panel is repainted by the clock."""

    def _render(self) -> RenderableType:
        journal = self._journal
        return Panel(
            Group(self._progress(), Text(), self._times(), Text(), self._views(), Text(), self._moves()),
            title="[bold]a small shop, kept up to date[/]",
            subtitle=f"{journal.table_rows:,} rows in the tables",
            padding=(1, 2),
            width=86,
        )

    def _progress(self) -> RenderableType:
        journal = self._journal
        line = Table.grid(padding=(0, 2), expand=True)
        line.add_column(no_wrap=True)
        line.add_column(ratio=1)
        line.add_row(
            f"step [bold]{journal.done}[/] of {journal.steps}",
            ProgressBar(total=journal.steps, completed=journal.done),
        )
        return line

    def _times(self) -> RenderableType:
        journal = self._journal
        grid = Table.grid(padding=(0, 3))
        grid.add_row(
            "step time",
            f"p50 [bold cyan]{journal.percentile_ms(50):.1f} ms[/]",
            f"p99 [bold cyan]{journal.percentile_ms(99):.1f} ms[/]",
            f"[cyan]{sparkline(journal.times_ms, 30)}[/]",
        )
        return grid

    def _views(self) -> RenderableType:
        journal = self._journal
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        table.add_column("rows", style="dim")
        table.add_column("this step", justify="right")
        table.add_column("in all", justify="right")
        table.add_row("put in", f"{journal.last_rows_in:,}", f"{journal.rows_in:,}")
        for name in journal.views:
            table.add_row(
                f"changed in {name}", f"{journal.last_changed.get(name, 0):,}", f"{journal.changed[name]:,}"
            )
        return table

    def _moves(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        table.add_column(f"{self._journal.watched}, largest changes", style="dim", min_width=34)
        for title in ("before", "after", "change"):
            table.add_column(title, justify="right", min_width=12)
        for move in self._journal.moves:
            colour = "green" if move.difference >= 0 else "red"
            table.add_row(
                move.name,
                "—" if move.before is None else f"{move.before:,.2f}",
                "—" if move.after is None else f"{move.after:,.2f}",
                f"[{colour}]{move.difference:+,.2f}[/]",
            )
        for _ in range(_MOVES_SHOWN - len(self._journal.moves)):
            table.add_row()  # the panel keeps its height
        return table
