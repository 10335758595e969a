"""TPC-H in small: all 22 views equal batch Spark through refreshes, and the refreshes are what they claim."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from bench.check import Subject, check
from bench.tpch.data import queries, small, tables
from bench.tpch.refresh import Refresh, first_load
from penstock.oracle import Config, Model, Step

STEPS = 3
SHARE = 0.04  # of 300 orders: 12 new and 12 deleted in a step


def _stream(seed: int, steps: int = STEPS) -> list[Step]:
    contents = small(seed)
    refresh = Refresh(tables(), contents, seed=seed, share=SHARE)
    return [first_load(contents), *(refresh.step() for _ in range(steps))]


def test_all_22_views_equal_batch_spark_after_every_refresh(spark: SparkSession) -> None:
    subject = Subject("tpch", "TPC-H, small", tables(), queries(0.005), _stream(1))
    result = check(spark, subject, [Config(2)])
    assert result.met, result.table()
    assert len(result.rows) == 22
    still = [row["view"] for row in result.rows if not row["changed in steps"]]
    empty = [row["view"] for row in result.rows if row["view"] in still and not row["rows"]]
    assert not empty and len(still) < 6, result.table()  # a view that is empty or never changes proves little


@pytest.mark.usefixtures("spark")  # Spark reads the schemas
class TestRefreshes:
    def test_the_same_seed_gives_the_same_stream_and_another_does_not(self) -> None:
        assert _stream(3) == _stream(3)
        assert _stream(3) != _stream(4)

    def test_every_step_adds_deletes_replaces_and_updates(self) -> None:
        for step in _stream(1)[1:]:
            kinds = Counter((change.table, change.operation) for change in step)
            for operation in ("insert", "upsert", "delete"):
                assert kinds["orders", operation] == kinds["lineitem", operation] == 1
            assert all(kinds[table, "upsert"] for table in ("customer", "part", "partsupp", "supplier"))
            assert all(change.rows.num_rows for change in step)

    def test_what_is_deleted_was_there_and_what_is_inserted_is_new(self) -> None:
        model = Model(tables())
        for step in _stream(2, steps=6):
            before = {name: model.size(name) for name in ("orders", "lineitem", "customer", "partsupp")}
            assert model.apply(step) == step  # the model leaves out what a pipeline would refuse
            for name, size in before.items():
                rows = Counter()
                for change in step:
                    rows[change.operation] += change.rows.num_rows * (change.table == name)
                assert model.size(name) == size + rows["insert"] - rows["delete"]

    def test_every_order_has_lines_and_every_line_an_order(self) -> None:
        model = Model(tables())
        for step in _stream(2, steps=4):
            model.apply(step)
            orders = set(model.contents("orders")["o_orderkey"].to_pylist())
            assert orders == set(model.contents("lineitem")["l_orderkey"].to_pylist())

    def test_deleted_orders_come_back_under_their_key(self) -> None:
        _, first, second, *_ = _stream(1)
        assert _keys(first, "delete") & _keys(second, "insert")


def _keys(step: Step, operation: str) -> set[int]:
    [rows] = [c.rows for c in step if c.table == "orders" and c.operation == operation]
    return set(rows.column("o_orderkey").to_pylist())


def test_the_fraction_of_query_11_follows_the_scale() -> None:
    [asked] = [query for query in queries(0.01) if query.name == "q11"]
    assert "* 0.01\n" in asked.sql and ":fraction" not in asked.sql


@pytest.mark.usefixtures("spark")
def test_prices_are_whole_cents_and_totals_follow_from_the_lines() -> None:
    contents = small(1)
    lines = pa.Table.from_batches([contents["lineitem"]]).to_pylist()
    charged: Counter[int] = Counter()
    for line in lines:
        whole = line["l_extendedprice"] * (1 - line["l_discount"]) * (1 + line["l_tax"])
        charged[line["l_orderkey"]] += int(whole * 100)
    for order in contents["orders"].to_pylist():
        assert int(order["o_totalprice"] * 100) == charged[order["o_orderkey"]]
