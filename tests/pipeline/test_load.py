"""Parquet files into every kind of table: what fits is loaded, what does not is refused and harms nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.circuit.layout import Layout
from penstock.cli.main import app
from penstock.errors import InputError, PipelineError, StorageError
from penstock.pipeline.pipeline import Mode, Pipeline
from penstock.pipeline.recovery import diagnose
from penstock.pipeline.run import Run
from penstock.schedule import Worker
from penstock.schedule.message import FILE_LEVEL, InputFiles
from penstock.storage import MemoryBackend, open_backend
from penstock.zset import HashSeed

SCRIPT = """
CREATE TABLE keyed (id BIGINT PRIMARY KEY, name STRING NOT NULL, n INT);
CREATE TABLE keyless (id BIGINT, name STRING NOT NULL, n INT);
CREATE TABLE events (id BIGINT, name STRING NOT NULL, n INT) TBLPROPERTIES ('appendOnly' = 'true');
CREATE TABLE nested (st STRUCT<x: INT NOT NULL>, at TIMESTAMP);
CREATE MATERIALIZED VIEW by_name AS SELECT name, count(*) AS c, sum(n) AS s FROM keyed GROUP BY name;
CREATE MATERIALIZED VIEW loose AS SELECT name, count(*) AS c FROM keyless GROUP BY name;
CREATE MATERIALIZED VIEW told AS SELECT name, count(*) AS c FROM events GROUP BY name;
"""
TABLES = ("keyed", "keyless", "events")
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("n", pa.int32())])
ROWS = [(1, "a", 1), (2, "b", 2), (3, "a", 3), (4, "b", None), (5, "a", 5)]


def write(path: Path, rows: list[tuple[Any, ...]], schema: pa.Schema = SCHEMA) -> Path:
    """Two rows to a row group, so that two workers have something to share."""
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    pq.write_table(pa.Table.from_arrays(columns, schema=schema), path, row_group_size=2)
    return path


def rows_of(run: Run, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in run.read(name).to_pylist())


@pytest.fixture(scope="module", params=["resident", "staged"])
def mode(request: pytest.FixtureRequest) -> Mode:
    return request.param


@pytest.fixture(scope="module")
def planned(spark: SparkSession) -> Pipeline:
    pipe = Pipeline("loads", "memory://", spark=spark)
    pipe.sql(SCRIPT)
    return pipe


@pytest.fixture(scope="module")
def run(planned: Pipeline, mode: Mode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """One pipeline for all tests that leave it as they found it: with ROWS in every table."""
    folder = tmp_path_factory.mktemp(mode)
    with planned.clone(folder / "state", workers=2, mode=mode).run() as run:
        for table in TABLES:
            assert run.load(table, write(folder / f"{table}.parquet", ROWS)) == 5
        assert run.step().input_rows == 15
        yield run


def test_the_rows_of_a_file_are_in_the_table_and_in_the_views(run: Run) -> None:
    for table in TABLES:
        assert rows_of(run, table) == ROWS
    assert rows_of(run, "by_name") == [("a", 3, 9), ("b", 2, 2)]
    assert rows_of(run, "loose") == rows_of(run, "told") == [("a", 3), ("b", 2)]


def test_workers_meet_after_files_only_where_rows_have_an_owner(planned: Pipeline) -> None:
    program = planned.program()
    worker = Worker(program, 0, Layout.even(2), MemoryBackend(), HashSeed.random())
    routes = {table: InputFiles(program.circuit.tables[table]) for table in TABLES}
    met = {table for table in TABLES if FILE_LEVEL in worker.exchanging([routes[table]])}
    assert met == {"keyed", "keyless"}
    assert FILE_LEVEL in worker.exchanging(routes.values())
    assert 0 in worker.exchanging([routes["events"]])  # what was counted travels


def test_loaded_rows_are_replaced_and_deleted_like_pushed_ones(
    planned: Pipeline, mode: Mode, tmp_path: Path
) -> None:
    with planned.clone(tmp_path / "state", workers=2, mode=mode).run() as run:
        for table in TABLES:
            run.load(table, write(tmp_path / f"{table}.parquet", ROWS))
        run.step()
        # Of two rows with one key the last counts; columns have another order, one is too many.
        names = [("more", pa.bool_()), ("N", pa.int16()), ("name", pa.string()), ("id", pa.int8())]
        again = [(True, 7, "c", 1), (True, 8, "c", 2), (True, 9, "d", 1)]
        run.load("keyed", write(tmp_path / "again.parquet", again, pa.schema(names)))
        run.delete("keyless", [{"id": 3, "name": "a", "n": 3}])
        run.step()
        run.delete("keyed", [3])
        run.step()
        assert rows_of(run, "keyed") == [(1, "d", 9), (2, "c", 8), (4, "b", None), (5, "a", 5)]
        assert rows_of(run, "by_name") == [("a", 1, 5), ("b", 1, None), ("c", 1, 8), ("d", 1, 9)]
        assert rows_of(run, "loose") == [("a", 2), ("b", 2)]
        with pytest.raises(InputError, match="append-only"):
            run.delete("events", [{"id": 3, "name": "a", "n": 3}])
        run.load("events", write(tmp_path / "empty.parquet", []))
        assert run.step().input_rows == 0
        assert all(run.verify())


@pytest.mark.parametrize("table", TABLES)
def test_a_file_that_is_not_like_the_table_is_refused_at_once(run: Run, table: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and no more")
    narrow = write(tmp_path / "narrow.parquet", [(1, 2)], pa.schema([("id", pa.int64()), ("n", pa.int32())]))
    text = write(tmp_path / "text.parquet", [("1", "a", 1)], SCHEMA.set(0, pa.field("id", pa.string())))
    names = pa.schema([("id", pa.int64()), ("name", pa.string()), ("Name", pa.string()), ("N", pa.int32())])
    exact = write(tmp_path / "exact.parquet", [(1, "a", "b", 1)], names)
    twice = write(tmp_path / "twice.parquet", [(1, "a", "b", 1)], names.set(1, pa.field("NAME", pa.string())))
    for path, column, reason in [
        (tmp_path / "absent.parquet", None, "there is no file or folder"),
        (broken, None, "cannot be read as Parquet"),
        (narrow, "name", "no such column; it has: id, n"),
        (text, "id", "the data is string"),
        (twice, "name", "more than one such column"),
    ]:
        with pytest.raises(InputError, match=reason) as caught:
            run.load(table, path)
        assert (caught.value.table, caught.value.column) == (table, column)
        assert str(path) in str(caught.value)
    assert run.step().input_rows == 0  # nothing of it waits
    assert run.load(table, exact) == 1
    assert run.discard() == 1


NULL_KEY = [*ROWS[:2], (None, "x", 1)]
NULL_NAME = [*ROWS[:3], (9, None, 1)]
TOO_LARGE = [*ROWS[:4], (9, "x", 2**40)]
WIDE = SCHEMA.set(2, pa.field("n", pa.int64()))


@pytest.mark.parametrize(
    ("table", "rows", "schema", "row", "column", "reason"),
    [
        ("keyed", NULL_KEY, SCHEMA, 2, "id", "NULL in a key column"),
        ("keyed", NULL_NAME, SCHEMA, 3, "name", "NULL in a NOT NULL column"),
        ("keyless", NULL_NAME, SCHEMA, 3, "name", "NULL in a NOT NULL column"),
        ("events", NULL_NAME, SCHEMA, 3, "name", "NULL in a NOT NULL column"),
        ("keyed", TOO_LARGE, WIDE, 4, "n", "1099511627776 does not fit INT"),
        ("events", TOO_LARGE, WIDE, 4, "n", "1099511627776 does not fit INT"),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_nothing_is_harmed(
    run: Run,
    tmp_path: Path,
    table: str,
    rows: list[tuple[Any, ...]],
    schema: pa.Schema,
    row: int,
    column: str,
    reason: str,
) -> None:
    path = write(tmp_path / "bad.parquet", rows, schema)
    before = run.status().step
    run.load(table, path)
    run.insert("nested", [{"st": None, "at": None}])  # goes with the step
    with pytest.raises(InputError, match=reason) as caught:
        run.step()
    assert (caught.value.table, caught.value.row, caught.value.column) == (table, row, column)
    assert str(path) in str(caught.value)
    assert run.status().step == before
    assert run.step().step == before + 1
    for name in TABLES:
        assert rows_of(run, name) == ROWS
    assert rows_of(run, "nested") == []


def test_values_inside_others_are_checked_too(run: Run, tmp_path: Path) -> None:
    inner = pa.struct([("x", pa.int32())])
    schema = pa.schema([("st", inner), ("at", pa.timestamp("us", "UTC"))])
    path = write(tmp_path / "nested.parquet", [({"x": 1}, None), (None, None), ({"x": None}, None)], schema)
    run.load("nested", path)
    with pytest.raises(InputError, match=r"row 2, column st\.x: NULL in a NOT NULL field \(in "):
        run.step()


def test_instants_that_spark_wrote_as_int96_stay_those_instants(
    spark: SparkSession, run: Run, tmp_path: Path
) -> None:
    assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    query = "SELECT named_struct('x', 1) AS st, timestamp'2024-07-01 12:00:00+02:00' AS at"
    spark.sql(query).coalesce(1).write.parquet(str(tmp_path / "spark"))
    [path] = (tmp_path / "spark").glob("*.parquet")
    run.load("nested", path)
    run.step()
    [row] = run.read("nested").to_pylist()
    assert row["at"] == dt.datetime(2024, 7, 1, 10, tzinfo=dt.UTC)


def test_a_keyed_table_takes_a_file_or_pushed_rows_in_a_step(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "one.parquet", ROWS)
    run.load("keyed", path)
    with pytest.raises(InputError, match="a file and pushed rows"):
        run.upsert("keyed", [{"id": 1, "name": "a", "n": 1}])
    assert run.discard() == 5


def loaded_and_killed(pipe: Pipeline, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that has read a file and is in no version."""
    pipe._commit_interval_s = 1e9
    run = pipe.run()
    for table in TABLES:
        run.load(table, path)

    def full(body: object) -> None:
        raise StorageError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(run._coordinator.store, "publish", full)
        assert run.step().step == 1
        run.kill()


