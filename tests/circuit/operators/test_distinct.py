"""Distinct: a row appears when its weight becomes positive and goes when it stops being so."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.operators import Distinct
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Rows, check_follows, colliding, delta, histories, meaning

SCHEMA = pa.schema([("a", pa.int64()), ("x", pa.float64())])
row = st.tuples(
    st.one_of(st.none(), st.integers(0, 3)), st.sampled_from([0.0, -0.0, float("nan"), None, 1.5])
)


@pytest.mark.parametrize("collide", [False, True], ids=["", "colliding"])
@given(history=histories(row))
@settings(deadline=None, max_examples=24)
def test_each_row_once(history: list[Rows], collide: bool) -> None:
    check_follows(
        Distinct(SCHEMA),
        history,
        ReferenceZSet.distinct,
        lambda change: [
            colliding(delta(SCHEMA, change, (0, 1))) if collide else delta(SCHEMA, change, (0, 1))
        ],
    )


def test_nothing_is_said_about_rows_that_stay() -> None:
    alone = Alone(Distinct(SCHEMA))
    alone.step(delta(SCHEMA, [((1, 1.5), 3)], (0, 1)))
    assert len(alone.step(delta(SCHEMA, [((1, 1.5), -2)], (0, 1)))) == 0
    assert meaning(alone.step(delta(SCHEMA, [((1, 1.5), -1)], (0, 1)))) == ReferenceZSet({(1, 1.5): -1})
    assert alone.spines[0].batches == ()
