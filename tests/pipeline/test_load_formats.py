"""CSV, JSON lines and whole folders are loaded as Parquet files are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.errors import InputError
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.run import Run

SCRIPT = """
CREATE TABLE keyed (id BIGINT PRIMARY KEY, name STRING, n DECIMAL(6, 2));
CREATE TABLE loose (id BIGINT, name STRING, n DECIMAL(6, 2));
CREATE TABLE events (id BIGINT, name STRING, n DECIMAL(6, 2)) TBLPROPERTIES ('appendOnly' = 'true');
CREATE MATERIALIZED VIEW totals AS SELECT name, sum(n) AS n, count(*) AS c FROM keyed GROUP BY name;
"""


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Iterator[Run]:
    pipe = Pipeline("p", tmp_path / "state", workers=2, mode="staged", spark=spark)
    pipe.sql(SCRIPT)
    with pipe.run() as run:
        yield run


def _csv(path: Path, *lines: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["id,name,n", *lines, ""]))
    return path


def test_every_kind_of_file_goes_into_every_kind_of_table(run: Run, tmp_path: Path) -> None:
    csv = _csv(tmp_path / "a.csv", "1,a,1.50", "2,b,")
    lines = tmp_path / "b.jsonl"
    lines.write_text('{"id": 3, "name": "c", "n": "2.25"}\n{"id": 1, "name": null, "n": null}\n')
    for table in ("keyed", "loose", "events"):
        assert run.load(table, csv) == 2
        assert run.load(table, lines) == 2
    csv.unlink()
    lines.unlink()  # what was read is in the input log
    assert run.step().input_rows == 12
    assert sorted(run.read("keyed")["id"].to_pylist()) == [1, 2, 3]
    assert run.read("loose").num_rows == run.read("events").num_rows == 4
    assert run.verify()


def test_a_folder_is_loaded_file_by_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    _csv(folder / "1.csv", "1,a,1", "2,a,1")
    _csv(folder / "2.csv", "2,b,5")  # of two rows with one key the later file's counts
    assert run.load("keyed", folder) == 3
    run.step()
    assert {row["id"]: row["name"] for row in run.read("keyed").to_pylist()} == {1: "a", 2: "b"}
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("n", pa.decimal128(6, 2))])
    pq.write_table(pa.Table.from_pylist([{"id": 9, "name": "p", "n": None}], schema), folder / "3.parquet")
    with pytest.raises(InputError, match="holds Parquet and other files"):
        run.load("keyed", folder)
    assert run.load("loose", folder) == 4
    run.step()
    assert sorted(run.read("loose")["id"].to_pylist()) == [1, 2, 2, 9]


def test_a_bad_file_is_named_with_its_row_and_nothing_is_taken(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    _csv(folder / "1.csv", "1,a,1")
    _csv(folder / "2.csv", "2,a,1", "3,a,1.005")
    with pytest.raises(InputError, match=r"table loose, row 1, column n: '1.005' .*2.csv, line 3") as caught:
        run.load("loose", folder)
    assert (caught.value.row, caught.value.column) == (1, "n")
    _csv(folder / "2.csv", ",a,1")
    with pytest.raises(InputError, match="row 0, column id: NULL in a key column"):
        run.load("keyed", folder)
    assert run.step().input_rows == 0


def test_keys_to_delete_may_be_read_from_a_file(run: Run, tmp_path: Path) -> None:
    run.load("keyed", _csv(tmp_path / "a.csv", "1,a,1", "2,b,2"))
    run.step()
    (tmp_path / "gone.csv").write_text("id\n1\n")
    run.delete("keyed", run.file_rows("keyed", tmp_path / "gone.csv"))
    run.step()
    assert run.read("keyed")["id"].to_pylist() == [2]