def test_a_load_that_no_version_holds_is_read_again_after_a_crash(
    planned: Pipeline, mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = planned.clone(tmp_path / "state", workers=2, mode=mode)
    path = write(tmp_path / "input.parquet", ROWS)
    loaded_and_killed(pipe, path, monkeypatch)
    path.rename(tmp_path / "moved.parquet")
    with pytest.raises(PipelineError, match=r"step 1 .* cannot be run again.*input\.parquet cannot be read"):
        pipe.run()
    write(path, ROWS[:2])
    with pytest.raises(PipelineError, match=r"input\.parquet was changed after .*penstock recover"):
        pipe.run()
    write(path, ROWS)  # the same content, at another time
    again = Pipeline("loads", tmp_path / "state", workers=3, mode=mode, spark=planned.spark)
    with again.run() as resumed:
        assert resumed.status().step == 1
        for table in TABLES:
            assert rows_of(resumed, table) == ROWS
        assert rows_of(resumed, "by_name") == [("a", 3, 9), ("b", 2, 2)]
        assert resumed.changes("told").num_rows == 2


def test_a_step_can_be_run_again_without_a_file_that_is_gone(
    planned: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = planned.clone(tmp_path / "state", workers=2)
    path = write(tmp_path / "input.parquet", ROWS)
    loaded_and_killed(pipe, path, monkeypatch)
    path.unlink()
    backend = open_backend(str(tmp_path / "state"))
    assert [file.rows for file in diagnose(backend).missing] == [len(ROWS)] * len(TABLES)
    result = CliRunner().invoke(app, ["recover", str(tmp_path / "state"), "--skip-input", str(path), "--yes"])
    assert result.exit_code == 0, result.output
    assert not diagnose(backend).missing
    with pipe.run() as resumed:
        assert resumed.status().step == 1
        assert all(rows_of(resumed, table) == [] for table in TABLES)
        resumed.commit()
        resumed.commit()
    assert not backend.list("skipped/")
