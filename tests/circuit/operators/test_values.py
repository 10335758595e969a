"""A constant relation appears once, on one worker."""

from __future__ import annotations

import pyarrow as pa

from penstock.circuit.operators import Values
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, meaning
from tests.circuit.operators.plain import SCHEMA


def test_values_appear_once_on_the_worker_that_owns_them() -> None:
    alone = Alone(Values(SCHEMA, (("a", 1), ("a", 1), (None, None))))
    assert len(alone.step()) == 0
    alone.opening = True
    assert meaning(alone.step()) == ReferenceZSet({("a", 1): 2, (None, None): 1})
    alone.owner = False
    assert len(alone.step()) == 0


def test_values_without_columns_is_one_row() -> None:
    alone = Alone(Values(pa.schema([]), ((),)))
    alone.opening = True
    assert meaning(alone.step()) == ReferenceZSet({(): 1})
