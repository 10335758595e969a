"""Nexmark's events as files, written once and then read by every system.

A group is as many events as one step takes; each table has one file per group, numbered in the order of
events. Events depend on their number alone, so the files of a smaller input are those of a larger one's
beginning. Parquet is written for all who read it; CSV is Pathway's, with times as microseconds since 1970 and
``id``, which means something else there, as ``ident``. A folder appears under its name only when complete.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from bench.nexmark.generator import Columns, Events, side_input

__all__ = ["GROUP", "Files", "written"]

ARTIFACTS = Path(__file__).parent.parent.parent / "artifacts" / "nexmark"
GROUP = 250_000
_ROW_GROUPS = 4  # per file, so that two readers can share one
_AHEAD = 1 << 24
_FIRST_SECOND = 1_600_000_000  # files are dated a second apart: some systems take them in that order


@dataclass(frozen=True)
class Files:
    """The files of the first ``events`` events, in one format."""

    folder: Path
    events: int
    format: str

    def folder_of(self, table: str) -> Path:
        """Where the files of one table are."""
        return self.folder / self.format / table

    def of(self, table: str) -> list[Path]:
        """The files of one table, in the order of events."""
        return sorted(self.folder_of(table).iterdir())

    def read_ahead(self) -> None:
        """Puts the files into the page cache. Some systems take so much memory that who comes next would
        otherwise read from the disk what they found in memory."""
        for path in sorted((self.folder / self.format).rglob(f"*.{self.format}")):
            with path.open("rb", buffering=0) as file:
                while file.read(_AHEAD):
                    pass


def written(events: int, format: str, *, group: int = GROUP, seed: int = 1, root: Path = ARTIFACTS) -> Files:
    """The files, which are written now if they are not there."""
    files = Files(root / str(events) / f"by-{group}", events, format)
    target = files.folder / format
    if not target.exists():
        partial = target.with_name(f"{format}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        _write(partial, format, Events(seed), events, group)
        partial.rename(target)
    return files


def _write(folder: Path, format: str, made: Events, events: int, group: int) -> None:
    _write_table(folder / "side_input" / f"0000.{format}", format, side_input())
    for number, start in enumerate(range(0, events, group)):
        for name, columns in made.tables(start, min(events, start + group)).items():
            path = folder / name / f"{number:04d}.{format}"
            _write_table(path, format, columns)
            os.utime(path, (_FIRST_SECOND + number,) * 2)


def _write_table(path: Path, format: str, columns: Columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if format == "parquet":
        pq.write_table(table, path, row_group_size=max(1, -(-len(table) // _ROW_GROUPS)))
        return
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field.name, table[field.name].cast(pa.int64()))
    names = ["ident" if name == "id" else name for name in table.schema.names]
    csv.write_csv(table.rename_columns(names), path, csv.WriteOptions(quoting_style="none"))
