"""What a benchmark found: rows for people, figures for machines, and whether the goal was met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.sketch import Bar, Bars, Mark, Sketch, sketch_from_json, sketch_to_json

__all__ = ["Result", "agreement", "result_from_json", "result_to_json", "shown", "spread"]


@dataclass(frozen=True)
class Result:
    """``figure`` is compared with ``goal``: at most it, or with ``at_least`` at least it.

    ``spread`` tells how far the figure itself moved over repeated runs (see :func:`spread`), ``sketch`` what
    the picture of the report shows; without one it shows a ratio of the rows, if they have one.
    """

    name: str
    what: str
    figure: float
    goal: float
    unit: str
    rows: Sequence[Mapping[str, object]]
    at_least: bool = False
    notes: Sequence[str] = field(default_factory=tuple)
    spread: Mapping[str, float] = field(default_factory=dict)
    sketch: Sketch | None = None

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.figure >= self.goal if self.at_least else self.figure <= self.goal

    @property
    def bound(self) -> str:
        """The goal in words."""
        return f"{'at least' if self.at_least else 'at most'} {self.goal:g}{self.unit}"

    @property
    def shortfall(self) -> float:
        """By which factor the goal was missed; 1 or less if it was met."""
        ends = (self.goal, self.figure) if self.at_least else (self.figure, self.goal)
        return ends[0] / ends[1] if ends[1] else float("inf")

    def verdict(self) -> str:
        """The closing line."""
        missed = "" if self.met else " MISSED"
        return f"{self.name}: {shown(self.figure)}{self.unit} (goal {self.bound}){missed}"

    def table(self) -> str:
        """The rows as a Markdown table."""
        if not self.rows:
            return "\n".join([self.what, "", *self._below(), ""])
        columns = list(self.rows[0])
        cells = [columns, *([shown(row[c]) for c in columns] for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in cells
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join([self.what, "", *lines, *self._below(), ""])

    def _below(self) -> list[str]:
        lines = ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return [*lines, "", self.spread_line()] if self.spread else lines

    def spread_line(self) -> str:
        """How far the figure moved."""
        told = ", ".join(f"{name} {shown(value)}" for name, value in self.spread.items())
        return f"{self.name} over repeated runs: {told}"

    def picture(self) -> Sketch | None:
        """What there is to see: the benchmark's own sketch, or bars of the first ratio in the rows."""
        if self.sketch is not None or not self.rows:
            return self.sketch
        label, *others = self.rows[0]
        ratios = [name for name in others if name == "ratio" or name.startswith("x ")]
        ratio = self.unit.strip() if self.unit.strip() in ratios else next(iter(ratios), None)
        if ratio is None:
            return None
        bars = [
            Bar(str(row[label]), float(value), value >= 1)
            for row in self.rows
            if isinstance(value := row[ratio], int | float)
        ]
        mark = [Mark(self.goal, f"{self.name}: {self.bound}")]
        unit = self.unit if ratio == "ratio" else ratio
        return Bars(self.what, f"times {unit.removeprefix('x ')}", bars, mark, log=True) if bars else None


def agreement(name: str, answers: int, wrong: Sequence[str]) -> Result:
    """The goal that all answers agree with other systems': a speed with a wrong answer is no speed."""
    what = f"Results that differ from another system's or could not be compared, of {answers:,}"
    return Result(name, what, len(wrong), 0, " different", (), notes=wrong)


def shown(value: object) -> str:
    """A cell of a Markdown table."""
    match value:
        case float():
            return f"{value:,.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.4f}"
        case bool():
            return str(value)
        case int():
            return f"{value:,}"
    return " ".join(str(value).split()).replace("|", "\\|")


def spread(values: Sequence[float] | np.ndarray) -> dict[str, float]:
    """How repeated runs are spread: the extremes of a few, percentiles of many."""
    if len(values) < 20:
        return {
            "min": float(np.min(values)),
            "median": float(np.median(values)),
            "max": float(np.max(values)),
        }
    p10, p50, p90 = np.percentile(values, (10, 50, 90))
    return {"p10": float(p10), "median": float(p50), "p90": float(p90)}


def result_to_json(result: Result) -> dict[str, Any]:
    """As plain data."""
    sketch = result.picture()
    return {
        "name": result.name,
        "what": result.what,
        "figure": result.figure,
        "goal": result.goal,
        "at_least": result.at_least,
        "unit": result.unit,
        "met": result.met,
        "spread": dict(result.spread),
        "notes": list(result.notes),
        "rows": [dict(row) for row in result.rows],
        "sketch": None if sketch is None else sketch_to_json(sketch),
    }


def result_from_json(stored: Mapping[str, Any]) -> Result:
    """What :func:`result_to_json` made."""
    plain = {key: value for key, value in stored.items() if key not in ("met", "sketch")}
    sketch = stored["sketch"]
    return Result(**plain, sketch=None if sketch is None else sketch_from_json(sketch))
