"""Two sides for semi joins, and the slow way to tell which rows have a match."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql.types import BooleanType, LongType

from penstock.circuit.delta import Delta
from penstock.circuit.operators import Arrange, ConditionalSemiJoin, SemiJoin, Wanted
from penstock.expr.nodes import Call, Column, Expr
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, Change, Rows, changes_of, colliding, delta, meaning, reference

LEFT = pa.schema([("k", pa.int64()), ("x", pa.int64())])
RIGHT = pa.schema([("k", pa.int64()), ("y", pa.int64())])
FLAGGED = pa.schema([*LEFT, pa.field("exists", pa.bool_())])
row = st.tuples(st.integers(0, 3), st.integers(0, 3))
K = Column(LongType(), True, 0)
X, Y = Column(LongType(), True, 1), Column(LongType(), True, 3)
X_BELOW_Y = Call(BooleanType(), True, "LessThan", (X, Y))
WANTED: list[Wanted] = ["matched", "unmatched", "flagged"]


def expected(left: Rows, right: Rows, wanted: Wanted, condition: Expr | None) -> ReferenceZSet:
    """The rows of the left side by whether the right side has one of the same key (and a larger value)."""

    def matches(one: Any) -> bool:
        return any(one[0] == other[0] and (condition is None or one[1] < other[1]) for other in right)

    rows = reference(left)
    if wanted == "flagged":
        return rows.map(lambda one: (*one, matches(one)))
    return rows.filter(lambda one: matches(one) == (wanted == "matched"))


def check(left: list[Rows], right: list[Rows], operator: SemiJoin, feed: str) -> None:
    """Steps both sides; ``feed`` says whether keys collide and whether the right side comes arranged."""
    sides = (Alone(Arrange(LEFT)), Alone(Arrange(RIGHT)))
    alone = Alone(operator)
    condition = operator.condition if isinstance(operator, ConditionalSemiJoin) else None
    total = ReferenceZSet({})
    steps = max(len(left), len(right))
    left, right = left + left[-1:] * (steps - len(left)), right + right[-1:] * (steps - len(right))

    def indexed(schema: pa.Schema, change: Change) -> Delta:
        part = delta(schema, change, (0,))
        return colliding(part) if feed == "colliding" else part

    for now, (l_change, r_change) in enumerate(zip(changes_of(left), changes_of(right), strict=True)):
        one, other = sides[0].step(indexed(LEFT, l_change)), indexed(RIGHT, r_change)
        total = total.add(meaning(alone.step(one, other if feed == "indexed" else sides[1].step(other))))
        assert total == expected(left[now], right[now], operator.wanted, condition)


def schema_of(wanted: Wanted) -> tuple[pa.Schema, tuple[int, ...]]:
    return (FLAGGED, (0, 1, 2)) if wanted == "flagged" else (LEFT, (0, 1))


def stepped(sides: tuple[Alone, Alone], left: Change, right: Change) -> tuple[Any, Any]:
    return sides[0].step(delta(LEFT, left, (0,))), sides[1].step(delta(RIGHT, right, (0,)))


def arranged() -> tuple[Alone, Alone]:
    return Alone(Arrange(LEFT)), Alone(Arrange(RIGHT))
