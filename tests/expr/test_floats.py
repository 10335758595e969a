"""Floating-point values that are equal to Spark have one spelling after normalisation, however deep."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import types as t

from penstock.expr.evaluate import evaluate
from penstock.expr.functions.floats import normalise_floats
from penstock.expr.nodes import Call, Column, Literal
from penstock.expr.types import to_arrow

STRANGE_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000001234))[0]
DOUBLES = [1.5, -0.0, None, STRANGE_NAN, 0.0, float("inf"), float("-inf"), -1.5, float("nan"), 5e-324]


def spelled(value: Any) -> Any:
    """The value with every float as its bits."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, dict):
        return {name: spelled(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [spelled(item) for item in value]
    return value


def expected(value: Any) -> Any:
    """The same in plain Python."""
    if isinstance(value, float):
        return struct.pack("<d", float("nan") if value != value else value + 0.0)
    if isinstance(value, dict):
        return {name: expected(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [expected(item) for item in value]
    return value


DOUBLE = t.DoubleType()
STRUCT = t.StructType([t.StructField("x", DOUBLE), t.StructField("n", t.IntegerType())])
NESTED: list[tuple[t.DataType, list[Any]]] = [
    (DOUBLE, DOUBLES),
    (t.ArrayType(DOUBLE), [DOUBLES, None, [], [-0.0], [1.0]]),
    (STRUCT, [{"x": x, "n": i} for i, x in enumerate(DOUBLES)] + [None]),
    (t.MapType(t.StringType(), DOUBLE), [[("a", -0.0), ("b", None)], None, [], [("c", STRANGE_NAN)]]),
    (t.MapType(DOUBLE, t.StringType()), [[(-0.0, "a")], [(STRANGE_NAN, "b"), (1.0, None)]]),
    (t.ArrayType(t.ArrayType(STRUCT)), [[[{"x": -0.0, "n": 1}, None], None], [[{"x": 1.0, "n": 2}]], None]),
]


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize(("data_type", "values"), NESTED, ids=[kind.simpleString() for kind, _ in NESTED])
def test_every_float_gets_the_one_spelling(data_type: t.DataType, values: list[Any], offset: int) -> None:
    array = pa.array(values, to_arrow(data_type)).slice(offset)
    result = normalise_floats(array)
    result.validate(full=True)
    assert result.type == array.type
    assert spelled(result.to_pylist()) == expected(values[offset:])
    column = Column(data_type, True, 0, "c")
    call = Call(data_type, True, "NormalizeNaNAndZero", (column,))
    assert spelled(evaluate(call, [array], len(array)).to_pylist()) == expected(values[offset:])


def test_singles_keep_their_width() -> None:
    strange = np.array([0x80000000, 0x7FC00001, 0x3F800000], np.uint32).view(np.float32)
    result = normalise_floats(pa.array(strange, pa.float32()))
    assert result.type == pa.float32()
    assert np.asarray(result).view(np.uint32).tolist() == [0, 0x7FC00000, 0x3F800000]


def test_what_is_spelled_right_is_passed_on_without_a_copy() -> None:
    arrays = [
        pa.array([0.0, float("nan"), 1.0, None]),
        pa.array([[1.0], None, []]),
        pa.array([{"x": 1.0}, None]),
        pa.array(["a", None]),
        pa.array([[("a", 0.0)]], pa.map_(pa.string(), pa.float64())),
    ]
    for array in arrays:
        assert normalise_floats(array) is array


def test_a_constant_is_normalised_too() -> None:
    call = Call(DOUBLE, False, "NormalizeNaNAndZero", (Literal(DOUBLE, False, -0.0),))
    assert spelled(evaluate(call, [], 2).to_pylist()) == [spelled(0.0)] * 2
