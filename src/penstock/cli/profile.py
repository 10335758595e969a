"""``penstock profile``: where the time of a pipeline's steps went, as a table and as a picture.

Reads the counters that the newest version keeps of the run that made it; it needs neither Spark nor the
pipeline, which may be running meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from penstock.cli.console import counted, err, out, shown_path, size_text
from penstock.cli.options import StorageArgument
from penstock.cli.profile_picture import Bar, profile_picture
from penstock.cli.state import version_in
from penstock.errors import PipelineError

__all__ = ["profile"]

_BAR = 24
_VIEWS_IN_TABLE, _VIEWS_IN_PICTURE = 1, 4


def profile(
    storage: StorageArgument,
    top: Annotated[int, typer.Option("--top", help="How many operators to show.")] = 20,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Also draw the chart into this file.")
    ] = None,
) -> None:
    """Show where the time of a pipeline's steps went: by phase of a step, and by operator.

    An operator's time in a step is that of its slowest worker.
    """
    from penstock.storage import open_backend, read_metrics

    version = version_in(storage)
    metrics = read_metrics(open_backend(storage))
    if not metrics or not metrics["steps"]:
        raise PipelineError(f"no step was counted yet in {shown_path(storage)}: run the pipeline first")
    out.print(_parts(metrics))
    out.print(_operators(metrics, top))
    if svg is not None:
        title = f"{version.pipeline}: {counted(metrics['steps'], 'step')}"
        svg.write_text(profile_picture(title, _sections(metrics, top)), encoding="utf-8")
        err.print(f"Profile drawn in {shown_path(svg)}")


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
    table = Table(title="Operators, the costliest first", box=SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("operator", min_width=20, max_width=max(20, out.width - 58), overflow="fold")
    for title in ("ms a step", "rows in", "rows out", "state rows", "bytes"):
        table.add_column(title, justify="right", no_wrap=True)
    for operator in _ranked(metrics, top):
        whom = _works_for(operator, _VIEWS_IN_TABLE)
        table.add_row(
            escape(_title(operator)) + (f"\n[dim]  {escape(whom)}[/]" if whom else ""),
            f"{operator['duration_ms'] / metrics['steps']:.2f}",
            f"{operator['rows_in']:,}",
            f"{operator['rows_out']:,}",
            f"{operator['state_rows']:,}" if operator["state_rows"] else "",
            size_text(operator["state_bytes"]) if operator["state_bytes"] else "",
        )
    return table


def _title(operator: Mapping[str, Any]) -> str:
    return f"{operator['operator']} {operator['description']}".strip()


def _works_for(operator: Mapping[str, Any], shown: int) -> str:
    """The views that an operator works for, ``shown`` of them by name; nothing for a view itself."""
    views = operator["views"]
    if not views or operator["description"] == views[0]:
        return ""
    more = f" and {len(views) - shown} more" if len(views) > shown else ""
    return f"for {', '.join(views[:shown])}{more}"


def _sections(metrics: Mapping[str, Any], top: int) -> list[tuple[str, list[Bar]]]:
    """The same as a picture has it."""
    parts = [Bar(name, ms) for name, ms in _waiting(metrics)]
    operators = [
        Bar(
            _title(operator),
            operator["duration_ms"] / metrics["steps"],
            operator["operator"],
            _works_for(operator, _VIEWS_IN_PICTURE),
        )
        for operator in _ranked(metrics, top)
    ]
    return [
        ("Parts of a step, mean milliseconds", parts),
        ("Operators, mean milliseconds", operators),
    ]


def _bar(share: float) -> str:
    return "█" * max(1 if share > 0.005 else 0, round(share * _BAR)) + f" {share:.0%}"
