"""``penstock convert``: rewrites files of older formats."""

from __future__ import annotations

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from penstock.cli.console import counted, err, out, shown_path, size_text
from penstock.cli.options import StorageArgument

__all__ = ["convert"]


def convert(storage: StorageArgument) -> None:
    """Rewrite the segments that an earlier release wrote in an older format, as the next version.

    Not needed for correctness: all formats stay readable, and merging converts a folder bit by bit. It makes
    large batches open without reading them. The pipeline must not be running. Interrupting it does no harm;
    the old files are deleted when the next version is made.
    """
    from penstock.pipeline.conversion import convert_folder
    from penstock.storage import open_backend

    backend = open_backend(storage)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("Converting", total=None)

        def tell(name: str, done: int, total: int) -> None:
            progress.update(task, description=name.rpartition("/")[2], completed=done, total=total)

        found = convert_folder(backend, tell)
    folder = escape(shown_path(storage))
    if not found.segments:
        out.print(f"Nothing to convert: version {found.version} of {folder} has the present format only.")
        return
    out.print(
        f"Converted {counted(found.segments, 'segment')} of {folder} "
        f"({size_text(found.before)}, now {size_text(found.after)}) as version {found.version}."
    )
