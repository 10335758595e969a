"""Rows that cannot be among the first are left out before they travel."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Delta, concat_deltas
from penstock.circuit.operators import PartialTopK, TopK
from penstock.circuit.ordering import OrderBy, Ordering
from penstock.zset import ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, Alone, Change, Rows, delta, meaning
from tests.circuit.operators.ranked import ORDERS, ROW, SCHEMA
from tests.circuit.row_order import in_order


def test_rows_that_come_together_are_cut_to_the_limit_before_they_travel() -> None:
    alone = Alone(PartialTopK(SCHEMA, Ordering((OrderBy(1),)), 3))
    out = alone.step(delta(SCHEMA, [(("a", float(i), None), 1) for i in range(100)], range(1)))
    assert meaning(out) == ReferenceZSet({("a", float(i), None): 1 for i in range(3)})


def kept_of(change: Change, order: str, count: int) -> tuple[Delta, Delta]:
    """All rows, and those that the operator lets through."""
    part = delta(SCHEMA, change, range(1))
    out = Alone(PartialTopK(SCHEMA, Ordering(ORDERS[order]), count)).step(part)
    assert isinstance(out, Delta)
    return part, out


@pytest.mark.parametrize("order", ORDERS)
@given(rows=st.lists(ROW, max_size=25), count=st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_the_first_rows_of_every_key_are_among_those_let_through(rows: Rows, order: str, count: int) -> None:
    part, out = kept_of([(row, 1) for row in rows], order, count)
    every, some = meaning(part), meaning(out)
    assert all(0 < weight <= every.weights[row] for row, weight in some.weights.items())
    groups = some.groups(range(1))
    for key, group in every.groups(range(1)).items():
        wanted = in_order(group, ORDERS[order], 3)[:count]
        assert in_order(groups[key], ORDERS[order], 3)[:count] == wanted


@given(rows=st.lists(ROW, max_size=30), count=st.integers(1, 3), workers=st.integers(1, 4))
@settings(deadline=None, max_examples=20)
def test_a_limit_over_what_several_workers_let_through_is_the_limit_over_everything(
    rows: Rows, count: int, workers: int
) -> None:
    ordering = Ordering(ORDERS["descending"])
    change: Change = [(row, 1) for row in rows]
    parts = [kept_of(change[worker::workers], "descending", count)[1] for worker in range(workers)]
    plain, limited = Alone(TopK(SCHEMA, ordering, 0, count)), Alone(TopK(SCHEMA, ordering, 0, count))
    wanted = meaning(plain.step(delta(SCHEMA, change, range(1))))
    assert meaning(limited.step(concat_deltas(SCHEMA, parts))) == wanted


def test_rows_keep_their_keys_for_the_exchange() -> None:
    _, out = kept_of([((group, float(i), None), 1) for group in "ab" for i in range(9)], "ascending", 2)
    assert out.keys is not None
    again = hash_columns(out.zset.columns[:1], len(out), SEED)
    assert (out.keys.hi == again.hi).all() and (out.keys.lo == again.lo).all()


def test_no_rows_are_no_rows() -> None:
    assert len(kept_of([], "ascending", 3)[1]) == 0
