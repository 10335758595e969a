"""``penstock recover``: why a pipeline cannot be opened, and continuing without what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from penstock.cli.console import counted, out
from penstock.cli.options import StorageArgument
from penstock.errors import PipelineError

if TYPE_CHECKING:
    from penstock.pipeline.recovery import Diagnosis, LoggedFile

__all__ = ["recover"]


def recover(
    storage: StorageArgument,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Give up the steps that cannot be replayed.")
    ] = False,
    skip_input: Annotated[
        str, typer.Option("--skip-input", metavar="PATH", help="Replay steps without this file.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Show why a state folder cannot be opened, and what would be lost by continuing.

    Without options nothing is changed. Restoring the missing files from a backup loses nothing; the options
    are for when there is none. What they remove is kept in the folder `discarded`.
    """
    from penstock.pipeline.recovery import diagnose, give_up_steps, skip_file
    from penstock.storage import open_backend

    backend = open_backend(storage)
    found = diagnose(backend)
    _show(found)
    if skip_input:
        path = str(Path(skip_input).absolute())
        rows = sum(file.rows for file in found.files if file.path == path)
        _ask(f"Run the steps again without {skip_input} ({counted(rows, 'row')} lost)?", yes)
        for file in skip_file(backend, skip_input):
            out.print(f"Step {file.step} will be run without {file.path}.")
    if accept_loss:
        if not (found.lost_steps or found.problem):
            raise PipelineError("no step is lost; there is nothing to give up")
        _ask(f"Go back to step {found.good} ({counted(found.lost_steps, 'step')} lost)?", yes)
        give_up_steps(backend)
        out.print(f"The pipeline goes on after step {found.good}.")


def _show(found: Diagnosis) -> None:
    out.print(
        f"Pipeline {found.pipeline}: version {found.version} holds all steps up to {found.step}; "
        f"the input log has those up to {found.good}."
    )
    if found.problem:
        out.print(f"[red]{found.problem}[/]")
    if found.lost_steps:
        out.print(
            f"[red]{counted(found.lost_steps, 'acknowledged step')} cannot be run again: {found.good + 1} to "
            f"{found.acknowledged}.[/] Restore input/ from a backup, or give them up with --accept-loss."
        )
    if found.missing:
        out.print(_files(found.missing))
        out.print("Put the files back as they were, or run the steps without one with --skip-input PATH.")
    if not (found.problem or found.missing):
        out.print("[green]Nothing is missing: the pipeline can be opened.[/]")


def _files(files: tuple[LoggedFile, ...]) -> Table:
    table = Table("step", "table", "rows", "problem", title="Files that steps must read again")
    table.add_column("file", overflow="fold")  # whole: it is what --skip-input needs
    for file in files:
        table.add_row(str(file.step), file.table, f"{file.rows:,}", file.problem, file.path)
    return table


def _ask(question: str, yes: bool) -> None:
    if not yes and not typer.confirm(question):
        raise typer.Abort
