"""The end of a view that is only followed: its changes are told, and nothing is kept."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import delta_of
from penstock.circuit.operators import PassingView
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Change, delta, meaning
from tests.circuit.operators.plain import ROW, SCHEMA


@given(steps=st.lists(st.lists(st.tuples(ROW, st.sampled_from([1, 2, -1])), max_size=8), max_size=5))
@settings(deadline=None, max_examples=50)
def test_changes_are_told_net_and_no_row_is_kept(steps: list[Change]) -> None:
    alone = Alone(PassingView(SCHEMA, "v"))
    for change in steps:
        out = alone.step(delta(SCHEMA, change))
        assert meaning(out) == ReferenceZSet.of_rows(change)
        if any(weight < 0 for _, weight in change):
            assert len(out) == len(meaning(out))  # what cancels out is not told
    assert not alone.spines


def test_rows_that_are_only_added_are_handed_on_as_they_come() -> None:
    out = Alone(PassingView(SCHEMA, "v")).step(delta(SCHEMA, [(("a", 1), 1), (("a", 1), 1)]))
    assert delta_of(out).zset.weights.tolist() == [1, 1]


def test_a_row_that_only_changes_its_spelling_is_no_change() -> None:
    schema = pa.schema([("x", pa.float64())])
    alone = Alone(PassingView(schema, "v"))
    assert len(alone.step(delta(schema, [((0.0,), -1), ((-0.0,), 1)]))) == 0
    nan = float("nan")
    assert len(alone.step(delta(schema, [((nan,), -1), ((-nan,), 1)]))) == 0


def test_it_has_an_arrangement_though_it_stays_empty() -> None:
    """Its name among the stored ones says that the view was filled before, and must not be told again."""
    assert PassingView(SCHEMA, "v").slots == 1
