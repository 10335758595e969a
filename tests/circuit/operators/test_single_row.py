"""The value of a scalar subquery: one row whatever comes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.circuit.operators import SingleRow
from penstock.errors import EvaluationError
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, delta, meaning

VALUE = pa.schema([("v", pa.int64())])


def test_no_row_is_a_row_of_nulls_and_a_row_is_itself() -> None:
    alone = Alone(SingleRow(VALUE))
    alone.opening = True
    assert meaning(alone.step(delta(VALUE, [], ()))) == ReferenceZSet({(None,): 1})
    alone.opening = False
    assert meaning(alone.step(delta(VALUE, [((7,), 1)], ()))) == ReferenceZSet({(None,): -1, (7,): 1})
    assert meaning(alone.step(delta(VALUE, [((7,), -1), ((8,), 1)], ()))) == ReferenceZSet(
        {(7,): -1, (8,): 1}
    )
    assert len(alone.step(delta(VALUE, [((5,), 1), ((5,), -1)], ()))) == 0
    assert meaning(alone.step(delta(VALUE, [((8,), -1)], ()))) == ReferenceZSet({(None,): 1, (8,): -1})


def test_a_worker_that_does_not_own_the_row_says_nothing() -> None:
    alone = Alone(SingleRow(VALUE))
    alone.opening, alone.owner = True, False
    assert len(alone.step(delta(VALUE, [], ()))) == 0


@pytest.mark.parametrize("rows", [[((1,), 1), ((2,), 1)], [((1,), 2)]], ids=["two", "one twice"])
def test_more_than_one_row_is_an_error(rows: list[tuple[tuple[int], int]]) -> None:
    with pytest.raises(EvaluationError) as raised:
        Alone(SingleRow(VALUE)).step(delta(VALUE, rows, ()))
    assert raised.value.condition == "SCALAR_SUBQUERY_TOO_MANY_ROWS"
