"""``penstock inspect``: what a state folder consists of, as a tree, as JSON, as rows or as a picture."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.tree import Tree

from penstock.cli.console import arrow_table, counted, err, out, shown_path, size_text
from penstock.cli.options import StorageArgument
from penstock.cli.storage_lines import storage_lines
from penstock.errors import PipelineError

if TYPE_CHECKING:
    from penstock.schedule.folder_parts import ArrangementParts, Folder
    from penstock.storage import Backend

__all__ = ["inspect"]

_ROWS, _BATCHES = 10, 12


def inspect(
    storage: StorageArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    rows: Annotated[
        str,
        typer.Option(
            "--rows", metavar="ARRANGEMENT", help="Print the first rows of its batches (a prefix will do)."
        ),
    ] = "",
    graph: Annotated[
        Path | None, typer.Option("--graph", metavar="FILE.svg", help="Draw the spines into this file.")
    ] = None,
) -> None:
    """Show what a state folder consists of: versions, arrangements and their batches, segments and sizes.

    An arrangement is the state of one operator, a list of sorted batches (its spine), each stored in a block
    of a segment. Operators and views are named as the newest version names them; arrangements of older
    releases are shown by their fingerprints. What only earlier versions refer to is kept as long as they are;
    what nobody refers to is deleted after the next version.

    Read-only, needs no Spark, and works while the pipeline runs. `penstock check` says whether it is sound.
    """
    from penstock.schedule.folder_parts import read_folder
    from penstock.storage import open_backend, read_metrics

    backend = open_backend(storage)
    folder = read_folder(backend)
    if rows:
        _print_rows(backend, _chosen(folder, rows))
    elif as_json:
        typer.echo(json.dumps(_as_json(folder), indent=2))
    elif graph is None:
        tree = _tree(folder, shown_path(storage))
        if lines := storage_lines((read_metrics(backend) or {}).get("storage", ())):
            last = tree.add("the last run")
            for name, text in lines:
                last.add(f"{name}: {text}")
        out.print(tree)
    if graph is not None:
        from penstock.cli.spine_picture import spine_picture

        graph.write_text(spine_picture(folder), encoding="utf-8")
        err.print(f"Spines drawn in {shown_path(graph)}")


def _tree(folder: Folder, name: str) -> Tree:
    newest, segments = folder.newest, folder.segments
    whole = sum(segment.size for segment in segments) + sum(folder.files.values())
    tree = Tree(f"[bold]{escape(newest.pipeline)}[/] in {escape(name)}, {size_text(whole)}")
    versions = tree.add("versions")
    for version in reversed(folder.versions):
        blocks = counted(len(version.blocks), "block")
        kept = "" if version is newest else ", kept for going back to it"
        by = f"by {counted(version.workers, 'worker')}"
        versions.add(f"{version.number}: the state after step {version.step}, {by}, {blocks}{kept}")
    total = size_text(sum(found.size for found in folder.arrangements))
    arrangements = tree.add(f"{counted(len(folder.arrangements), 'arrangement')}, {total}")
    for found in folder.arrangements:
        _add_arrangement(arrangements.add(_title(found)), found)
    changes = tree.add(f"changes of views, {size_text(sum(size for size, _ in folder.changes.values()))}")
    for view, (size, count) in folder.changes.items():
        changes.add(f"{escape(view)}: {counted(count, 'row')}, {size_text(size)}")
    in_segments = tree.add(f"{counted(len(segments), 'segment')}, {size_text(sum(s.size for s in segments))}")
    for what, size, meaning in (
        ("state", sum(s.state for s in segments), "of the newest version"),
        ("changes", sum(s.changes for s in segments), "of views, in the newest version"),
        ("older", sum(s.older for s in segments), "only earlier versions refer to it"),
        ("garbage", sum(s.garbage for s in segments), "nobody refers to it"),
        ("headers and footers", sum(s.size - s.used for s in segments), ""),
    ):
        in_segments.add(f"{what}: {size_text(size)}" + (f" [dim]{meaning}[/]" if meaning else ""))
    others = tree.add("other files")
    for file, size in folder.files.items():
        others.add(f"{escape(file)}: {size_text(size)}")
    return tree


def _title(found: ArrangementParts) -> str:
    owner = found.owner
    operator = f"[bold]{escape(owner.operator)}[/] " if owner.operator else ""
    views = f" [dim]for {escape(', '.join(owner.views))}[/]" if owner.views else ""
    batches = f"{counted(found.rows, 'row')} in {counted(len(found.batches), 'batch', 'batches')}"
    return f"{operator}[cyan]{escape(found.name)}[/]: {batches}, {size_text(found.size)}{views}"


def _add_arrangement(tree: Tree, found: ArrangementParts) -> None:
    for batch in found.batches[:_BATCHES]:
        packed = ", packed" if batch.packed else ", in blocks" if batch.in_blocks else ""
        place = f"{escape(batch.ref.segment)} block {batch.ref.entry}"
        tree.add(f"{counted(batch.rows, 'row')}, {size_text(batch.size)}{packed} [dim]{place}[/]")
    if len(found.batches) > _BATCHES:
        tree.add(f"[dim]and {len(found.batches) - _BATCHES} smaller ones[/]")


def _as_json(folder: Folder) -> dict[str, Any]:
    return {
        "pipeline": folder.newest.pipeline,
        "versions": [
            {"version": v.number, "step": v.step, "workers": v.workers, "blocks": len(v.blocks)}
            for v in folder.versions
        ],
        "arrangements": [
            {**asdict(found), "rows": found.rows, "size": found.size} for found in folder.arrangements
        ],
        "changes": {view: {"size": size, "rows": count} for view, (size, count) in folder.changes.items()},
        "segments": [asdict(segment) for segment in folder.segments],
        "files": folder.files,
    }


def _chosen(folder: Folder, prefix: str) -> ArrangementParts:
    matching = [found for found in folder.arrangements if found.name.startswith(prefix)]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(found.name for found in matching or folder.arrangements)
    problem = "several arrangements begin with" if matching else "no arrangement begins with"
    raise PipelineError(f"{problem} {prefix}; there are: {names}")


def _print_rows(backend: Backend, found: ArrangementParts) -> None:
    import pyarrow as pa

    from penstock.storage import Segment
    from penstock.trace import stored_rows

    out.print(_title(found))
    for batch in found.batches:
        ref = batch.ref
        block = Segment.open(backend, ref.segment).read_copy(backend, ref.entry)
        whole = stored_rows(block) if batch.packed else block
        part = whole.slice(ref.start, batch.rows)
        title = f"{ref.segment} block {ref.entry}, from row {ref.start}"
        out.print(arrow_table(pa.Table.from_batches([part]), title, _ROWS))
