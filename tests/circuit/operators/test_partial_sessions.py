"""Rows that touch, put together before they travel: what is told of their sessions stays the same."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType

from penstock.circuit.delta import delta_of
from penstock.circuit.operators import Extreme, PartialSessions
from penstock.expr.nodes import Column
from tests.circuit.alone import Alone, Rows, delta

SCHEMA = pa.schema([("g", pa.string()), ("from", pa.int64()), ("to", pa.int64()), ("n", pa.int64())])
KEY = Column(StringType(), True, 0)
FIRST, LAST, N = (Column(LongType(), False, i) for i in (1, 2, 3))
OPERATOR = PartialSessions(
    pa.schema([("g", pa.string()), *((name, pa.int64()) for name in ("from", "to", "most", "least"))]),
    (KEY,),
    FIRST,
    LAST,
    (Extreme(N, True), Extreme(N, False)),
)
ROW = st.builds(
    lambda g, start, length, n: (g, start, start + length, n),
    st.sampled_from(["a", "b", None]),
    st.integers(-30, 30),
    st.integers(0, 6),
    st.integers(-3, 3),
)

Told = dict[tuple[object, ...], int]


def changes_of(rows: Rows) -> Told:
    """Key, start, end and extremes of each stretch of rows that touch, and how many rows: the obvious way."""
    found: Told = {}
    for key in {row[0] for row in rows}:
        stretch: list[tuple[int, ...]] = []
        for row in [*sorted(row[1:] for row in rows if row[0] == key), None]:
            if row is None or (stretch and row[0] > max(end for _, end, _ in stretch)):
                ends, values = [end for _, end, _ in stretch], [n for _, _, n in stretch]
                found[key, stretch[0][0], max(ends), max(values), min(values)] = len(stretch)
                stretch = []
            if row is not None:
                stretch.append(row)
    return found


@pytest.mark.parametrize("in_time", [True, False], ids=["in-time", "in-any-order"])
@given(rows=st.lists(ROW, max_size=30))
@settings(deadline=None, max_examples=200)
def test_what_touches_becomes_one_row_with_the_weight_of_all(rows: Rows, in_time: bool) -> None:
    rows = sorted(rows, key=lambda row: row[1]) if in_time else rows
    zset = delta_of(Alone(OPERATOR).step(delta(SCHEMA, [(row, 1) for row in rows], [0]))).zset
    names = OPERATOR.schema.names
    table = pa.Table.from_batches(zset.to_batches()).select(names)
    found = [tuple(row[name] for name in names) for row in table.to_pylist()]
    assert len(set(found)) == len(found)
    assert dict(zip(found, zset.weights.tolist(), strict=True)) == changes_of(rows)


def test_a_row_that_counts_twice_counts_twice() -> None:
    change = [(("a", 1, 2, 5), 2), (("a", 2, 4, 7), 1)]
    zset = delta_of(Alone(OPERATOR).step(delta(SCHEMA, change, [0]))).zset
    assert [column.to_pylist() for column in zset.columns] == [["a"], [1], [4], [7], [5]]
    assert zset.weights.tolist() == [3]
