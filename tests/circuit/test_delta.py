"""What flows along edges: encoded, sent, and put together again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Delta, concat_deltas, pushed_delta
from penstock.circuit.layout import Layout
from penstock.circuit.operation import Operation
from penstock.zset import ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, delta
from tests.circuit.operators.plain import ROW, SCHEMA


@given(parts=st.lists(st.lists(st.tuples(ROW, st.integers(-2, 2)), max_size=5), max_size=3))
@settings(deadline=None, max_examples=25)
def test_a_delta_survives_the_wire_and_concatenation(parts: list[list[Any]]) -> None:
    deltas = [delta(SCHEMA, change, (0,)) for change in parts]
    whole = concat_deltas(SCHEMA, [Delta.decode(SCHEMA, part.encode()) for part in deltas])
    assert ReferenceZSet.of(whole.zset) == ReferenceZSet.of_rows(entry for part in parts for entry in part)
    assert whole.keys is not None
    again = hash_columns([whole.zset.columns[0]], len(whole), SEED)
    assert whole.keys.hi.tolist() == again.hi.tolist()


def test_sums_that_only_some_workers_send_count_as_zero_for_the_others() -> None:
    one, other = delta(SCHEMA, [(("a", 1), 1)], (0,)), delta(SCHEMA, [(("b", 1), 1)], (0,))
    one = Delta(one.zset, one.keys, {"x": np.array([7], np.int64)})
    whole = concat_deltas(SCHEMA, [one, other])
    assert whole.sums["x"].tolist() == [7, 0]


@pytest.mark.parametrize("operation", Operation)
def test_what_to_do_with_pushed_rows_is_told_beside_the_weights_and_not_in_them(operation: Operation) -> None:
    columns = (pa.array(["a", None, "a"]), pa.array([1, 2, 1]))
    keys = hash_columns(columns[1:], 3, SEED)
    keyed = pushed_delta(SCHEMA, columns, 3, keys, operation, keyed=True)
    assert keyed.zset.weights.tolist() == [1, 1, 1]
    assert keyed.operations is not None
    assert [Operation(code) for code in keyed.operations.tolist()] == [operation] * 3
    plain = pushed_delta(SCHEMA, columns, 3, keys, operation, keyed=False)
    assert plain.operations is None
    assert plain.zset.weights.tolist() == [-1 if operation is Operation.DELETE else 1] * 3


def test_operations_stay_with_their_rows_on_the_wire_in_parts_and_together() -> None:
    parts = []
    for key, operation in enumerate(Operation):
        columns = (pa.array(["a"]), pa.array([key]))
        part = pushed_delta(SCHEMA, columns, 1, hash_columns(columns[1:], 1, SEED), operation, keyed=True)
        parts.append(Delta.decode(SCHEMA, part.encode()))
    whole = concat_deltas(SCHEMA, parts)
    assert whole.operations is not None
    told = dict(
        zip(whole.zset.columns[1].to_pylist(), map(Operation, whole.operations.tolist()), strict=True)
    )
    assert told == dict(enumerate(Operation))
    dealt = {n: part for _, part in Layout.even(3).split(whole) for n in part.zset.columns[1].to_pylist()}
    for key, operation in enumerate(Operation):
        part = dealt[key]
        place = part.zset.columns[1].to_pylist().index(key)
        assert part.operations is not None and part.operations[place] == operation
