"""Arrangements of rows that never go: the same rows by the same keys, each with a number of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.delta import Arranged
from penstock.circuit.operators import AppendArrange, Arrange, Join
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Rows, colliding, contents, delta, meaning, reference
from tests.circuit.operators.test_join import BOTH, LEFT, RIGHT, X_BELOW_Y, Row, row
from tests.trace.reference import is_sorted_and_consolidated


@given(steps=st.lists(st.tuples(*[st.lists(row, max_size=4)] * 2), min_size=1, max_size=5))
@settings(deadline=None, max_examples=25)
def test_rows_that_never_go_are_joined_like_any_others(steps: list[tuple[Rows, Rows]]) -> None:
    for kinds in ((AppendArrange, AppendArrange), (AppendArrange, Arrange)):
        sides = (Alone(kinds[0](LEFT)), Alone(kinds[1](RIGHT)))
        join = Alone(Join(BOTH, X_BELOW_Y, (0, 1, 2, 3)))
        total, came = ReferenceZSet({}), (list[Row](), list[Row]())
        for change in steps:
            flows = []
            for side, schema, rows, seen in zip(sides, (LEFT, RIGHT), change, came, strict=True):
                flows.append(side.step(delta(schema, [(one, 1) for one in rows], (0,))))
                seen.extend(rows)
            total = total.add(meaning(join.step(*flows)))
        product = reference(came[0]).join(reference(came[1]), lambda a, b: a[0] == b[0] and a[1] < b[1])  # type: ignore[operator]
        assert total == product
        assert len(sides[0].spines[0]) == len(came[0])


@pytest.mark.parametrize("collide", [False, True], ids=["", "colliding"])
@given(steps=st.lists(st.lists(row, max_size=6), min_size=1, max_size=5))
@settings(deadline=None, max_examples=25)
def test_it_holds_what_an_arrangement_holds_by_the_same_keys(steps: list[Rows], collide: bool) -> None:
    appended, plain = Alone(AppendArrange(LEFT)), Alone(Arrange(LEFT))
    for rows in steps:
        part = delta(LEFT, [(one, 1) for one in rows], (0,))
        part = colliding(part) if collide else part
        mine, theirs = appended.step(part), plain.step(part)
        assert meaning(mine) == meaning(theirs) and contents(mine) == contents(theirs)
        assert isinstance(mine, Arranged) and isinstance(theirs, Arranged)
        halves = [np.unique(flow.batch.order >> np.uint64(32)).tolist() for flow in (mine, theirs)]
        assert halves[0] == halves[1]
        assert is_sorted_and_consolidated(mine.batch)
    assert contents(appended.operator.idle(appended)) == contents(plain.operator.idle(plain))


def test_equal_rows_stand_apart() -> None:
    alone = Alone(AppendArrange(LEFT))
    for _ in range(3):
        assert len(alone.step(delta(LEFT, [((1, 2), 1)] * 4, (0,)))) == 4
    assert len(alone.spines[0]) == 12
