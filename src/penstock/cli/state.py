"""``penstock status`` and ``penstock verify``: what a folder of state holds, and whether it is right.

Status reads the newest manifest and the log beside it, without a lock and without Spark, so it answers at
once and beside a running pipeline. Verify opens the pipeline, which then must not be running elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table

from penstock.cli.console import counted, err, out, shown_path, size_text
from penstock.cli.options import Mode, ModeOption, StorageArgument, WorkersOption
from penstock.cli.starting import starting_spark
from penstock.errors import PipelineError

if TYPE_CHECKING:
    from penstock import VerifyReport
    from penstock.storage import Manifest

__all__ = ["newest_manifest", "status", "verify"]


def status(
    storage: StorageArgument,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again every second, until Ctrl-C.")
    ] = False,
) -> None:
    """Show what a folder of state holds: step, version, speed, tables, views and sizes.

    Reads only, and works while the pipeline runs.
    """
    if not watch:
        out.print(_state_of(storage))
        return
    with (
        Live(_state_of(storage), console=out, auto_refresh=False, screen=False) as live,
        suppress(KeyboardInterrupt),
    ):
        while True:
            time.sleep(1.0)
            live.update(_state_of(storage), refresh=True)


def _state_of(storage: Path) -> RenderableType:
    from penstock.storage import open_backend, read_log

    manifest = newest_manifest(storage)
    body = manifest.body
    waiting = [step for step, _ in read_log(open_backend(str(storage.absolute())), "input", body["step"] + 1)]
    files = [path for path in storage.rglob("*") if path.is_file()]
    refs = [ref for batches in body["arrangements"].values() for ref in batches]
    workers = body["layout"]["workers"] if body["layout"] else 0
    grid = Table.grid(padding=(0, 3))
    grid.add_row("pipeline", f"[bold]{body['pipeline']}[/]")
    size = sum(path.stat().st_size for path in files)
    grid.add_row("folder", f"{shown_path(storage)}, {size_text(size)} in {counted(len(files), 'file')}")
    grid.add_row("version", f"{manifest.version}, the state after step {body['step']}")
    grid.add_row("since then", f"{counted(len(waiting), 'step')} in the input log")
    grid.add_row("last run", counted(workers, "worker"))
    rows = sum(ref["stop"] - ref["start"] for ref in refs)
    state = [
        counted(len(body["arrangements"]), "arrangement"),
        counted(rows, "row"),
        f"{len(refs):,} batches",
    ]
    grid.add_row("state", ", ".join(state))
    if body.get("metrics") and body["metrics"]["last"]:
        _add_speed(grid, body["metrics"])
    return Group(grid, _relations(body["catalog"] or {"relations": []}))


def _add_speed(grid: Table, metrics: Mapping[str, Any]) -> None:
    """What the newest version says of the run that made it."""
    last, steps = metrics["last"], max(1, metrics["steps"])
    spent = last["durationMs"]
    parts = ", ".join(
        f"{name} {spent[key]:.1f}"
        for name, key in (("run", "addBatch"), ("log", "walCommit"), ("commit", "commitBatch"))
    )
    grid.add_row(
        "last step",
        f"{last['batchId']}: {counted(last['numInputRows'], 'row')} in {spent['triggerExecution']:.1f} ms, "
        f"of which {parts}",
    )
    mean = metrics["durations_ms"]["step"] / steps
    rate = metrics["input_rows"] / max(metrics["durations_ms"]["step"] / 1000, 1e-9)
    grid.add_row(
        "this run",
        f"{counted(metrics['steps'], 'step')}, {counted(metrics['input_rows'], 'row')}, "
        f"{mean:.1f} ms a step, {rate:,.0f} rows/s while stepping",
    )
    held = sum(operator["state_bytes"] for operator in metrics["operators"])
    grid.add_row("in memory", size_text(held))


def verify(
    storage: StorageArgument,
    views: Annotated[
        list[str] | None, typer.Argument(metavar="VIEW", help="Check these views only. Default: all.")
    ] = None,
    workers: WorkersOption = 2,
    mode: ModeOption = Mode.RESIDENT,
) -> None:
    """Compute views from scratch with Spark and compare them with what is kept.

    Exit code 0 if all are equal, 1 if one differs.
    """
    from penstock import Pipeline

    name = str(newest_manifest(storage).body["pipeline"])
    with starting_spark():
        pipe = Pipeline(name, storage=storage, workers=workers, mode=mode.value)
    with err.status("Starting workers …"):
        running = pipe.run()
    with running as run, err.status("Asking Spark for the views from scratch …"):
        every = None if views else run.verify()
        reports = [report for view in views or () for report in run.verify(view)] if every is None else every
    out.print(verdicts(reports))
    if every is not None and every.unchecked:
        names = ", ".join(every.unchecked)
        out.print(f"Not checked, because rows of theirs or of their tables are not kept: {names}")
    wrong = [report.view for report in reports if not report.equal]
    if wrong:
        raise PipelineError(f"{', '.join(wrong)} differ from Spark's answer")


def verdicts(reports: Sequence[VerifyReport]) -> Table:
    """What came of comparing views with Spark, as a table."""
    table = Table()
    for title in ("view", "rows", "Spark has", "equal"):
        table.add_column(title, justify="right" if title in ("rows", "Spark has") else "left")
    for report in reports:
        mark = "[bold green]✓[/]" if report.equal else f"[bold red]✗[/] {report.difference}"
        table.add_row(report.view, f"{report.rows:,}", f"{report.expected_rows:,}", mark)
    return table


def newest_manifest(storage: Path) -> Manifest:
    """The manifest of the newest version in a folder of state."""
    from penstock.storage import ManifestStore, open_backend

    manifest = ManifestStore(open_backend(str(storage.absolute()))).latest()
    if manifest is None:
        raise PipelineError(f"{storage} holds no pipeline: there is no manifest in it")
    return manifest


def _relations(catalog: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for title in ("name", "kind", "key", "columns"):
        table.add_column(title)
    for relation in catalog["relations"]:
        key = ", ".join(relation.get("primary_key", ()))
        columns = ", ".join(field["name"] for field in relation["schema"]["fields"])
        stored = relation["kind"] == "table" or relation["materialized"]
        kind = relation["kind"] if stored else "view, not stored"
        table.add_row(relation["name"], kind, key, columns)
    return table
