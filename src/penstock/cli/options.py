"""Arguments and options that several commands share, so that they mean and read the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "MemoryOption",
    "Mode",
    "ModeOption",
    "ScriptArgument",
    "StorageArgument",
    "WorkersOption",
    "read_script",
]


class Mode(StrEnum):
    """The two ways to run a step."""

    RESIDENT = "resident"
    STAGED = "staged"


ScriptArgument = Annotated[
    Path,
    typer.Argument(
        metavar="SCRIPT.sql",
        exists=True,
        dir_okay=False,
        readable=True,
        help="CREATE TABLE and CREATE MATERIALIZED VIEW statements in Spark SQL.",
    ),
]


def _existing(storage: str) -> str:
    """A URL, or a folder that exists."""
    if "://" not in storage and not Path(storage).is_dir():
        problem = "is a file" if Path(storage).exists() else "does not exist"
        raise typer.BadParameter(f"Directory {storage!r} {problem}.")
    return storage


StorageArgument = Annotated[
    str,
    typer.Argument(
        metavar="STORAGE",
        callback=_existing,
        help="The state folder of a pipeline, or a URL such as s3://bucket/prefix.",
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="What the state of each worker may take in memory, such as 512m or 4g; the rest is read from "
        "disk when it is needed. By default workers share half of the machine's memory.",
    ),
]
WorkersOption = Annotated[int, typer.Option("--workers", "-w", min=1, help="The number of workers.")]
ModeOption = Annotated[
    Mode,
    typer.Option(
        "--mode",
        help="resident: workers stay up between steps. staged: every step is one ordinary Spark job.",
    ),
]


def read_script(path: Path) -> str:
    """The text of a script."""
    return path.read_text(encoding="utf-8")
