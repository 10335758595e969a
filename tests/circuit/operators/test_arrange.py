"""Arrangement: the sum of an indexed stream, sorted by key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from penstock.circuit.delta import Arranged
from penstock.circuit.operators import Arrange
from penstock.trace import merge_runs
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Rows, changes_of, colliding, contents, delta, histories, meaning
from tests.circuit.operators.plain import ROW, SCHEMA
from tests.trace.reference import is_sorted_and_consolidated


def test_arranged_streams_can_be_read_as_plain_ones() -> None:
    alone = Alone(Arrange(SCHEMA))
    first = alone.step(delta(SCHEMA, [(("a", 1), 1), (("b", 2), 1)], (0,)))
    second = alone.step(delta(SCHEMA, [(("a", 1), -1), (("a", 1), 3)], (0,)))
    assert meaning(first) == ReferenceZSet({("a", 1): 1, ("b", 2): 1})
    assert meaning(second) == ReferenceZSet({("a", 1): 2})
    assert contents(second) == ReferenceZSet({("a", 1): 3, ("b", 2): 1})
    assert contents(alone.operator.idle(alone)) == contents(second)


@pytest.mark.parametrize("collide", [False, True], ids=["", "colliding"])
@given(history=histories(ROW))
@settings(deadline=None, max_examples=25)
def test_every_step_shows_its_change_and_all_that_was_before(history: list[Rows], collide: bool) -> None:
    alone = Alone(Arrange(SCHEMA))
    total = ReferenceZSet({})
    for change in changes_of(history):
        part = delta(SCHEMA, change, (0,))
        out = alone.step(colliding(part) if collide else part)
        assert isinstance(out, Arranged)
        before = ReferenceZSet.of_rows(
            (row, weight)
            for batch in out.before
            for row, weight in zip(
                zip(*(column.to_pylist() for column in batch.values), strict=True), batch.weights, strict=True
            )
        )
        assert before == total
        assert is_sorted_and_consolidated(out.batch)
        total = total.add(ReferenceZSet.of_rows(change))
        assert contents(out) == total
    assert sum(map(len, merge_runs(alone.stored(0)))) == len(total)


def test_an_input_without_keys_is_a_defect() -> None:
    with pytest.raises(AssertionError, match="not indexed"):
        Alone(Arrange(SCHEMA)).step(delta(SCHEMA, [(("a", 1), 1)]))
