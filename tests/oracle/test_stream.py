"""Rows and streams: deterministic, valid, and rich enough to find anything."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.oracle import (
    Change,
    Model,
    Profile,
    difference,
    make_stream,
    random_rows,
    read_tables,
    steps_from,
    table,
)
from penstock.oracle.model import Step
from penstock.pipeline.ingest import to_batch
from penstock.pipeline.tables import TableSchema


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> list[TableSchema]:
    return read_tables((Path(__file__).parent / "tables.sql").read_text())


def shape(steps: list[Step]) -> list[Any]:
    return [[(c.table, c.operation, c.rows.to_pylist()) for c in step] for step in steps]


def test_the_same_seed_gives_the_same_stream(tables: list[TableSchema]) -> None:
    first, second, other = (make_stream(tables, 6, seed) for seed in (3, 3, 4))
    assert str(shape(first)) == str(shape(second))
    assert str(shape(first)) != str(shape(other))


def test_generated_rows_of_every_type_are_what_the_table_takes(tables: list[TableSchema]) -> None:
    rng = np.random.default_rng(0)
    for schema in tables:
        batch = random_rows(schema, rng, 300, Profile())
        taken = to_batch(schema, batch)
        assert taken.schema == schema.arrow_schema
        assert difference(pa.Table.from_batches([taken]), pa.Table.from_batches([batch])) is None


def test_a_column_of_named_values_holds_these_and_null_whatever_its_type(spark: SparkSession) -> None:
    columns = "k INT COMMENT 'of: 7|8', d DATE COMMENT 'of: 2024-02-29', "
    columns += "p DECIMAL(5,2) NOT NULL COMMENT 'of: -1.50|2'"
    rows = random_rows(table("t", columns), np.random.default_rng(0), 200, Profile()).to_pydict()
    assert set(rows["k"]) == {7, 8, None}
    assert set(rows["d"]) == {dt.date(2024, 2, 29), None}
    assert set(rows["p"]) == {Decimal("-1.50"), Decimal(2)}


def test_edge_values_come_up_and_tame_columns_have_none_that_overflow(tables: list[TableSchema]) -> None:
    rows = {t.name: random_rows(t, np.random.default_rng(0), 2000, Profile()).to_pydict() for t in tables}
    doubles = [x for x in rows["typed"]["f64"] if x is not None]
    assert any(map(math.isnan, doubles)) and math.inf in doubles and 1.7976931348623157e308 in doubles
    assert any(x == 0 and math.copysign(1, x) < 0 for x in doubles)
    assert {2**63 - 1, -(2**63), None} <= set(rows["typed"]["i64"])
    assert {"", "日本語"} <= set(rows["typed"]["s"])
    assert max(x for x in rows["tame"]["i64"] if x is not None) == 100
    assert all(math.isfinite(x) for x in rows["lines"]["price"] if x is not None)
    assert set(rows["orders"]["status"]) == {None, "new", "paid", "sent", "back"}
    assert None not in rows["lines"]["qty"] and None not in rows["lines"]["line"]


def test_a_stream_has_every_kind_of_change_and_step(tables: list[TableSchema]) -> None:
    steps = make_stream(tables, 20, 1)
    assert {c.operation for step in steps for c in step} == {"insert", "upsert", "delete"}
    assert () in steps
    assert max(len(c.rows) for step in steps for c in step) > 100
    model, empty_later = Model(tables), False
    for step in steps:
        assert model.apply(step) == step, "a made stream needs no repair"
        empty_later = empty_later or any(model.size(t.name) == 0 for t in tables)
    assert empty_later


def test_the_model_follows_keys_and_counts_rows(spark: SparkSession) -> None:
    keyed, bag = table("k", "id INT, v STRING", key=["id"]), table("b", "v DOUBLE")
    model = Model([keyed, bag])
    for step in steps_from(
        [keyed, bag],
        [
            [("k", "upsert", [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}, {"id": 2, "v": "c"}])],
            [("k", "delete", [{"id": 2}, {"id": 9}]), ("k", "insert", [{"id": 2, "v": "d"}])],
            [("b", "insert", [{"v": float("nan")}, {"v": float("nan")}, {"v": 0.0}])],
            [("b", "delete", [{"v": float("nan")}, {"v": -0.0}])],
        ],
    ):
        assert model.apply(step) == step
    assert model.contents("k").to_pylist() == [{"id": 1, "v": "b"}, {"id": 2, "v": "d"}]
    assert str(model.contents("b").to_pylist()) == "[{'v': nan}]"


def test_applying_a_step_leaves_out_what_a_pipeline_would_refuse(spark: SparkSession) -> None:
    keyed, bag = table("k", "id INT", key=["id"]), table("b", "v INT")
    model = Model([keyed, bag])
    rows = pa.RecordBatch.from_pydict({"v": pa.array([1, 2, 1], pa.int32())})
    ids = pa.RecordBatch.from_pydict({"id": pa.array([1, 1, 2], pa.int32())})
    model.apply((Change("b", "insert", rows.slice(0, 1)), Change("k", "insert", ids.slice(0, 1))))
    repaired = model.apply((Change("b", "delete", rows), Change("k", "insert", ids)))
    assert [c.rows.to_pylist() for c in repaired] == [[{"v": 1}], [{"id": 2}]]
