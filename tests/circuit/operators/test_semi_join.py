"""Rows with and without a match, against everything that came in: duplicates, NULL keys, colliding keys, and
changes of both sides in one step."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from pyspark.sql.types import BooleanType, DoubleType

from penstock.circuit.operators import (
    Arrange,
    ConditionalSemiJoin,
    Index,
    Join,
    PartialAggregate,
    SemiJoin,
    Wanted,
)
from penstock.errors import EvaluationError
from penstock.expr.nodes import Call, Literal
from penstock.zset import ReferenceZSet
from tests.circuit.alone import (
    Alone,
    Rows,
    delta,
    histories,
    meaning,
)
from tests.circuit.operators.semi_joining import (
    LEFT,
    RIGHT,
    WANTED,
    X_BELOW_Y,
    K,
    X,
    Y,
    arranged,
    check,
    row,
    schema_of,
    stepped,
)


@pytest.mark.parametrize("feed", ["arranged", "indexed", "colliding"])
@pytest.mark.parametrize("wanted", WANTED)
@given(left=histories(row), right=histories(row))
@settings(deadline=None, max_examples=20)
def test_by_key(left: list[Rows], right: list[Rows], wanted: Wanted, feed: str) -> None:
    schema, keep = schema_of(wanted)
    check(left, right, SemiJoin(schema, wanted, keep), feed)


@pytest.mark.parametrize(
    "operator",
    [SemiJoin(LEFT, "matched", (0, 1)), ConditionalSemiJoin(LEFT, "matched", (0, 1), condition=X_BELOW_Y)],
    ids=["by key", "by condition"],
)
def test_nothing_is_said_when_only_the_number_of_matches_changes(operator: SemiJoin) -> None:
    sides, alone = arranged(), Alone(operator)
    alone.step(*stepped(sides, [((1, 0), 2)], [((1, 5), 3)]))
    assert len(alone.step(*stepped(sides, [], [((1, 5), -1), ((1, 6), 4)]))) == 0
    gone = alone.step(*stepped(sides, [], [((1, 5), -2), ((1, 6), -4)]))
    assert meaning(gone) == ReferenceZSet({(1, 0): -2})
    assert sum(map(len, alone.spines[0].batches)) == 0


def test_columns_that_are_not_kept_are_left_out() -> None:
    sides = arranged()
    schema = pa.schema([("exists", pa.bool_()), ("x", pa.int64())])
    flow = Alone(SemiJoin(schema, "flagged", (2, 1))).step(*stepped(sides, [((1, 7), 1)], []))
    assert meaning(flow) == ReferenceZSet({(False, 7): 1})


def test_a_pre_aggregated_right_side_counts_by_its_weights() -> None:
    left, partial = Alone(Arrange(LEFT)), Alone(PartialAggregate(pa.schema([RIGHT.field(0)]), (K,), ()))
    alone = Alone(SemiJoin(LEFT, "matched", (0, 1)))
    rows = [((1, y), 1) for y in range(5)]
    added = alone.step(left.step(delta(LEFT, [((1, 0), 1)], (0,))), partial.step(delta(RIGHT, rows)))
    assert meaning(added) == ReferenceZSet({(1, 0): 1})
    less = [((1, y), -1) for y in range(4)]
    assert len(alone.step(left.step(delta(LEFT, [], (0,))), partial.step(delta(RIGHT, less)))) == 0
    last = alone.step(left.step(delta(LEFT, [], (0,))), partial.step(delta(RIGHT, [((1, 4), -1)])))
    assert meaning(last) == ReferenceZSet({(1, 0): -1})


def test_a_null_key_that_the_right_index_drops_is_never_matched() -> None:
    left, right = Alone(Arrange(LEFT)), Alone(Index(RIGHT, (K,), (True,)))
    alone = Alone(SemiJoin(LEFT, "unmatched", (0, 1)))
    rows = [((None, 1), 2)]
    flow = alone.step(left.step(delta(LEFT, rows, (0,))), right.step(delta(RIGHT, [((None, 1), 1)])))
    assert meaning(flow) == ReferenceZSet({(None, 1): 2})


SINGLE = [
    SemiJoin(LEFT, "unmatched", (0, 1), True),
    ConditionalSemiJoin(LEFT, "unmatched", (0, 1), True, X_BELOW_Y),
]


@pytest.mark.parametrize("operator", SINGLE, ids=["by key", "by condition"])
def test_a_second_match_is_an_error_where_only_one_is_allowed(operator: SemiJoin) -> None:
    sides, alone = arranged(), Alone(operator)
    alone.step(*stepped(sides, [((1, 0), 3), ((2, 0), 1)], [((1, 5), 1)]))
    alone.step(*stepped(sides, [], [((1, 5), -1), ((1, 6), 1), ((9, 1), 1), ((9, 2), 1)]))
    with pytest.raises(EvaluationError) as raised:
        alone.step(*stepped(sides, [], [((2, 5), 2)]))
    assert raised.value.condition == "SCALAR_SUBQUERY_TOO_MANY_ROWS"


@pytest.mark.parametrize("operator", SINGLE, ids=["by key", "by condition"])
def test_a_new_row_with_two_matches_is_an_error_where_only_one_is_allowed(operator: SemiJoin) -> None:
    sides, alone = arranged(), Alone(operator)
    alone.step(*stepped(sides, [], [((1, 5), 1), ((1, 6), 1)]))
    with pytest.raises(EvaluationError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        alone.step(*stepped(sides, [((1, 0), 1)], []))


QUOTIENT = Call(
    BooleanType(),
    True,
    "GreaterThan",
    (
        Call(
            DoubleType(),
            True,
            "Divide",
            tuple(
                Call(DoubleType(), True, "Cast", (c,), (("mode", "ANSI"), ("timezone", "UTC")))
                for c in (X, Y)
            ),
            (("mode", "ANSI"),),
        ),
        Literal(DoubleType(), False, 0.5),
    ),
)


@pytest.mark.parametrize(
    "operator",
    [
        Join(pa.schema([LEFT.field(1)]), QUOTIENT, (1,)),
        ConditionalSemiJoin(pa.schema([LEFT.field(1)]), "matched", (1,), condition=QUOTIENT),
    ],
    ids=["join", "semi join"],
)
def test_a_condition_is_not_tested_on_rows_that_never_met(operator: Join | ConditionalSemiJoin) -> None:
    """The divisor 0 is there only while no left row is, and both change in the same step."""
    sides, alone = arranged(), Alone(operator)
    alone.step(*stepped(sides, [], [((1, 0), 1)]))
    flow = alone.step(*stepped(sides, [((1, 4), 1)], [((1, 0), -1), ((1, 4), 1)]))
    assert meaning(flow) == ReferenceZSet({(4,): 1})
    alone.step(*stepped(sides, [((1, 4), -1)], [((1, 0), 1)]))
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        alone.step(*stepped(sides, [((1, 4), 1)], []))
