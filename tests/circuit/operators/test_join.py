"""The join against the product of everything that came in, with keys that match, are NULL, or collide."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import BooleanType, LongType

from penstock.circuit.delta import Delta
from penstock.circuit.operators import Arrange, Join
from penstock.expr.nodes import Call, Column
from penstock.zset import ReferenceZSet
from penstock.zset.reference import Row
from tests.circuit.alone import Alone, Rows, changes_of, colliding, delta, histories, meaning, reference

LEFT = pa.schema([("k", pa.int64()), ("x", pa.int64())])
RIGHT = pa.schema([("k", pa.int64()), ("y", pa.int64())])
BOTH = pa.schema([("k", pa.int64()), ("x", pa.int64()), ("k2", pa.int64()), ("y", pa.int64())])
row = st.tuples(st.integers(0, 4), st.integers(0, 3))
X_BELOW_Y = Call(BooleanType(), True, "LessThan", (Column(LongType(), True, 1), Column(LongType(), True, 3)))


def check_join(
    left: list[Rows], right: list[Rows], join: Join, keys: tuple[int, ...], *, collide: bool
) -> None:
    """Runs both sides through arrangements into the join; compares after each step."""
    sides = (Alone(Arrange(LEFT)), Alone(Arrange(RIGHT)))
    alone = Alone(join)
    total = ReferenceZSet({})
    steps = max(len(left), len(right))
    pad = [left + left[-1:] * (steps - len(left)), right + right[-1:] * (steps - len(right))]

    def indexed(schema: pa.Schema, change: list[tuple[tuple[int, ...], int]]) -> Delta:
        part = delta(schema, change, keys)
        return colliding(part) if collide else part

    for now, (l_change, r_change) in enumerate(zip(changes_of(pad[0]), changes_of(pad[1]), strict=True)):
        flows = (sides[0].step(indexed(LEFT, l_change)), sides[1].step(indexed(RIGHT, r_change)))
        total = total.add(meaning(alone.step(*flows)))

        def matches(one: Row, other: Row) -> bool:
            below = join.condition is None or one[1] < other[1]  # type: ignore[operator]
            return below and all(one[k] == other[k] for k in keys)

        product = reference(pad[0][now]).join(reference(pad[1][now]), matches)
        assert total == product.select(join.keep)


@pytest.mark.parametrize("collide", [False, True], ids=["", "colliding"])
@given(left=histories(row), right=histories(row))
@settings(deadline=None, max_examples=18)
def test_join_by_key(left: list[Rows], right: list[Rows], collide: bool) -> None:
    check_join(left, right, Join(BOTH, None, (0, 1, 2, 3)), (0,), collide=collide)


@pytest.mark.parametrize("collide", [False, True], ids=["", "colliding"])
@given(left=histories(row), right=histories(row))
@settings(deadline=None, max_examples=18)
def test_join_with_a_residual_condition_keeps_only_the_columns_asked_for(
    left: list[Rows], right: list[Rows], collide: bool
) -> None:
    schema = pa.schema([("y", pa.int64()), ("k", pa.int64())])
    check_join(left, right, Join(schema, X_BELOW_Y, (3, 0)), (0,), collide=collide)


@given(left=histories(row, 5), right=histories(row, 5))
@settings(deadline=None, max_examples=12)
def test_cross_join_with_and_without_a_condition(left: list[Rows], right: list[Rows]) -> None:
    check_join(left, right, Join(BOTH, None, (0, 1, 2, 3)), (), collide=False)
    check_join(left, right, Join(BOTH, X_BELOW_Y, (0, 1, 2, 3)), (), collide=False)


@given(left=histories(row, 5), right=histories(row, 5))
@settings(deadline=None, max_examples=12)
def test_a_join_that_keeps_no_column_still_counts(left: list[Rows], right: list[Rows]) -> None:
    check_join(left, right, Join(pa.schema([]), X_BELOW_Y, ()), (0,), collide=False)


def test_both_sides_changing_in_one_step_meet_once() -> None:
    sides = (Alone(Arrange(LEFT)), Alone(Arrange(RIGHT)))
    flows = (
        sides[0].step(delta(LEFT, [((1, 2), 2)], (0,))),
        sides[1].step(delta(RIGHT, [((1, 3), 3)], (0,))),
    )
    joined = Alone(Join(BOTH, None, (0, 1, 2, 3))).step(*flows)
    assert meaning(joined) == ReferenceZSet({(1, 2, 1, 3): 6})
