"""What every picture is drawn with: an axis that knows its ticks, and a sheet that collects SVG elements.

Text is measured by its length (no font is at hand here), generously, so that nothing overlaps in any
sans-serif font. All text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

__all__ = ["COLOURS", "FAINT", "FONT", "GOAL", "GRID", "INK", "Axis", "Sheet", "number", "text_width"]

FONT = 13
INK, FAINT, GRID, GOAL = "#222222", "#666666", "#e3e3e3", "#b3261e"
COLOURS = ("#2f6ea5", "#d9822b", "#3f8f4f", "#8e5ba6", "#8a6d3b", "#4a9c9c", "#777777", "#c2557a")
Anchor = Literal["start", "middle", "end"]


def text_width(text: str, size: int = FONT) -> float:
    """About how wide a text is, rather too wide than too narrow."""
    return len(text) * size * 0.58


def number(value: float) -> str:
    """A figure as people write it: three digits that count, millions by name.

    >>> [number(v) for v in (0, 0.0421, 1.234, 12.34, 123.4, 12345.0, 1234567.0)]
    ['0', '0.042', '1.23', '12.3', '123', '12,345', '1.23 M']
    """
    if abs(value) >= 1e6:
        return f"{number(value / 1e6)} M"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Axis:
    """Maps values from ``low`` to ``high`` onto pixels from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    @staticmethod
    def around(values: Sequence[float], start: float, stop: float, *, log: bool) -> Axis:
        """An axis that shows all values, and where it is not logarithmic zero too, with a little air."""
        shown = [value for value in values if value > 0] if log else [0.0, *values]
        low, high = min(shown, default=1.0), max(shown, default=1.0)
        if log:
            return Axis(low / 1.25, high * 1.25, start, stop, log)
        return Axis(low, (high or 1.0) * 1.05, start, stop, log)

    def place(self, value: float) -> float:
        """Where a value lies; what a logarithm does not know (zero and less) lies at the start."""
        if self.log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Round values in between, from four to about ten."""
        if not self.log:
            return _round_steps(self.low, self.high)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5)):
            found = [s * 10.0**d for d in decades for s in steps if self.low <= s * 10.0**d <= self.high]
            if len(found) >= 4:
                return found
        return found if len(found) >= 2 else _round_steps(self.low, self.high)


def _round_steps(low: float, high: float) -> list[float]:
    rough = (high - low) / 6
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * s for s in (1, 2, 5, 10) if size * s >= rough)
    first = math.ceil(low / step)
    return [step * i for i in range(first, math.floor(high / step) + 1)]


@dataclass
class Sheet:
    """A white page; ``height`` may still grow before :meth:`svg`."""

    width: float
    height: float
    _parts: list[str] = field(default_factory=list)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        anchor: Anchor = "start",
        colour: str = INK,
        bold: bool = False,
        size: int = FONT,
    ) -> None:
        """Text on a white halo, so that a line below it does not cross it out."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"'
            f'{weight} stroke="white" stroke-width="3" paint-order="stroke">{escape(text)}</text>'
        )

    def line(
        self,
        start: tuple[float, float],
        stop: tuple[float, float],
        colour: str,
        width: float = 1,
        *,
        dashed: bool = False,
    ) -> None:
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{stop[0]:.1f}" y2="{stop[1]:.1f}" '
            f'stroke="{colour}" stroke-width="{width}"{dashes}/>'
        )

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}" '
            f'fill="{colour}"/>'
        )

    def dot(self, x: float, y: float, colour: str) -> None:
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')

    def path(self, points: Sequence[tuple[float, float]], colour: str, *, filled: bool = False) -> None:
        """A line through points, or (filled) the pale area they enclose."""
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        style = (
            f'fill="{colour}" fill-opacity="0.18"'
            if filled
            else f'fill="none" stroke="{colour}" stroke-width="2"'
        )
        self._parts.append(f'<{"polygon" if filled else "polyline"} points="{drawn}" {style}/>')

    def upright_grid(
        self, axis: Axis, top: float, bottom: float, unit: str, ticks: Sequence[float] = ()
    ) -> None:
        """Ticks of a horizontal axis, as lines from top to bottom with the values below."""
        for tick in ticks or axis.ticks():
            x = axis.place(tick)
            self.line((x, top), (x, bottom), GRID)
            self.text(x, bottom + FONT + 4, number(tick), anchor="middle", colour=FAINT)
        middle = (axis.start + axis.stop) / 2
        self.text(middle, bottom + 2 * FONT + 10, unit, anchor="middle", colour=FAINT)

    def svg(self, title: str) -> str:
        """The whole picture."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {self.height:.0f}" '
            f'width="{self.width:.0f}" height="{self.height:.0f}" role="img" '
            f'font-family="Helvetica, Arial, sans-serif"><title>{escape(title)}</title>'
            f'<rect width="100%" height="100%" fill="white"/>'
        )
        return "\n".join([head, *self._parts, "</svg>", ""])
