"""Rows of files: Parquet, CSV and JSON lines, told apart by their ending.

A file is read with the types of the table it goes into, so a CSV column of a DECIMAL table never passes
through a float. Instants (TIMESTAMP) may be written with or without a zone; without one they are local
times of the session's zone. Arrow reads whole files but does not say in which row a value does not fit;
only when it fails is the row looked for, by reading ever smaller parts. Whether the rows fit the table
otherwise (NULLs, missing columns) is for the pipeline to say.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from pyspark.sql.types import DataType, StructField, StructType, TimestampType, TimeType

from penstock.errors import InputError
from penstock.expr.functions.cast_time_of_day import TIME_OF_DAY, parsed_times
from penstock.expr.functions.vectors import build
from penstock.expr.types import to_arrow
from penstock.intake.refusal import RefusedError, first_failure, shown, sql_name
from penstock.intake.timezones import localize

__all__ = ["ENDINGS", "files_in", "is_parquet", "read_rows"]

ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")
_AS_TEXT = (TimestampType, TimeType)
_ZONE = r"\d:\d\d.*(?:Z|[+-]\d\d(?::?\d\d)?)\s*$"  # behind a time of day: dates end in -01 too


def files_in(table: str, path: Path) -> list[Path]:
    """The file at ``path``, or all files in that folder and below it, in the order of their names. As in
    Spark, names that begin with a dot or an underscore are skipped; a file of a kind that is not known is
    an error."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise InputError(table, f"there is no file or folder {path}")
    found = sorted(
        file
        for file in path.rglob("*")
        if file.is_file() and not any(p.startswith((".", "_")) for p in file.relative_to(path).parts)
    )
    if not found:
        raise InputError(table, f"the folder {path} holds no files")
    for file in found:
        _check_ending(table, file)
    return found


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet, by its ending."""
    return path.suffix.lower() == ".parquet"


def read_rows(table: str, path: Path, columns: StructType, timezone: str) -> pa.Table:
    """The rows of a file. Those of its columns that are among ``columns`` have their types (Parquet: its own
    types)."""
    if not path.is_file():
        raise InputError(table, f"there is no file {path}")
    _check_ending(table, path)
    try:
        match path.suffix.lower():
            case ".parquet":
                return pa.parquet.read_table(path)
            case ".csv":
                return _File(table, path, columns, timezone).csv()
            case _:
                return _File(table, path, columns, timezone).json_lines()
    except (pa.ArrowException, OSError) as error:
        raise InputError(table, f"{path} cannot be read: {error}") from error


def _check_ending(table: str, path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise InputError(table, f"{path} has an unknown file extension; known ones are {', '.join(ENDINGS)}")


class _File:
    """One file of text."""

    def __init__(self, table: str, path: Path, columns: StructType, timezone: str) -> None:
        self.table, self.path, self.timezone = table, path, timezone
        self.fields = {field.name.lower(): field for field in columns.fields}

    def csv(self) -> pa.Table:
        with pa.csv.open_csv(self.path) as reader:
            names = reader.schema.names
        try:
            read = self._csv({name: _plain(field) for name, field in self._known(names)})
        except pa.ArrowInvalid:
            # As text everything can be read, and then converted column by column.
            read = self._csv({name: pa.string() for name in names})
            return self._converted(read, everything=True)
        return self._converted(read)

    def _csv(self, types: Mapping[str, pa.DataType]) -> pa.Table:
        # An empty field is NULL unless it is quoted, the way Spark and PostgreSQL write it.
        options = pa.csv.ConvertOptions(
            column_types=types,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        )
        return pa.csv.read_csv(self.path, convert_options=options)

    def json_lines(self) -> pa.Table:
        data = self.path.read_bytes()
        if not data.strip():
            return pa.table({field.name: pa.nulls(0, _plain(field)) for field in self.fields.values()})
        try:
            return self._converted(_json(data, self.fields.values()))
        except pa.ArrowInvalid as error:
            raise self._located(data, error) from None

    def _located(self, data: bytes, error: pa.ArrowInvalid) -> InputError:
        """The first row and column that cannot be read."""
        lines = [line for line in data.splitlines() if line.strip()]
        row = first_failure(len(lines), lambda low, high: _fails(lines[low:high], self.fields.values()))
        wrong = [field for field in self.fields.values() if _fails([lines[row]], [field])]
        if len(wrong) == len(self.fields) > 1 or not wrong:
            text = shown(lines[row].decode(errors="replace"))
            return InputError(self.table, f"{text} is not a JSON object: {error} (in {self.path})", row=row)
        reason = f"the value does not fit {sql_name(wrong[0].dataType)}: {error} (in {self.path})"
        return InputError(self.table, reason, row=row, column=wrong[0].name)

    def _known(self, names: Iterable[str]) -> list[tuple[str, StructField]]:
        return [(name, self.fields[name.lower()]) for name in names if name.lower() in self.fields]

    def _converted(self, read: pa.Table, *, everything: bool = False) -> pa.Table:
        """The columns that were read as text in the types of the table."""
        for name, field in self._known(read.schema.names):
            text = read[name]
            if pa.types.is_string(text.type) and (everything or isinstance(field.dataType, _AS_TEXT)):
                column = self._column(text.combine_chunks(), field)
                read = read.set_column(read.schema.get_field_index(name), name, column)
        return read

    def _column(self, text: pa.Array | pa.ChunkedArray, field: StructField) -> pa.Array:
        try:
            return _parsed(text, field.dataType, self.timezone)
        except RefusedError as refused:
            place = f"{self.path}{self._line(refused.index)}"
            raise InputError(
                self.table, f"{refused.reason} (in {place})", row=refused.index, column=field.name
            ) from None

    def _line(self, row: int | None) -> str:
        """The line of a row of a CSV file, where rows are lines."""
        if row is None or self.path.suffix.lower() != ".csv":
            return ""
        data = self.path.read_bytes()
        if b'"' in data:
            return ""
        filled = [number for number, line in enumerate(data.splitlines(), 1) if line]
        return f", line {filled[row + 1]}"


def _plain(field: StructField) -> pa.DataType:
    """The type to read a column with: instants are parsed from text, which may name a zone, and times of day
    too, which Arrow does not read from JSON."""
    return pa.string() if isinstance(field.dataType, _AS_TEXT) else to_arrow(field.dataType)


def _json(data: bytes, fields: Iterable[StructField], *, others: str = "infer") -> pa.Table:
    schema = pa.schema([(field.name, _plain(field)) for field in fields])
    options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)
    read = pa.json.ReadOptions(block_size=max(1 << 20, len(data) + 1))
    return pa.json.read_json(io.BytesIO(data), read_options=read, parse_options=options)


def _fails(lines: list[bytes], fields: Iterable[StructField]) -> bool:
    try:
        _json(b"\n".join(lines), fields, others="ignore")
    except pa.ArrowInvalid:
        return True
    return False


def _parsed(text: pa.Array, data_type: DataType, timezone: str) -> pa.Array:
    """Text as values of a type; raises RefusedError at the first that is none."""
    if isinstance(data_type, TimeType):
        return _times(text, data_type)
    if not isinstance(data_type, TimestampType):
        return _cast(text, lambda part: part.cast(to_arrow(data_type)), data_type)
    zoned = pc.match_substring_regex(text, _ZONE).fill_null(False)
    instants = _cast(
        pc.if_else(zoned, text, None), lambda part: part.cast(pa.timestamp("us", "UTC")), data_type
    )
    local = _cast(pc.if_else(zoned, None, text), lambda part: part.cast(pa.timestamp("us")), data_type)
    return pc.if_else(zoned, instants, localize(local, timezone))


def _times(text: pa.Array, data_type: TimeType) -> pa.Array:
    """Times of day, written as Spark casts them from text."""
    nanos, good = parsed_times(text)
    bad = ~good & np.asarray(text.is_valid())
    if bad.any():
        index = int(np.argmax(bad))
        raise RefusedError(f"{shown(text[index].as_py())} does not fit {sql_name(data_type)}", index=index)
    return build(nanos, good, TIME_OF_DAY)


def _cast(text: pa.Array, convert: Callable[[pa.Array], pa.Array], data_type: DataType) -> pa.Array:
    def fails(low: int, high: int) -> bool:
        try:
            convert(text.slice(low, high - low))
        except pa.ArrowException:
            return True
        return False

    try:
        return convert(text)
    except pa.ArrowException:
        index = first_failure(len(text), fails)
        raise RefusedError(
            f"{shown(text[index].as_py())} does not fit {sql_name(data_type)}", index=index
        ) from None
