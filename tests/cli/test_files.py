"""Files on the command line: names are understood, and what is written reads back the same."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType

from penstock.cli.files import known_name, parse_assignments, write_rows
from penstock.errors import PenstockError
from penstock.intake.file_rows import read_rows

_COLUMNS = StructType(
    [
        StructField("id", LongType(), nullable=False),
        StructField("name", StringType()),
        StructField("price", DecimalType(10, 2)),
    ]
)
_SCHEMA = pa.schema([("id", "int64"), ("name", "string"), ("price", pa.decimal128(10, 2))])
_ROWS = [
    {"id": 1, "name": "lamp", "price": Decimal("0.10")},
    {"id": 2, "name": None, "price": Decimal("12345678.90")},
]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_what_is_written_reads_back_the_same(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows{ending}"
    write_rows(pa.Table.from_pylist(_ROWS, _SCHEMA), path)
    assert read_rows("products", path, _COLUMNS, "UTC").to_pylist() == _ROWS


def test_an_output_of_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="known ones are"):
        write_rows(pa.table({"a": [1]}), tmp_path / "view.xls")


def test_assignments_find_their_table_whatever_the_case() -> None:
    (item,) = parse_assignments("--input", ["Orders=data/x=y.csv"], ["orders"])
    assert (item.name, item.path) == ("orders", Path("data/x=y.csv"))


@pytest.mark.parametrize("value", ["orders", "=x.csv", "orders="])
def test_an_assignment_without_both_sides_is_refused_with_an_example(value: str) -> None:
    with pytest.raises(PenstockError, match="expected NAME=PATH"):
        parse_assignments("--input", [value], ["orders"])


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(PenstockError, match=r"no ordres; did you mean orders\? There are: customers, orders"):
        known_name("--input", "ordres", ["customers", "orders"])
