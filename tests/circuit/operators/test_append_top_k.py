"""A limit over rows that never go: the same answer as TopK, and little state."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.operators import AppendTopK, PartialTopK, TopK
from penstock.circuit.ordering import OrderBy, Ordering
from tests.circuit.alone import Alone, colliding, delta, meaning
from tests.circuit.operators.ranked import ORDERS, ROW, SCHEMA


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("offset", "limit", "numbers"), [(0, 1, 0), (0, 3, 1), (2, 2, 0), (1, 2, 1)])
@pytest.mark.parametrize("collide", [False, True])
@given(history=st.lists(st.lists(ROW, max_size=12), min_size=1, max_size=6))
@settings(deadline=None, max_examples=6)
def test_over_rows_that_never_go_the_same_rows_are_found_though_few_are_kept(
    history: list[list[Any]], order: str, offset: int, limit: int, numbers: int, collide: bool
) -> None:
    schema = SCHEMA.append(pa.field("n", pa.int32())) if numbers else SCHEMA
    parameters = (schema, Ordering(ORDERS[order]), offset, limit, numbers)
    plain, growing = Alone(TopK(*parameters)), Alone(AppendTopK(*parameters))
    partial = Alone(PartialTopK(SCHEMA, Ordering(ORDERS[order]), offset + limit))
    for rows in history:
        part = delta(SCHEMA, [(row, 1) for row in rows], range(1))
        part = colliding(part) if collide else part
        first = partial.step(part)
        assert len(first) <= len(part)
        assert meaning(growing.step(first)) == meaning(plain.step(part))


def test_what_falls_behind_the_limit_is_not_kept() -> None:
    alone = Alone(AppendTopK(SCHEMA, Ordering((OrderBy(1, True, False),)), 0, 2))
    for start in range(0, 1000, 100):
        alone.step(delta(SCHEMA, [(("a", float(start + i), None), 1) for i in range(100)], range(1)))
    assert sum(len(batch) for batch in alone.stored(0)) <= 8
