"""What a benchmark found: rows for people, figures for machines, and whether the goal was met."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

__all__ = ["Result", "write_report"]

_FOLDER = Path(__file__).parent.parent / "docs" / "benchmarks"


@dataclass(frozen=True)
class Result:
    """``figure`` is compared with ``goal``: at most it, or with ``at_least`` at least it."""

    name: str
    what: str
    figure: float
    goal: float
    unit: str
    rows: Sequence[Mapping[str, object]]
    at_least: bool = False
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.figure >= self.goal if self.at_least else self.figure <= self.goal

    def verdict(self) -> str:
        """The closing line."""
        bound = "at least" if self.at_least else "at most"
        missed = "" if self.met else " MISSED"
        return (
            f"{self.name}: {_shown(self.figure)}{self.unit} (goal {bound} {self.goal:g}{self.unit}){missed}"
        )

    def table(self) -> str:
        """The rows as a Markdown table."""
        columns = list(self.rows[0])
        cells = [columns, *([_shown(row[c]) for c in columns] for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
            for row in cells
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join([self.what, "", *lines, *(f"- {note}" for note in self.notes), ""])


def _shown(value: object) -> str:
    return (
        f"{value:,.2f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def write_report(result: Result) -> Path:
    """Writes figures (JSON) and the table (Markdown) of one run; returns the Markdown file."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    machine = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("pyspark", "pyarrow", "numpy")},
    }
    figures = {"name": result.name, "figure": result.figure, "goal": result.goal, "machine": machine}
    (_FOLDER / f"{result.name}.json").write_text(
        json.dumps({**figures, "rows": [dict(row) for row in result.rows]}, indent=2) + "\n"
    )
    described = ", ".join(f"{key} {value}" for key, value in machine.items())
    page = _FOLDER / f"{result.name}.md"
    page.write_text(f"# {result.name}\n\n{result.table()}\n{result.verdict()}\n\nMeasured on: {described}.\n")
    return page


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return done.stdout.strip() or "unknown"
