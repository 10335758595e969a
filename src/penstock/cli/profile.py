"""``penstock profile``: where the time of a pipeline's steps went, as a table and as a picture.

Reads the counters that the newest version keeps of the run that made it; it needs neither Spark nor the
pipeline, which may be running meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from penstock.cli.console import counted, out, shown_path, size_text
from penstock.cli.options import StorageArgument
from penstock.cli.state import newest_manifest
from penstock.errors import PipelineError

__all__ = ["profile", "profile_svg"]

_BAR = 24
_COLOURS = {"table": "#4c78a8", "join": "#f58518", "aggregate": "#54a24b", "view": "#b279a2"}
_OTHER = "#9d9da1"


def profile(
    storage: StorageArgument,
    top: Annotated[int, typer.Option("--top", help="How many operators to show.")] = 20,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Also draw the picture into this file.")
    ] = None,
) -> None:
    """Show where the time of a pipeline's steps went: by part of a step, and by operator.

    An operator's time in a step is that of its slowest worker.
    """
    metrics = newest_manifest(storage).body.get("metrics")
    if not metrics or not metrics["steps"]:
        raise PipelineError(f"no step was counted yet in {shown_path(storage)}: run the pipeline first")
    out.print(_parts(metrics))
    out.print(_operators(metrics, top))
    if svg is not None:
        svg.write_text(profile_svg(metrics, top))
        out.print(f"drawn: {shown_path(svg)}")


def _ranked(metrics: Mapping[str, Any], top: int) -> list[Mapping[str, Any]]:
    busy = [operator for operator in metrics["operators"] if operator["steps"]]
    return sorted(busy, key=lambda operator: -operator["duration_ms"])[:top]


def _waiting(metrics: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The parts of a mean step, in milliseconds. What of the run is not in an operator is coordination:
    commands, exchanges, and waiting for the slower worker."""
    spent, steps = metrics["durations_ms"], metrics["steps"]
    inside = sum(operator["duration_ms"] for operator in metrics["operators"])
    parts = {
        "operators": min(inside, spent["run"]),
        "coordination and exchange": max(0.0, spent["run"] - inside),
        "input log": spent["log"],
        "commits": spent["commit"],
    }
    return [(name, ms / steps) for name, ms in parts.items()]


def _parts(metrics: Mapping[str, Any]) -> Table:
    parts = _waiting(metrics)
    total = sum(ms for _, ms in parts) or 1.0
    table = Table(title=f"A step: {total:.2f} ms on average of {counted(metrics['steps'], 'step')}")
    table.add_column("part")
    table.add_column("ms", justify="right")
    table.add_column("share")
    for name, ms in parts:
        table.add_row(name, f"{ms:.2f}", _bar(ms / total))
    return table


def _operators(metrics: Mapping[str, Any], top: int) -> Table:
    table = Table(title="Operators, the costliest first")
    table.add_column("operator", min_width=20, max_width=max(20, out.width - 66), overflow="fold")
    for title in ("ms a step", "rows in", "rows out", "state rows", "bytes"):
        table.add_column(title, justify="right", no_wrap=True)
    for operator in _ranked(metrics, top):
        table.add_row(
            f"{operator['operator']} {operator['description']}".strip(),
            f"{operator['duration_ms'] / metrics['steps']:.2f}",
            f"{operator['rows_in']:,}",
            f"{operator['rows_out']:,}",
            f"{operator['state_rows']:,}" if operator["state_rows"] else "",
            size_text(operator["state_bytes"]) if operator["state_bytes"] else "",
        )
    return table


def _bar(share: float) -> str:
    return "█" * max(1 if share > 0.005 else 0, round(share * _BAR)) + f" {share:.0%}"


def profile_svg(metrics: Mapping[str, Any], top: int = 20) -> str:
    """The same as a picture: one bar for the parts of a mean step, one for each operator."""
    bars: list[tuple[str, float, str]] = [(name, ms, "#72b7b2") for name, ms in _waiting(metrics)]
    split = len(bars)
    bars += [
        (
            _cut(f"{operator['operator']} {operator['description']}".strip()),
            operator["duration_ms"] / metrics["steps"],
            _COLOURS.get(operator["operator"].split()[-1], _OTHER),
        )
        for operator in _ranked(metrics, top)
    ]
    return _drawn(bars, split)


def _cut(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _drawn(bars: Sequence[tuple[str, float, str]], split: int) -> str:
    """Bars under each other; those from ``split`` on under a heading of their own."""
    row, left, width = 24, 430, 980
    longest = max((ms for _, ms, _ in bars), default=0.0) or 1.0
    height = row * (len(bars) + 3)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="13"><rect width="{width}" height="{height}" fill="white"/>'
    ]
    y = row
    for place, (name, ms, colour) in enumerate(bars):
        if place in (0, split):
            heading = "Parts of a step, mean milliseconds" if place == 0 else "Operators, mean milliseconds"
            lines.append(f'<text x="10" y="{y}" font-weight="bold">{heading}</text>')
            y += row
        length = max(1.0, ms / longest * (width - left - 90))
        lines.append(
            f'<text x="{left - 10}" y="{y}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left}" y="{y - 13}" width="{length:.1f}" height="16" fill="{colour}"/>'
            f'<text x="{left + length + 6:.1f}" y="{y}">{ms:.2f}</text>'
        )
        y += row
    return "\n".join([*lines, "</svg>", ""])
