"""Functions of the first value in order: min_by and max_by, and the smallest and largest of nested values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from tests.circuit.alone import Rows, histories
from tests.circuit.grouping import Grouping, call, check, column, present
from tests.circuit.test_group_functions import MODES, ROWS, TYPES, N, S, X, literal
from tests.trace.reference import spark_order

LONG, TEXT = LongType(), StringType()


@pytest.mark.parametrize(("width", "workers"), MODES)
@given(history=histories(ROWS))
@settings(deadline=None, max_examples=40)
def test_values_beside_the_smallest_and_largest(history: list[Rows], width: int, workers: int) -> None:
    two = literal(IntegerType(), 2)
    calls = (
        call("MinBy", TEXT, S, X),
        call("MaxBy", TEXT, S, X),
        call("MaxBy", LONG, N, S),
        call("MaxMinByK", ArrayType(TEXT), S, N, two, options=(("reverse", False),)),
        call("MaxMinByK", ArrayType(TEXT), S, N, two, options=(("reverse", True),)),
    )

    def text(value: Any) -> Any:
        return (0, b"") if value is None else (1, value.encode())

    def by_double(part: list[Any], pick: Any) -> Any:
        rows = [r for r in part if r[1] is not None]
        return pick(rows, key=lambda r: (spark_order(r[1]), text(r[2])))[2] if rows else None

    def by_text(part: list[Any]) -> Any:
        rows = [r for r in part if r[2] is not None]
        return max(rows, key=lambda r: (r[2].encode(), -1 if r[3] is None else r[3]))[3] if rows else None

    def top(part: list[Any], sign: int) -> Any:
        rows = sorted((r for r in part if r[3] is not None), key=lambda r: (sign * r[3], text(r[2])))
        return tuple(r[2] for r in rows[:2]) if rows else None

    answers = (
        lambda part: by_double(part, min),
        lambda part: by_double(part, max),
        by_text,
        lambda part: top(part, -1),
        lambda part: top(part, 1),
    )
    check(Grouping(TYPES, width, calls, workers), width, history, answers)


STRUCT = StructType([StructField("x", IntegerType()), StructField("y", TEXT)])
LIST = ArrayType(IntegerType())


@given(
    history=histories(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.one_of(
                st.none(),
                st.builds(
                    lambda x, y: {"x": x, "y": y},
                    st.sampled_from([1, 2, None]),
                    st.sampled_from(["p", "q", None]),
                ),
            ),
            st.one_of(st.none(), st.lists(st.sampled_from([1, 2, None]), max_size=3)),
        )
    )
)
@settings(deadline=None, max_examples=40)
def test_the_smallest_and_largest_of_nested_values(history: list[Rows]) -> None:
    st_, arr = column(STRUCT, 1), column(LIST, 2)
    calls = [call(f, kind, c) for c, kind in ((st_, STRUCT), (arr, LIST)) for f in ("Min", "Max")]

    def nulls_lowest(values: Any) -> Any:
        return tuple((0, 0) if v is None else (1, v) for v in values)

    orders = {1: lambda fields: nulls_lowest(v for _, v in fields), 2: nulls_lowest}
    answers = [
        lambda part, i=i, pick=pick: pick(present(part, i), key=orders[i], default=None)
        for i in (1, 2)
        for pick in (min, max)
    ]
    check(Grouping([TEXT, STRUCT, LIST], 1, calls), 1, history, answers)
