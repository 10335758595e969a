"""State, changes and input that are too large for 32-bit offsets, end to end, with a limit of 48 bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

import penstock.trace.form as form
from penstock.circuit.operation import Operation
from penstock.expr.evaluate import Evaluator
from penstock.expr.nodes import Call, Column, Literal
from penstock.pipeline.compare import difference
from penstock.pipeline.contents import as_change_feed, consolidated, expanded, net_changes, sorted_by
from penstock.schedule.files import FileInput, Wanted
from penstock.schedule.state import open_segment
from penstock.sql.plan import SortKey
from penstock.storage import MemoryBackend
from penstock.zset import ZSet, width
from penstock.zset.width import is_wide
from tests.pipeline.story import STEPS, changes, check, coordinator, live
from tests.pipeline.test_compact import CompactResident
from tests.schedule.driving import check as check_views
from tests.schedule.driving import opened, run
from tests.schedule.inline import SEED, Resident, Staged
from tests.schedule.shop import Shop


@pytest.fixture(autouse=True)
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(width, "MOST_BYTES", 48)


@pytest.mark.parametrize("kind", [Resident, Staged])
@pytest.mark.parametrize("workers", [1, 3])
def test_every_view_is_right_after_every_step(kind: type[Resident], workers: int) -> None:
    shop, rng = Shop(), np.random.default_rng(workers)
    crew = opened(kind, workers)
    for step in range(1, 5):
        run(crew, step, shop.random(rng, 30))
        check_views(crew, shop)


@pytest.mark.parametrize("kind", [Resident, Staged, CompactResident])
def test_wide_state_is_written_and_resumed_by_any_number_of_workers(
    kind: type[Resident], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(form, "COMPACT_ROWS", 1)
    backend = MemoryBackend()
    for until, workers in enumerate([1, 3, 2], start=1):
        driver = coordinator(backend, kind, workers=workers)
        driver.open()
        check(driver, until - 1)
        live(driver, until)
        check(driver, until)
        driver.close()
    driver = coordinator(backend, kind, workers=1)
    driver.open()
    check(driver, STEPS)
    assert {batch.schema.field(0).type for batch in changes(driver, "by_k").to_batches()} == {pa.string()}
    driver.close()
    blocks = [
        open_segment(backend, name).read(number)
        for name in backend.list("segments/")
        for number in range(len(open_segment(backend, name).entries))
    ]
    stored = {kind for block in blocks for kind in block.schema.types}
    assert kind is CompactResident or pa.large_string() in stored


def _parts() -> pa.Table:
    schema = pa.schema([("t", pa.string()), ("_weight", pa.int64())])
    texts = ["short", "a text of some length", None]
    part = pa.RecordBatch.from_arrays([pa.array(texts), pa.array([1, 2, 1])], schema=schema)
    return pa.Table.from_batches([part] * 4)


def test_what_is_read_comes_in_narrow_chunks_in_order() -> None:
    zset = consolidated(_parts(), SEED)
    assert zset.weights.tolist() == [4, 8, 4]
    table = expanded(zset, ["t"])
    assert table.schema.field("t").type == pa.string() and table["t"].num_chunks > 1
    length = Call(LongType(), True, "Length", (Column(StringType(), True, 0, "t"),))
    ordered = sorted_by(table, [SortKey(length, ascending=False, nulls_first=False)])
    assert ordered["t"].to_pylist() == ["a text of some length"] * 8 + ["short"] * 4 + [None] * 4
    assert difference(table, ordered) is None
    other = pa.table({"t": pa.chunked_array([["another text of some length", *table["t"].to_pylist()[1:]]])})
    mismatch = difference(table, other)
    assert mismatch is not None and "another text" in mismatch.missing[0]


def test_changes_come_step_by_step_whatever_their_size() -> None:
    recent = _parts().append_column("_step", pa.array([2] * 6 + [1] * 6))
    net = net_changes(recent, SEED)
    assert net["_step"].to_pylist() == [1, 1, 1, 2, 2, 2]
    assert net["_weight"].to_pylist() == [2, 2, 4, 2, 2, 4]
    feed = as_change_feed(net, {1: 10, 2: 20})
    assert feed.num_rows == 16 and feed.schema.field("t").type == pa.string()
    assert feed["t"].to_pylist().count("a text of some length") == 8


def test_a_file_larger_than_one_array_is_read_whole(tmp_path: Path) -> None:
    texts = [f"row {number} with a text" for number in range(40)]
    pq.write_table(pa.table({"id": range(40), "t": texts}), tmp_path / "rows.parquet", row_group_size=7)
    columns = StructType([StructField("id", LongType(), False), StructField("t", StringType())])
    wanted = Wanted("rows", columns, ("id",), "UTC")
    share = FileInput.of(tmp_path / "rows.parquet", wanted, Operation.UPSERT).share(0, 1)
    schema = pa.schema([("id", pa.int64()), ("t", pa.string())])
    delta, _ = share.read("rows", schema, (0,), SEED, {0, 1})
    assert is_wide(delta.zset.columns[1]) and delta.zset.columns[1].to_pylist() == texts
    again = type(delta).decode(schema, delta.encode())
    assert again.zset.columns[1].to_pylist() == texts


def test_expressions_see_columns_piece_by_piece_and_pass_the_others_on() -> None:
    schema = pa.schema([("t", pa.string())])
    part = ZSet(schema, (pa.array(["one text", None, "another"]),), np.ones(3, np.int64))
    zset = ZSet.concat(schema, [part] * 10)
    column = Column(StringType(), True, 0, "t")
    upper = Call(StringType(), True, "Upper", (column,))
    literal = Literal(LongType(), False, 7)
    passed, changed, constant = Evaluator(column, upper, literal)(zset.columns, len(zset))
    assert passed is zset.columns[0] and is_wide(passed)
    assert changed.to_pylist() == ["ONE TEXT", None, "ANOTHER"] * 10
    assert constant.to_pylist() == [7] * 30
