"""Files must come in with the table's types, and what cannot must be refused with row and column."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from penstock.errors import InputError
from penstock.intake.file_rows import files_in, read_rows

_COLUMNS = StructType(
    [
        StructField("id", LongType(), nullable=False),
        StructField("name", StringType()),
        StructField("price", DecimalType(10, 2)),
        StructField("at", TimestampType()),
    ]
)


def rows(path: Path, content: str, timezone: str = "UTC") -> pa.Table:
    path.write_text(content)
    return read_rows("products", path, _COLUMNS, timezone)


def test_decimals_in_csv_never_pass_through_a_float(tmp_path: Path) -> None:
    read = rows(tmp_path / "p.csv", "id,name,price\n1,a,70368744.17\n")
    assert read["price"].to_pylist() == [Decimal("70368744.17")]


def test_an_empty_field_is_null_and_a_quoted_one_is_an_empty_string(tmp_path: Path) -> None:
    assert rows(tmp_path / "p.csv", 'id,name,price\n1,,1\n2,"",2\n')["name"].to_pylist() == [None, ""]


def test_columns_may_come_in_any_order_and_case(tmp_path: Path) -> None:
    read = rows(tmp_path / "p.csv", "price,ID,Name\n1.5,7,007\n")
    assert read.to_pylist() == [{"price": Decimal("1.50"), "ID": 7, "Name": "007"}]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_instants_may_name_a_zone_or_are_local(tmp_path: Path, ending: str) -> None:
    texts = ["2024-07-01 10:00:00", "2024-07-01T10:00:00Z", "2024-07-01 10:00:00.5+03:00", None]
    if ending == "csv":
        content = "id,at\n" + "".join(f"1,{text or ''}\n" for text in texts)
    else:
        content = "".join(json.dumps({"id": 1, "at": text}) + "\n" for text in texts)
    read = rows(tmp_path / f"p.{ending}", content, "Europe/Berlin")
    assert read["at"].to_pylist() == [
        datetime(2024, 7, 1, 8, tzinfo=UTC),
        datetime(2024, 7, 1, 10, tzinfo=UTC),
        datetime(2024, 7, 1, 7, 0, 0, 500_000, tzinfo=UTC),
        None,
    ]


def test_a_null_in_a_key_is_left_for_the_pipeline_to_locate(tmp_path: Path) -> None:
    read = rows(tmp_path / "p.jsonl", json.dumps({"id": None, "name": "a", "price": None}) + "\n")
    assert read["id"].to_pylist() == [None]


def test_parquet_keeps_its_own_types(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), path)
    assert read_rows("products", path, _COLUMNS, "UTC").schema.field("id").type == pa.int32()


@pytest.mark.parametrize(
    ("name", "content", "row", "column", "complaint"),
    [
        ("p.csv", "id,name\n1,a\n\nseven,b\n8,c\n", 1, "id", "'seven' does not fit BIGINT .*p.csv, line 4"),
        ("p.csv", 'id,name\n1,"a\nb"\nseven,b\n', 1, "id", r"'seven' does not fit BIGINT \(in .*p.csv\)$"),
        ("p.csv", "id,price\n1,1.00\n2,1.005\n", 1, "price", r"'1.005' does not fit DECIMAL\(10,2\)"),
        ("p.csv", "id,at\n1,2024-01-01\n2,soon\n", 1, "at", "'soon' does not fit TIMESTAMP"),
        ("p.jsonl", '{"id": 1}\n{"id": 1.5}\n{"id": 2}\n', 1, "id", "does not fit BIGINT"),
        ("p.jsonl", '{"id": 1}\n{"id": 1, "price": "x"}\n', 1, "price", r"does not fit DECIMAL\(10,2\)"),
        ("p.jsonl", '{"id": 1}\n{"id": 2}\n{nonsense\n', 2, None, "'{nonsense' is not a JSON object"),
        ("p.csv", "id,name\n1,a\n2\n", None, None, "p.csv cannot be read: .*Expected 2 columns"),
        ("p.parquet", "PAR1 no", None, None, "cannot be read"),
        ("p.xlsx", "", None, None, r"unknown file extension.*known ones are"),
    ],
)
def test_what_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: str, row: int | None, column: str | None, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        rows(tmp_path / name, content)
    assert (caught.value.table, caught.value.row, caught.value.column) == ("products", row, column)
    assert str(tmp_path / name) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        read_rows("products", tmp_path / "absent.csv", _COLUMNS, "UTC")


def test_an_empty_file_has_no_rows_or_no_header(tmp_path: Path) -> None:
    assert rows(tmp_path / "p.jsonl", "\n").num_rows == 0
    with pytest.raises(InputError, match="Empty CSV"):
        rows(tmp_path / "p.csv", "")


def test_a_folder_is_its_files_in_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "day=1/c.parquet", "_SUCCESS", ".x.crc", "_temporary/d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = [str(path.relative_to(tmp_path)) for path in files_in("t", tmp_path)]
    assert found == ["a.csv", "b.csv", "day=1/c.parquet"]
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match=r"notes.txt has an unknown file extension"):
        files_in("t", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no files"):
        files_in("t", tmp_path / "empty")
