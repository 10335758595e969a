"""``penstock run``: a script, some files of rows, one step, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import arrow_table, counted, err, out, shown_path
from penstock.cli.files import Assignment, known_name, parse_assignments, read_rows, write_rows
from penstock.cli.options import Mode, ModeOption, ScriptArgument, WorkersOption, read_script
from penstock.cli.starting import starting_spark

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock import Pipeline, Run, StepReport

__all__ = ["run"]


def run(
    script: ScriptArgument,
    storage: Annotated[
        Path | None,
        typer.Option("--storage", "-s", help="Where state is kept. Default: SCRIPT-state beside the script."),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="TABLE=FILE",
            help="Rows to put in (.parquet, .csv, .jsonl): upserted by primary key, added if it has none.",
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
        typer.Option("--changes", metavar="VIEW", help="Print what this step changed in a view."),
    ] = None,
    output: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="VIEW=FILE", help="Write the contents of a view to a file."),
    ] = None,
    workers: WorkersOption = 2,
    mode: ModeOption = Mode.RESIDENT,
) -> None:
    """Bring the views of a script up to date with new rows.

    The first run creates the tables and views; every later run with the same script and storage goes on from
    where the last one ended, and does only the work that the new rows ask for.
    """
    from penstock import Pipeline  # Spark takes a second to import; --help should not wait for it

    folder = storage or script.with_name(f"{script.stem}-state")
    with starting_spark():
        pipe = Pipeline(script.stem, storage=folder, workers=workers, mode=mode.value)
        pipe.sql(read_script(script))
    rows_in = parse_assignments("--input", inputs or (), pipe.tables)
    rows_out = parse_assignments("--delete", deletes or (), pipe.tables)
    views = [view.name for view in pipe.views.values() if view.materialized]
    files = parse_assignments("--output", output or (), views)
    shown = [known_name("--show", name, views) for name in show or ()]
    differing = [known_name("--changes", name, views) for name in changes or ()]
    with err.status("Starting workers …"), pipe.run() as running:
        for item in rows_in:
            _put(pipe, running, item)
        for item in rows_out:
            running.delete(item.name, _rows(pipe, item))
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
    if pipe.tables[item.name].primary_key:
        running.upsert(item.name, _rows(pipe, item))
    else:
        running.insert(item.name, _rows(pipe, item))


def _rows(pipe: Pipeline, item: Assignment) -> pa.Table:
    from penstock.expr.types import arrow_schema

    fields = pipe.tables[item.name].schema.fields
    return read_rows(item.name, item.path, arrow_schema([(field.name, field.dataType) for field in fields]))


def _summary(report: StepReport) -> str:
    changed = ", ".join(f"{name} {count:,}" for name, count in report.changed_rows.items() if count)
    absent = sum(report.absent_keys.values())
    ignored = f" ({counted(absent, 'key')} to delete not found)" if absent else ""
    taken = f"{counted(report.input_rows, 'row')} in{ignored}"
    time_ms = report.duration_ms["step"]
    return f"Step {report.step}: {taken}; rows changed: {changed or 'none'} ({time_ms:.0f} ms)"
