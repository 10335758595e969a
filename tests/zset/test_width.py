"""Columns that outgrow 32-bit offsets: with a limit of a few bytes, and once at the real one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.trace import Batch, merge_batches
from penstock.zset import ZSet, concat, contiguous, fitted, gather, list_column, numbers, piecewise, width
from penstock.zset.width import chunked, is_wide, narrow_pieces, narrow_type, wide_type

TEXTS = pa.array(["alpha", None, "", "a longer text than the others", "omega"])
NESTED = pa.array(
    [{"a": "x" * 20, "b": [["p"], None]}, None, {"a": None, "b": []}, {"a": "y" * 20, "b": [["q", None]]}],
    pa.struct([("a", pa.string()), ("b", pa.list_(pa.list_(pa.string())))]),
)
MAPS = pa.array([[("k" * 20, b"v" * 20)], None, []], pa.map_(pa.string(), pa.binary()))
COLUMNS = [TEXTS, TEXTS.cast(pa.binary()), NESTED, MAPS]


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(width, "MOST_BYTES", 64)


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_a_type_is_widened_at_every_depth_and_back(column: pa.Array) -> None:
    wide = wide_type(column.type)
    assert wide != column.type and narrow_type(wide) == column.type
    assert narrow_type(column.type) == column.type and wide_type(wide) == wide
    assert column.cast(wide).to_pylist() == column.to_pylist()


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.type))
def test_what_is_put_together_is_wide_only_while_it_is_large(column: pa.Array, few_bytes: None) -> None:
    whole = concat([column, column, column])
    assert is_wide(whole) and whole.to_pylist() == column.to_pylist() * 3
    again = concat([whole, column])
    assert is_wide(again) and again.to_pylist() == column.to_pylist() * 4
    rows = gather(whole, numbers(np.array([1])))
    assert rows.type == column.type and rows.to_pylist() == [None]
    assert fitted(whole.slice(1, 1)).type == column.type


def test_the_same_row_again_and_again_makes_a_column_wide(few_bytes: None) -> None:
    taken = gather(pa.array(["some ten bytes"]), numbers(np.zeros(20, np.int64)))
    assert is_wide(taken) and taken.to_pylist() == ["some ten bytes"] * 20


def test_pieces_are_narrow_and_never_cut_a_row(few_bytes: None) -> None:
    whole = concat([TEXTS, TEXTS, TEXTS])
    pieces = list(narrow_pieces([whole, pa.array(range(15))], 15))
    assert len(pieces) > 2 and {str(text.type) for _, _, (text, _) in pieces} == {"string"}
    found = [(t, n) for _, _, (text, number) in pieces for t, n in zip(text, number, strict=True)]
    assert [t.as_py() for t, _ in found] == TEXTS.to_pylist() * 3
    assert [n.as_py() for _, n in found] == list(range(15))
    lengths = piecewise(lambda piece: pa.array([len(t.as_py() or "") for t in piece]), whole)
    assert lengths.to_pylist() == [len(text or "") for text in TEXTS.to_pylist()] * 3


def test_readers_get_narrow_chunks(few_bytes: None) -> None:
    table = pa.table({"t": chunked(concat([TEXTS, TEXTS, TEXTS]))})
    assert table.schema.field("t").type == pa.string() and table["t"].num_chunks > 1
    assert is_wide(contiguous(table["t"])) and contiguous(table["t"]).to_pylist() == TEXTS.to_pylist() * 3
    lists = list_column(np.array([0, 0, 7, 15]), contiguous(table["t"]), pa.list_(pa.string()))
    assert is_wide(lists) and [len(row) for row in lists.to_pylist()] == [0, 7, 8]


def test_a_zset_holds_wide_columns_and_hands_out_narrow_batches(few_bytes: None) -> None:
    schema = pa.schema([("t", pa.string())])
    part = ZSet(schema, (TEXTS,), np.arange(5))
    whole = ZSet.concat(schema, [part, part, part])
    assert is_wide(whole.columns[0])
    batches = whole.to_batches()
    assert len(batches) > 1 and {batch.schema.field("t").type for batch in batches} == {pa.string()}
    assert pa.Table.from_batches(batches)["_weight"].to_pylist() == list(range(5)) * 3
    assert whole.filter(np.arange(15) == 3).columns[0].type == pa.string()
    with pytest.raises(TypeError, match="column t is large_binary"):
        ZSet(schema, (whole.columns[0].cast(pa.large_binary()),), whole.weights)


def test_a_batch_that_was_cut_out_of_a_wide_one_arrives_narrow(few_bytes: None) -> None:
    words = np.arange(15, dtype=np.uint64) * 7
    whole = Batch(words, words, None, np.ones(15, np.int64), (concat([TEXTS, TEXTS, TEXTS]),))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.to_arrow().schema) as stream:
        stream.write_batch(whole.slice(5, 7).to_arrow())
    arrived = Batch.from_arrow(pa.ipc.open_stream(sink.getvalue()).read_next_batch())
    assert arrived.values[0].type == pa.string() and arrived.values[0].to_pylist() == ["alpha", None]


def test_more_elements_than_32_bits_can_number_merge() -> None:
    """At the real limit in a few bytes: elements that are all NULL take none, but offsets number them."""

    def batch(start: int) -> Batch:
        many = pa.ListArray.from_arrays(pa.array([0, 1, 1_500_000_000], pa.int32()), pa.nulls(1_500_000_000))
        words = np.arange(start, start + 2, dtype=np.uint64)
        return Batch(words, words, None, np.ones(2, np.int64), (many,))

    with pytest.raises(pa.ArrowInvalid, match="overflow"):
        pa.concat_arrays([batch(0).values[0], batch(2).values[0]])
    merged: Any = merge_batches([batch(0), batch(2)]).values[0]
    assert merged.type == pa.large_list(pa.null())
    assert merged.offsets.to_pylist() == [0, 1, 1_500_000_000, 1_500_000_001, 3_000_000_000]
