"""Matches by key and condition: each row of a key has a verdict of its own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.circuit.operators import ConditionalSemiJoin, Wanted
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Rows, changes_of, histories, meaning, reference
from tests.circuit.operators.semi_joining import (
    LEFT,
    WANTED,
    X_BELOW_Y,
    arranged,
    check,
    row,
    schema_of,
    stepped,
)


@pytest.mark.parametrize("feed", ["arranged", "colliding"])
@pytest.mark.parametrize("wanted", WANTED)
@given(left=histories(row), right=histories(row))
@settings(deadline=None, max_examples=20)
def test_by_key_and_condition(left: list[Rows], right: list[Rows], wanted: Wanted, feed: str) -> None:
    schema, keep = schema_of(wanted)
    check(left, right, ConditionalSemiJoin(schema, wanted, keep, condition=X_BELOW_Y), feed)


def test_two_matches_are_none_by_a_condition_that_only_one_meets() -> None:
    sides, alone = arranged(), Alone(ConditionalSemiJoin(LEFT, "unmatched", (0, 1), True, X_BELOW_Y))
    flow = alone.step(*stepped(sides, [((1, 3), 1), ((2, 9), 1)], [((1, 5), 1), ((1, 2), 1)]))
    assert meaning(flow) == ReferenceZSet({(2, 9): 1})


NULLABLE = st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2)))


@given(left=histories(NULLABLE), right=histories(NULLABLE))
@settings(deadline=None, max_examples=20)
def test_a_condition_that_is_null_is_no_match(left: list[Rows], right: list[Rows]) -> None:
    sides, alone = arranged(), Alone(ConditionalSemiJoin(LEFT, "unmatched", (0, 1), condition=X_BELOW_Y))
    steps = max(len(left), len(right))
    left, right = left + left[-1:] * (steps - len(left)), right + right[-1:] * (steps - len(right))
    total = ReferenceZSet({})
    for now, changes in enumerate(zip(changes_of(left), changes_of(right), strict=True)):
        total = total.add(meaning(alone.step(*stepped(sides, *changes))))
        matched = [
            any(
                one[0] == other[0] and None not in (one[1], other[1]) and one[1] < other[1]
                for other in right[now]
            )
            for one in left[now]
        ]
        assert total == reference([one for one, found in zip(left[now], matched, strict=True) if not found])


def test_rows_of_one_key_have_verdicts_of_their_own() -> None:
    sides, alone = arranged(), Alone(ConditionalSemiJoin(LEFT, "matched", (0, 1), condition=X_BELOW_Y))
    first = alone.step(*stepped(sides, [((1, 0), 1), ((1, 5), 2)], [((1, 3), 1)]))
    assert meaning(first) == ReferenceZSet({(1, 0): 1})
    assert meaning(alone.step(*stepped(sides, [], [((1, 9), 1)]))) == ReferenceZSet({(1, 5): 2})
    assert meaning(alone.step(*stepped(sides, [], [((1, 9), -1)]))) == ReferenceZSet({(1, 5): -2})


def test_only_rows_with_a_match_are_counted() -> None:
    sides, alone = arranged(), Alone(ConditionalSemiJoin(LEFT, "matched", (0, 1), condition=X_BELOW_Y))
    alone.step(*stepped(sides, [((1, n), 1) for n in range(50)], [((1, 3), 1)]))
    assert sum(map(len, alone.spines[0].batches)) == 3
