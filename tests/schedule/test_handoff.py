"""Handoffs: whatever was given since the last drain comes out as one flow, once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.operators import Arrange
from penstock.schedule.handoff import Handoff
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Change, delta, meaning

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
ROW = st.tuples(st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(0, 2)))
CHANGE = st.lists(st.tuples(ROW, st.sampled_from([1, 2, -1])), max_size=5)


@given(parts=st.lists(CHANGE, max_size=4))
@settings(deadline=None, max_examples=50)
def test_parts_of_several_workers_come_out_as_their_sum(parts: list[Change]) -> None:
    handoff = Handoff(SCHEMA)
    for part in parts:
        handoff.give(delta(SCHEMA, part, (0,)))
    assert handoff.waiting == bool(parts)
    drained = handoff.drain()
    assert isinstance(drained, Delta) and drained.keys is not None
    assert len(drained.keys) == len(drained)
    assert meaning(drained) == ReferenceZSet.of_rows(entry for part in parts for entry in part)
    assert not handoff.waiting and len(handoff.drain()) == 0


def test_totals_beside_the_rows_stay_with_their_rows() -> None:
    handoff = Handoff(SCHEMA)
    for key, total in (("a", 3), ("b", 4)):
        part = delta(SCHEMA, [((key, 0), 1)], (0,))
        handoff.give(Delta(part.zset, part.keys, {"x": np.array([total], np.int64)}))
    drained = handoff.drain()
    assert isinstance(drained, Delta)
    assert dict(zip(drained.zset.columns[0].to_pylist(), drained.sums["x"].tolist(), strict=True)) == {
        "a": 3,
        "b": 4,
    }


def test_an_arrangement_passes_with_the_batches_of_its_past() -> None:
    arrange, handoff = Alone(Arrange(SCHEMA)), Handoff(SCHEMA)
    arrange.step(delta(SCHEMA, [(("a", 1), 1)], (0,)))
    flow = arrange.step(delta(SCHEMA, [(("b", 2), 1)], (0,)))
    assert isinstance(flow, Arranged)
    handoff.give(flow)
    assert handoff.waiting
    assert handoff.drain() is flow
    assert not handoff.waiting


def test_what_an_aborted_step_left_is_forgotten() -> None:
    handoff = Handoff(SCHEMA)
    handoff.give(delta(SCHEMA, [(("a", 1), 1)], (0,)))
    handoff.clear()
    assert not handoff.waiting and len(handoff.drain()) == 0
    flow = Alone(Arrange(SCHEMA)).step(delta(SCHEMA, [(("b", 2), 1)], (0,)))
    handoff.give(flow)
    handoff.clear()
    assert isinstance(handoff.drain(), Delta)
