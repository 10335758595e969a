"""The end of a view whose rows never go: they are kept as they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import delta_of
from penstock.circuit.operators import AppendView, View
from penstock.trace import Spine
from penstock.zset import ReferenceZSet, ZSet
from tests.circuit.alone import Alone, Change, delta, meaning
from tests.circuit.operators.plain import ROW, SCHEMA


@given(steps=st.lists(st.lists(st.tuples(ROW, st.integers(1, 3)), max_size=6), max_size=6))
@settings(deadline=None, max_examples=25)
def test_every_row_is_told_and_kept_with_its_weight(steps: list[Change]) -> None:
    alone = Alone(AppendView(SCHEMA, "v"))
    for change in steps:
        out = alone.step(delta(SCHEMA, change))
        assert meaning(out) == ReferenceZSet.of_rows(change)
    everything = [entry for change in steps for entry in change]
    kept = [ZSet(SCHEMA, batch.values, batch.weights) for batch in alone.spines[0].batches]
    assert ReferenceZSet.of(ZSet.concat(SCHEMA, kept)) == ReferenceZSet.of_rows(everything)
    assert sum(map(len, kept)) == len(everything)  # equal rows stand apart


def test_many_small_steps_are_kept_in_few_batches() -> None:
    view = AppendView(SCHEMA, "v")
    alone = Alone(view)
    for n in range(300):
        alone.spines[0] = alone.spines.get(0) or Spine(view.fan)
        alone.step(delta(SCHEMA, [(("a", n), 1)]))
    assert len(alone.spines[0]) == 300
    assert len(alone.spines[0].batches) <= 2 * view.fan


def test_the_words_of_its_rows_are_stored_because_they_follow_from_nothing() -> None:
    assert AppendView(SCHEMA, "v").words is None
    assert View(SCHEMA, "v").words is not None


def test_zero_and_nan_have_one_spelling() -> None:
    schema = pa.schema([("x", pa.float64())])
    out = Alone(AppendView(schema, "v")).step(delta(schema, [((-0.0,), 1), ((-float("nan"),), 1)]))
    assert not np.signbit(np.asarray(delta_of(out).zset.columns[0])).any()
