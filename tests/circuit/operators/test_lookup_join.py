"""Rows looked up in what stands still: the product of all that came, though nothing of them is kept."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import BooleanType, LongType

from penstock.circuit.operators import Arrange, LookupJoin
from penstock.errors import EvaluationError
from penstock.expr.nodes import Call, Column, Expr
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Change, Rows, changes_of, delta, meaning, reference

MOVING = pa.schema([("k", pa.int64()), ("x", pa.int64())])
STATIC = pa.schema([("k", pa.int64()), ("y", pa.int64())])
OUTPUT = pa.schema([("x", pa.int64()), ("y", pa.int64())])
X, Y = Column(LongType(), True, 1), Column(LongType(), True, 3)
BELOW = Call(BooleanType(), True, "LessThan", (X, Y))
QUOTIENT = Call(LongType(), True, "IntegralDivide", (Y, X), (("mode", "ANSI"),))
DIVIDES = Call(BooleanType(), True, "GreaterThan", (QUOTIENT, X))

row = st.tuples(st.integers(0, 4), st.integers(0, 3))


class Joined:
    """A lookup join beside the arrangement of what stands still."""

    def __init__(self, condition: Expr | None) -> None:
        self.static = Alone(Arrange(STATIC))
        self.join = Alone(LookupJoin(OUTPUT, condition, (1, 3)))

    def step(self, moving: Change, static: Change = ()) -> ReferenceZSet:  # type: ignore[assignment]
        rows = self.static.step(delta(STATIC, list(static), [0]))
        return meaning(self.join.step(delta(MOVING, moving, [0]), rows))


@pytest.mark.parametrize("condition", [None, BELOW], ids=["keys-alone", "condition"])
@given(filled=st.lists(row, max_size=8), history=st.lists(st.lists(row, max_size=8), min_size=1, max_size=4))
@settings(deadline=None, max_examples=100)
def test_pairs_are_those_of_all_rows_there_are(
    condition: Expr | None, filled: Rows, history: list[Rows]
) -> None:
    joined = Joined(condition)
    total = joined.step([], [(each, 1) for each in filled])
    for rows, change in zip(history, changes_of(history), strict=True):
        total = total.add(joined.step(change))
        product = reference(rows).join(
            reference(filled), lambda a, b: a[0] == b[0] and (condition is None or a[1] < b[1])
        )
        assert total == product.select((1, 3))


def test_rows_of_both_that_come_together_meet() -> None:
    assert Joined(None).step([((1, 5), 1)], [((1, 7), 1)]) == ReferenceZSet({(5, 7): 1})


def test_a_condition_is_not_evaluated_on_a_row_that_goes_as_it_comes() -> None:
    joined = Joined(DIVIDES)
    joined.step([], [((1, 8), 1)])
    there = joined.step([((1, 0), 1), ((1, 2), 1), ((1, 0), -1), ((1, 1), 1)])
    assert there == ReferenceZSet({(2, 8): 1, (1, 8): 1})
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        joined.step([((1, 0), 1)])
