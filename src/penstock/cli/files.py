"""Files on the command line: which table or view they belong to, and rows written into them.

They are read by :mod:`penstock.intake.file_rows`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from penstock.errors import PenstockError, choice_text

__all__ = ["Assignment", "known_name", "parse_assignments", "write_rows"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """``name=path`` from the command line."""

    name: str
    path: Path


def parse_assignments(option: str, values: Sequence[str], known: Iterable[str]) -> list[Assignment]:
    """The values of a repeated ``NAME=PATH`` option; ``known`` are the tables or views it may name."""
    assignments = []
    for value in values:
        name, separator, path = value.partition("=")
        if not separator or not name or not path:
            raise PenstockError(
                f"{option} {value}: expected NAME=PATH, for example {option} orders=orders.csv"
            )
        assignments.append(Assignment(known_name(option, name, known), Path(path)))
    return assignments


def known_name(option: str, name: str, known: Iterable[str]) -> str:
    """The table or view called ``name``; names are case-insensitive, as in Spark."""
    names = {candidate.casefold(): candidate for candidate in known}
    if name.casefold() not in names:
        raise PenstockError(f"{option}: there is no {name}; {choice_text(name, names.values())}")
    return names[name.casefold()]


def write_rows(data: pa.Table, path: Path) -> None:
    """Write ``data`` to a file in the format given by its extension, replacing an existing file."""
    match path.suffix.lower():
        case ".parquet":
            pa.parquet.write_table(data, path)
        case ".csv":
            pa.csv.write_csv(data, path)
        case ".jsonl" | ".ndjson":
            with path.open("w", encoding="utf-8") as file:
                for row in data.to_pylist():
                    file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
        case _:
            from penstock.intake.file_rows import ENDINGS  # it knows types, and with them half of the package

            raise PenstockError(f"{path} has an unknown file extension; known ones are {', '.join(ENDINGS)}")
