"""Files must come in with the table's types, and what cannot must be refused by name."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.cli.files import known_name, parse_assignments, read_rows, write_rows
from penstock.errors import InputError, PenstockError

_SCHEMA = pa.schema(
    [pa.field("id", "int64", nullable=False), ("name", "string"), ("price", pa.decimal128(10, 2))]
)
_ROWS = [
    {"id": 1, "name": "lamp", "price": Decimal("0.10")},
    {"id": 2, "name": None, "price": Decimal("12345678.90")},
]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl"])
def test_what_is_written_reads_back_the_same(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows{ending}"
    write_rows(pa.Table.from_pylist(_ROWS, _SCHEMA), path)
    assert read_rows("products", path, _SCHEMA).to_pylist() == _ROWS


def test_decimals_in_csv_never_pass_through_a_float(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("id,name,price\n1,a,70368744.17\n")
    assert read_rows("products", path, _SCHEMA)["price"].to_pylist() == [Decimal("70368744.17")]


def test_an_empty_field_is_null_and_a_quoted_one_is_an_empty_string(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text('id,name,price\n1,,1\n2,"",2\n')
    assert read_rows("products", path, _SCHEMA)["name"].to_pylist() == [None, ""]


def test_columns_may_come_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("price,id,name\n1.5,7,a\n")
    assert read_rows("products", path, _SCHEMA).select(["id", "price"]).to_pylist() == [
        {"id": 7, "price": Decimal("1.50")}
    ]


def test_a_null_in_a_key_is_left_for_the_pipeline_to_locate(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"id": None, "name": "a", "price": None}) + "\n")
    assert read_rows("products", path, _SCHEMA)["id"].to_pylist() == [None]


def test_parquet_keeps_its_own_types(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), path)
    assert read_rows("products", path, _SCHEMA).schema.field("id").type == pa.int32()


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("p.csv", "id,name,price\nseven,a,1\n", "cannot be read"),
        ("p.jsonl", "{not json", "cannot be read"),
        ("p.parquet", "PAR1 no", "cannot be read"),
        ("p.xlsx", "", r"ending .* known are"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=complaint) as caught:
        read_rows("products", path, _SCHEMA)
    assert caught.value.table == "products"
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file"):
        read_rows("products", tmp_path / "absent.csv", _SCHEMA)


def test_an_output_of_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="known are"):
        write_rows(pa.table({"a": [1]}), tmp_path / "view.xls")


def test_assignments_find_their_table_whatever_the_case() -> None:
    (item,) = parse_assignments("--input", ["Orders=data/x=y.csv"], ["orders"])
    assert (item.name, item.path) == ("orders", Path("data/x=y.csv"))


@pytest.mark.parametrize("value", ["orders", "=x.csv", "orders="])
def test_an_assignment_without_both_sides_is_refused_with_an_example(value: str) -> None:
    with pytest.raises(PenstockError, match="expected NAME=PATH"):
        parse_assignments("--input", [value], ["orders"])


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(PenstockError, match="no ordres; it has customers, orders"):
        known_name("--input", "ordres", ["customers", "orders"])
