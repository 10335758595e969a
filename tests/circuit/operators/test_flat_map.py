"""Generators: one row for each element, with the weight of the row it comes from."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import ArrayType, IntegerType, LongType, MapType, StringType, StructField, StructType

from penstock.circuit.operators import FlatMap, Replicate
from penstock.expr.nodes import Column
from penstock.expr.types import to_arrow
from penstock.zset import ReferenceZSet
from tests.circuit.alone import Alone, delta, meaning

INT, TEXT = IntegerType(), StringType()
PAIR = StructType([StructField("a", INT), StructField("b", TEXT)])
LISTS, MAPS, PAIRS = ArrayType(INT), MapType(TEXT, INT), ArrayType(PAIR)

lists = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.integers(0, 2)), max_size=3))


def made(rows: list[tuple[Any, int]], kind: Any, operator: FlatMap) -> ReferenceZSet:
    schema = pa.schema([("id", pa.int32()), ("c", to_arrow(kind))])
    # A column that is a slice of a longer one must not give the elements before it.
    part = delta(schema, [((9, rows[0][0][1] if rows else None), 1), *rows])
    sliced = type(part)(part.zset.slice(1, len(part)))
    return meaning(Alone(operator).step(sliced))


@pytest.mark.parametrize("outer", [False, True])
@pytest.mark.parametrize("position", [False, True])
@given(rows=st.lists(st.tuples(st.tuples(st.integers(0, 1), lists), st.sampled_from([-1, 1, 2])), max_size=6))
@settings(deadline=None, max_examples=40)
def test_arrays(rows: list[tuple[Any, int]], outer: bool, position: bool) -> None:
    fields = [("id", pa.int32()), *([("p", pa.int32())] if position else []), ("e", pa.int32())]
    operator = FlatMap(pa.schema(fields), Column(LISTS, True, 1), (0,), position, False, outer)
    expected = []
    for (id_, items), weight in rows:
        found: list[Any] = [((i, item) if position else (item,)) for i, item in enumerate(items or ())]
        if outer and not found:
            found = [(None, None) if position else (None,)]
        expected += [((id_, *item), weight) for item in found]
    assert made(rows, LISTS, operator) == ReferenceZSet.of_rows(expected)


def test_maps_give_keys_and_values() -> None:
    schema = pa.schema([("id", pa.int32()), ("k", pa.string()), ("v", pa.int32())])
    rows = [((1, [("x", 1), ("y", None)]), 2), ((2, None), 1), ((3, []), 1)]
    inner = FlatMap(schema, Column(MAPS, True, 1), (0,), False, True, False)
    assert made(rows, MAPS, inner) == ReferenceZSet({(1, "x", 1): 2, (1, "y", None): 2})
    outer = FlatMap(schema, Column(MAPS, True, 1), (0,), False, True, True)
    found = {(1, "x", 1): 2, (1, "y", None): 2, (2, None, None): 1, (3, None, None): 1}
    assert made(rows, MAPS, outer) == ReferenceZSet(found)


def test_structs_give_their_fields_and_a_null_struct_gives_nulls() -> None:
    schema = pa.schema([("a", pa.int32()), ("b", pa.string())])
    rows = [((1, [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}]), 1), ((2, []), 1)]
    operator = FlatMap(schema, Column(PAIRS, True, 1), (), False, True, False)
    assert made(rows, PAIRS, operator) == ReferenceZSet({(1, "x"): 1, (None, None): 1, (None, "y"): 1})


def test_repeated_rows_are_a_matter_of_weight() -> None:
    schema = pa.schema([("n", pa.int64()), ("s", pa.string())])
    operator = Replicate(pa.schema([("s", pa.string())]), Column(LongType(), True, 0), (1,))
    out = Alone(operator).step(delta(schema, [((3, "a"), 2), ((0, "b"), 1), ((2, "c"), -1), ((-1, "d"), 1)]))
    assert meaning(out) == ReferenceZSet({("a",): 6, ("c",): -2})
