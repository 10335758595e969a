"""``penstock versions`` and ``penstock restore``: the versions of a state folder, and going back to one."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from penstock.cli.console import ago_text, counted, out, shown_path, size_text
from penstock.cli.options import StorageArgument
from penstock.errors import CorruptionError, PipelineError

if TYPE_CHECKING:
    from penstock.pipeline.restore import RestorePlan
    from penstock.pipeline.version_list import VersionInfo
    from penstock.storage import Retention

__all__ = ["restore", "versions"]


def versions(
    storage: StorageArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the versions as JSON.")] = False,
) -> None:
    """List the versions of a state folder that can be opened, newest first.

    For each: the step whose state it is, when it was made, by how many workers, how much space it takes alone
    (deleting it would free that) and how much it shares with others. Open one to read it with
    `Pipeline(…, version=NUMBER)`; go back to one with `penstock restore`.

    Read-only, needs no Spark, and works while the pipeline runs.
    """
    from penstock.pipeline.version_list import versions_in
    from penstock.storage import VersionStore, open_backend

    backend = open_backend(storage)
    found = versions_in(backend)
    if not found:
        raise PipelineError(f"{storage} holds no pipeline: there is no manifest in it")
    readable = [info.number for info in found if info.step >= 0]
    if not readable:
        raise CorruptionError(f"no version in {storage} can be read: {found[-1].problem}")
    newest = VersionStore(backend).load(readable[-1])
    if as_json:
        value = {
            "pipeline": newest.pipeline,
            "retain": {"versions": newest.retention.versions, "for_s": newest.retention.for_us / 1e6},
            "versions": [_as_json(info) for info in found],
        }
        typer.echo(json.dumps(value, indent=2))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for title in ("version", "step", "made", "workers", "alone", "shared", ""):
        table.add_column(title, justify="left" if title in ("made", "") else "right")
    for info in reversed(found):
        mark = f"[red]cannot be opened: {escape(info.problem)}[/]" if info.problem else ""
        table.add_row(
            str(info.number),
            str(info.step) if info.step >= 0 else "?",
            _made(info.made_at),
            str(info.workers),
            size_text(info.own_bytes),
            size_text(info.shared_bytes),
            mark or ("[green]newest[/]" if info.is_newest else ""),
        )
    out.print(f"Pipeline [bold]{escape(newest.pipeline)}[/] keeps {_kept_text(newest.retention)}")
    out.print(table)


def restore(
    storage: StorageArgument,
    version: Annotated[
        int, typer.Option("--version", "-v", min=0, help="The version to go back to (see penstock versions).")
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Go back to an earlier version for good: later steps are undone, and the next step follows it.

    Shows first what will be lost, and asks. The state of the version becomes a new version, in one step that
    either happens or not, whatever comes in between. Later versions and the input log since are moved to the
    folder `discarded`, which is never read; delete it when you are sure.

    Refuses while the pipeline runs. To only look at a version, open it with `Pipeline(…, version=NUMBER)`.
    """
    from penstock.pipeline.restore import plan_restore
    from penstock.pipeline.restore import restore as restore_version
    from penstock.storage import open_backend

    backend = open_backend(storage)
    plan = plan_restore(backend, version)
    if not plan.changes_anything:
        out.print(f"Version {version} is the newest one, and no step came after it: nothing to do.")
        return
    _show(plan)
    if not yes and not typer.confirm(f"Go back to version {version}?"):
        raise typer.Abort
    again = plan_restore(backend, version)
    if again != plan:
        raise PipelineError("the pipeline went on meanwhile; stop it, and look again at what would be lost")
    made = restore_version(backend, version)
    out.print(
        f"Version {made.number} has the state of version {version}; the pipeline goes on with step "
        f"{made.step + 1}. What was taken out is in "
        f"{escape(f'{shown_path(storage)}/discarded/restore-{made.number:010d}')}.",
        soft_wrap=True,
    )


def _show(plan: RestorePlan) -> None:
    target, last = plan.version, plan.last_step
    made = _made(datetime.fromtimestamp(target.made_us / 1e6, UTC) if target.made_us else None)
    out.print(
        f"Pipeline {escape(target.pipeline)}: version {target.number} is the state after step {target.step}, "
        f"made: {made}.",
        soft_wrap=True,
    )
    if plan.problem:
        out.print(f"[red]The newest version cannot be read: {escape(plan.problem)}[/]", soft_wrap=True)
    if plan.lost_steps:
        steps = f"{target.step + 1} to {last}" if plan.lost_steps > 1 else str(last)
        out.print(f"[red]{counted(plan.lost_steps, 'step')} will be undone: {steps}.[/]")
    if plan.lost_versions:
        named = ", ".join(map(str, plan.lost_versions))
        out.print(f"[red]{counted(len(plan.lost_versions), 'version')} will be discarded: {named}.[/]")


def _as_json(info: VersionInfo) -> dict[str, Any]:
    made = None if info.made_at is None else info.made_at.isoformat()
    return {**asdict(info), "made_at": made, "is_openable": info.is_openable}


def _made(at: datetime | None) -> str:
    if at is None:
        return "unknown"
    ago = ago_text(max(0.0, (datetime.now(UTC) - at).total_seconds()))
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S} ({ago} ago)"


def _kept_text(retention: Retention) -> str:
    from penstock.pipeline.retention import duration_text

    last = f"the last {counted(retention.versions, 'version')}"
    return f"{last}, and those of the last {duration_text(retention.for_us)}" if retention.for_us else last
