"""The two ways in which keyless joins are spread over shards."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.layout import SHARD_BITS, Layout
from penstock.circuit.operators import Arrange, Copy, Join, Scatter
from penstock.zset import ReferenceZSet, hash_columns
from tests.circuit.alone import SEED, Alone, Rows, changes_of, delta, histories, meaning, reference

VALUE = pa.schema([("v", pa.int64())])


ROWS = pa.schema([("a", pa.int64()), ("b", pa.string())])


row = st.tuples(st.integers(0, 9), st.sampled_from(["x", "y", None]))


def test_scattered_rows_stay_with_the_owner_of_their_columns_and_copies_reach_every_shard() -> None:
    layout = Layout.even(7)
    rows = delta(ROWS, [((n, "x"), 1) for n in range(100)])
    scattered = Alone(Scatter(ROWS, (0,))).step(rows)
    home = hash_columns([rows.zset.columns[0]], 100, SEED)
    assert scattered.keys is not None  # type: ignore[union-attr]
    assert (layout.workers_of(scattered.keys) == layout.workers_of(home)).all()  # type: ignore[union-attr]
    copies = Alone(Copy(VALUE)).step(delta(VALUE, [((1,), 2)]))
    assert len(copies) == 1 << SHARD_BITS
    assert {worker for worker, _ in layout.split(copies)} == set(range(7))  # type: ignore[arg-type]


@given(left=histories(row), values=st.lists(st.integers(0, 3), min_size=1, max_size=5))
@settings(deadline=None, max_examples=20)
def test_a_cross_join_with_a_copied_row_is_a_cross_join(left: list[Rows], values: list[int]) -> None:
    """Whatever shard a row is in, it meets the copied one exactly once."""
    scatter, copy = Alone(Scatter(ROWS, (0, 1))), Alone(Copy(VALUE))
    sides = (Alone(Arrange(ROWS)), Alone(Arrange(VALUE)))
    join = Alone(Join(pa.schema([*ROWS, *VALUE]), None, (0, 1, 2)))
    steps = max(len(left), len(values))
    left = left + left[-1:] * (steps - len(left))
    right = [[(value,)] for value in values] + [[(values[-1],)]] * (steps - len(values))
    total = ReferenceZSet({})
    for now, (l_change, r_change) in enumerate(zip(changes_of(left), changes_of(right), strict=True)):
        one = sides[0].step(scatter.step(delta(ROWS, l_change)))
        other = sides[1].step(copy.step(delta(VALUE, r_change)))
        total = total.add(meaning(join.step(one, other)))
        assert total == reference([(*pair, right[now][0][0]) for pair in left[now]])
