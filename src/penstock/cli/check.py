"""``penstock check``: whether every file of a state folder is what was written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from penstock.cli.console import counted, err, out, shown_path, size_text
from penstock.cli.options import StorageArgument
from penstock.errors import PipelineError

if TYPE_CHECKING:
    from penstock.pipeline.checking import CheckReport

__all__ = ["check"]


def check(
    storage: StorageArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Read every byte of a state folder and say what is damaged. Exit code 1 if anything is.

    Compares every checksum, looks up everything that the versions refer to, and checks that rows are sorted
    and consolidated, that workers do not share rows, and that no acknowledged step is missing from the input
    log. Each problem is one line that names the file, the block, and the views that need it; files that
    belong to no version are listed, but are not problems.

    Read-only, needs no Spark, one block in memory at a time, and works while the pipeline runs. `penstock
    verify` is the other half: it compares the views with what Spark computes.
    """
    from penstock.pipeline.checking import check_folder
    from penstock.storage import open_backend

    backend = open_backend(storage)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("Reading", total=None)

        def tell(name: str, done: int, total: int) -> None:
            progress.update(task, description=name.rpartition("/")[2], completed=done, total=total)

        report = check_folder(backend, tell)
    if not report.versions and not report.problems:
        raise PipelineError(f"{storage} holds no pipeline: there is no manifest in it")
    if as_json:
        typer.echo(json.dumps(report.to_json(), indent=2))
    else:
        _print(report, shown_path(storage))
    if not report:
        raise typer.Exit(1)


def _print(report: CheckReport, folder: str) -> None:
    for problem in report.problems:
        out.print(f"[red]✗[/] {escape(str(problem))}", soft_wrap=True)
    for note in report.notes:
        out.print(f"[dim]· {escape(str(note))} ({size_text(note.size)})[/]", soft_wrap=True)
    read = f"{counted(report.files, 'file')}, {counted(report.blocks, 'block')}, {size_text(report.size)}"
    versions = f"{counted(len(report.versions), 'version')} of {report.pipeline}" if report.versions else ""
    if report.problems:
        found = counted(len(report.problems), "problem")
        out.print(f"[bold red]{found}[/] in {escape(folder)} ({read})", soft_wrap=True)
    else:
        out.print(f"[bold green]✓[/] {escape(folder)} is sound: {versions}, {read}", soft_wrap=True)
