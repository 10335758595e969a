"""Rows in and out of files: Parquet, CSV and JSON lines, told apart by their ending.

A file is read with the types of the table it goes into, so a CSV column of a DECIMAL table never passes
through a float. Whether the rows fit is for the pipeline to say; here only what no table could take
(a missing or unreadable file, an unknown ending) is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from penstock.errors import InputError, PenstockError

__all__ = ["Assignment", "known_name", "parse_assignments", "read_rows", "write_rows"]

_ENDINGS = ".parquet, .csv, .jsonl (or .ndjson)"


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
    """The table or view that ``name`` means; names are matched as Spark matches them, whatever the case."""
    names = {candidate.casefold(): candidate for candidate in known}
    if name.casefold() not in names:
        raise PenstockError(
            f"{option}: the script has no {name}; it has {', '.join(names.values()) or 'none'}"
        )
    return names[name.casefold()]


def read_rows(table: str, path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of a file, with the types that ``schema`` gives its columns."""
    if not path.is_file():
        raise InputError(table, f"there is no file {path}")
    try:
        match path.suffix.lower():
            case ".parquet":
                return pa.parquet.read_table(path)
            case ".csv":
                return _read_csv(path, schema)
            case ".jsonl" | ".ndjson":
                options = pa.json.ParseOptions(
                    explicit_schema=_plain(schema), unexpected_field_behavior="infer"
                )
                return pa.json.read_json(path, parse_options=options)
    except (pa.ArrowException, OSError) as error:
        raise InputError(table, f"{path} cannot be read: {error}") from error
    raise InputError(table, f"{path} has an ending that is not known; known are {_ENDINGS}")


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    # An empty field is NULL unless it is quoted, the way Spark and PostgreSQL write it.
    options = pa.csv.ConvertOptions(
        column_types=_plain(schema),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    return pa.csv.read_csv(path, convert_options=options)


def _plain(schema: pa.Schema) -> pa.Schema:
    """The schema without NOT NULL: NULLs are reported by the pipeline, which can say where they stand."""
    return pa.schema([field.with_nullable(True) for field in schema])


def write_rows(data: pa.Table, path: Path) -> None:
    """Write ``data`` to a file of the kind its ending names, replacing what is there."""
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
            raise PenstockError(f"{path} has an ending that is not known; known are {_ENDINGS}")
