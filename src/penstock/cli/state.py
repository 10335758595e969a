"""``penstock status`` and ``penstock verify``: what a state folder contains, and whether it is correct.

Status reads the newest manifest and the log, without a lock and without Spark, so it is immediate and works
while the pipeline runs. Verify opens the pipeline, which then must not be running elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table

from penstock.cli.console import ago_text, counted, err, out, shown_path, size_text
from penstock.cli.options import MemoryOption, Mode, ModeOption, StorageArgument, WorkersOption
from penstock.cli.starting import Starting
from penstock.cli.storage_lines import storage_lines
from penstock.errors import PipelineError

if TYPE_CHECKING:
    from penstock import VerifyReport
    from penstock.pipeline.heartbeat import Beat
    from penstock.storage import Backend, Version

__all__ = ["status", "verify", "version_in"]


def status(
    storage: StorageArgument,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh every second, until Ctrl-C.")] = False,
) -> None:
    """Show what a state folder contains: step, version, speed, tables, views and sizes.

    Read-only, and works while the pipeline runs.
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


def _state_of(storage: str) -> RenderableType:
    from penstock.pipeline.heartbeat import last_beat
    from penstock.pipeline.stored_state import log_folder
    from penstock.storage import local_folder, open_backend, read_log, read_metrics

    version = version_in(storage)
    backend = open_backend(storage)
    waiting = [step for step, _ in read_log(backend, log_folder("input", version.branch), version.step + 1)]
    count, size = _files_in(storage, backend)
    refs = list(version.batches())
    workers = version.layout.workers if version.layout is not None else 0
    grid = Table.grid(padding=(0, 3))
    grid.add_row("pipeline", f"[bold]{version.pipeline}[/]")
    grid.add_row("folder", f"{shown_path(storage)}, {size_text(size)} in {counted(count, 'file')}")
    folder = local_folder(storage)
    if folder is not None and (beat := last_beat(folder)) is not None:
        grid.add_row("alive", _life(beat))
    grid.add_row("version", f"{version.number}, the state after step {version.step}")
    grid.add_row("since then", f"{counted(len(waiting), 'step')} in the input log")
    grid.add_row("last run", counted(workers, "worker"))
    state = [
        counted(len(version.arrangements), "arrangement"),
        counted(sum(ref.rows for ref in refs), "row"),
        counted(len(refs), "batch", "batches"),
    ]
    grid.add_row("state", ", ".join(state))
    metrics = read_metrics(backend)
    if metrics and metrics["last"]:
        _add_speed(grid, metrics)
    return Group(grid, _relations(version.catalog or {"relations": []}))


def _files_in(storage: str, backend: Backend) -> tuple[int, int]:
    """How many files there are, and their bytes."""
    from penstock.storage import local_folder

    folder = local_folder(storage)
    if folder is None:
        sizes = [backend.size(name) for name in backend.list()]
    else:
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def _life(beat: Beat) -> str:
    """Whether a run is alive, by its last heartbeat."""
    ago = f"{ago_text(beat.age_s)} ago"
    if beat.ended:
        return f"no: closed {ago} by {beat.who}"
    if beat.is_gone:
        return f"[yellow]no: {beat.who} is gone without closing, last seen {ago}; run it again to go on[/]"
    if beat.is_fresh:
        return f"[green]yes[/]: {ago}, {beat.who}, after step {beat.step}, {beat.phase}"
    return f"[yellow]silent: last seen {ago}, {beat.who}, after step {beat.step}, {beat.phase}[/]"


def _add_speed(grid: Table, metrics: Mapping[str, Any]) -> None:
    """Adds what the newest version records about the run that made it."""
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
    grid.add_row("size of state", f"{size_text(held)}, as batches in memory")
    for name, text in storage_lines(metrics.get("storage", ())):
        grid.add_row(name, text)


def verify(
    storage: StorageArgument,
    views: Annotated[
        list[str] | None, typer.Argument(metavar="VIEW", help="Check these views only. Default: all.")
    ] = None,
    workers: WorkersOption = 2,
    mode: ModeOption = Mode.RESIDENT,
    memory: MemoryOption = None,
) -> None:
    """Recompute views with Spark and compare them with the stored ones.

    Exit code 0 if all are equal, 1 if one differs. A view whose query is nondeterministic (collect_list
    without an order, say) may differ from Spark's answer.
    """
    name = version_in(storage).pipeline
    with Starting(name, workers) as start:
        from penstock import Pipeline  # a second of imports, while Spark starts

        pipe = Pipeline(
            name, storage=storage, workers=workers, mode=mode.value, spark=start.spark(), memory=memory
        )
        start.phase("views")
        pipe.program()  # plans the stored views, so that this is not counted in the next phase
        start.phase("workers")
        running = pipe.run()
    with running as run, err.status("Asking Spark for the views from scratch …"):
        every = None if views else run.verify()
        reports = [report for view in views or () for report in run.verify(view)] if every is None else every
    out.print(verdicts(reports))
    if every is not None:
        suspended = [name for name in every.unchecked if name in pipe.catalog.pending]
        gone = [name for name in every.unchecked if name not in suspended]
        if gone:
            out.print(
                f"Not checked, because rows of theirs or of their tables are not kept: {', '.join(gone)}"
            )
        if suspended:
            out.print(f"Not checked, because they need functions of a program: {', '.join(suspended)}")
    wrong = [report.view for report in reports if not report]
    if wrong:
        raise PipelineError(f"{', '.join(wrong)} differ from Spark's answer")


def verdicts(reports: Sequence[VerifyReport]) -> Table:
    """The results of comparing views with Spark, as a table."""
    table = Table()
    for title in ("view", "rows", "Spark has", "equal"):
        table.add_column(title, justify="right" if title in ("rows", "Spark has") else "left")
    for report in reports:
        mark = "[bold green]✓[/]" if report.equal else f"[bold red]✗[/] {report.difference}"
        if report.left_open and not report.equal:
            mark = f"[bold yellow]~[/] the query leaves its answer open: {', '.join(report.left_open)}"
        table.add_row(report.view, f"{report.rows:,}", f"{report.expected_rows:,}", mark)
    return table


def version_in(storage: str) -> Version:
    """The newest version in a state folder."""
    from penstock.storage import newest_version, open_backend

    version = newest_version(open_backend(storage))
    if version is None:
        raise PipelineError(f"{storage} holds no pipeline: there is no manifest in it")
    return version


def _relations(catalog: Mapping[str, Any]) -> Table:
    from penstock.sql.stored import relation_rows

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for title in ("name", "kind", "key", "columns"):
        table.add_column(title)
    for row in relation_rows(catalog):
        table.add_row(*row)
    return table
