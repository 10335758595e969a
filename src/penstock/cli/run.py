"""``penstock run``: runs one step of a script with rows from files, and prints the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import arrow_table, counted, err, out, shown_path
from penstock.cli.files import Assignment, known_name, parse_assignments, write_rows
from penstock.cli.options import MemoryOption, Mode, ModeOption, ScriptArgument, WorkersOption, read_script
from penstock.cli.starting import Starting

if TYPE_CHECKING:
    from penstock import Pipeline, Run, StepReport

__all__ = ["run"]


def run(
    script: ScriptArgument,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            "-s",
            help="The state folder, or s3://bucket/prefix. Default: SCRIPT-state next to the script.",
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="TABLE=FILE",
            help="Rows to add (.parquet, .csv, .jsonl, or a folder): upserted by primary key, or inserted if "
            "the table has none.",
        ),
    ] = None,
    deletes: Annotated[
        list[str] | None,
        typer.Option(
            "--delete",
            "-d",
            metavar="TABLE=FILE",
            help="Keys to delete (whole rows if there is no primary key).",
        ),
    ] = None,
    show: Annotated[
        list[str] | None, typer.Option("--show", metavar="VIEW", help="Print the contents of a view.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--changes", metavar="NAME", help="Print what this step changed in a view or table."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="VIEW=FILE", help="Write the contents of a view to a file."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Recompute views that were edited in the script, and the views that read them.",
        ),
    ] = False,
    retain_versions: Annotated[
        int | None,
        typer.Option("--retain-versions", metavar="N", help="Keep the last N versions openable. Default: 2."),
    ] = None,
    retain_for: Annotated[
        str | None,
        typer.Option(
            "--retain-for", metavar="TIME", help="Keep the versions of this time, such as 90s, 2h or 7d, too."
        ),
    ] = None,
    workers: WorkersOption = 2,
    mode: ModeOption = Mode.RESIDENT,
    memory: MemoryOption = None,
) -> None:
    """Bring the views of a script up to date with new rows.

    The first run creates the tables and views; every later run with the same script and storage continues
    where the last one ended, and only processes the new rows. Views can be added to the script at any time.
    Edited views are shown with their differences, and replaced with --replace. --retain-versions and
    --retain-for are remembered until a run gives others.
    """
    folder = storage or str(script.with_name(f"{script.stem}-state"))
    with Starting(script.stem, workers, brief=True) as start:
        from penstock import Pipeline  # a second of imports, while Spark starts; --help does not wait for it
        from penstock.intake.file_rows import files_in
        from penstock.pipeline.relations import Relations

        pipe = Pipeline(
            script.stem,
            storage=folder,
            workers=workers,
            mode=mode.value,
            spark=start.spark(),
            memory=memory,
            retain_versions=retain_versions,
            retain_for=retain_for,
        )
        start.phase("views")
        replaced = pipe.sql(read_script(script), replace=replace)
        if replaced:
            err.print(f"Replaced, to be computed anew: {', '.join(replaced)}")
        rows_in = parse_assignments("--input", inputs or (), pipe.tables)
        rows_out = parse_assignments("--delete", deletes or (), pipe.tables)
        for item in (*rows_in, *rows_out):
            files_in(item.name, item.path)  # raises if there are none, before workers are started
        views = [view.name for view in pipe.views.values() if view.materialized]
        files = parse_assignments("--output", output or (), views)
        shown = [known_name("--show", name, views) for name in show or ()]
        followed = [known_name("--changes", name, [*views, *pipe.tables]) for name in changes or ()]
        differing = [Relations(pipe.catalog).followed(name).name for name in followed]
        start.phase("workers")
        running = pipe.run()
    with running:
        for item in rows_in:
            _put(pipe, running, item)
        for item in rows_out:
            running.delete(item.name, running.file_rows(item.name, item.path))
        report = running.step()
        err.print(_summary(report))
        for name in differing:
            out.print(arrow_table(running.changes(name, since=report.step - 1), f"changes of {name}"))
        for name in shown:
            out.print(arrow_table(running.read(name), name))
        for item in files:
            write_rows(running.read(item.name), item.path)
            err.print(f"{item.name} written to {shown_path(item.path)}")
    err.print(f"State is in {shown_path(folder)}")


def _put(pipe: Pipeline, running: Run, item: Assignment) -> None:
    rows = running.file_rows(item.name, item.path)
    if pipe.tables[item.name].primary_key:
        running.upsert(item.name, rows)
    else:
        running.insert(item.name, rows)


def _summary(report: StepReport) -> str:
    changed = ", ".join(f"{name} {count:,}" for name, count in report.changed_rows.items() if count)
    absent = sum(report.absent_keys.values())
    ignored = f" ({counted(absent, 'key')} to delete not found)" if absent else ""
    taken = f"{counted(report.input_rows, 'row')} in{ignored}"
    time_ms = report.duration_ms["step"]
    return f"Step {report.step}: {taken}; rows changed: {changed or 'none'} ({time_ms:.0f} ms)"
