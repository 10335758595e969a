"""Arrow values of every type a row can hold: fixed ones for golden hashes, random ones to search with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from penstock.zset import ZSet

_UTC = dt.UTC

# name -> an array with ordinary, extreme and NULL values
SAMPLES: dict[str, pa.Array] = {
    "bool": pa.array([True, False, None]),
    "int8": pa.array([0, 1, -1, 127, -128, None], pa.int8()),
    "int16": pa.array([0, 1, -1, 32767, -32768, None], pa.int16()),
    "int32": pa.array([0, 1, -1, 2**31 - 1, -(2**31), None], pa.int32()),
    "int64": pa.array([0, 1, -1, 2**63 - 1, -(2**63), None], pa.int64()),
    "float32": pa.array(
        [0.0, -0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan"), None], pa.float32()
    ),
    "float64": pa.array(
        [0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), None]
    ),
    "decimal": pa.array(
        [Decimal("0.00"), Decimal("12.34"), Decimal("-12.34"), Decimal(10**35), Decimal(-(10**35)), None],
        pa.decimal128(38, 2),
    ),
    "string": pa.array(["", "a", "\0", "eight888", "nine99999", "Grüße, 世界 🌊", "long " * 40, None]),
    "large_string": pa.array(["", "a", "long " * 40, None], pa.large_string()),
    "binary": pa.array([b"", b"\0", b"\0\0", b"\xff" * 8, bytes(range(200)), None]),
    "date": pa.array([dt.date(1970, 1, 1), dt.date(1582, 10, 4), dt.date(9999, 12, 31), None]),
    "timestamp": pa.array([0, 1, -1, 1_700_000_000_000_000, None], pa.timestamp("us", "UTC")),
    "timestamp_ntz": pa.array([0, 1, -1, 1_700_000_000_000_000, None], pa.timestamp("us")),
    "duration": pa.array([0, 1, -86_400_000_000, None], pa.duration("us")),
    "null": pa.nulls(2),
    "list": pa.array([[], [1], [1, 2], [2, 1], [None], [1, None], None], pa.list_(pa.int32())),
    "list_of_list": pa.array(
        [[], [[]], [None], [["a"], []], [[], ["a"]], None], pa.list_(pa.list_(pa.string()))
    ),
    "struct": pa.array(
        [{"a": 1, "b": "x"}, {"a": None, "b": "x"}, {"a": 1, "b": None}, {"a": None, "b": None}, None],
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
    ),
    "map": pa.array(
        [[], [("k", 1)], [("k", None)], [("k", 1), ("l", 2)], [("l", 2), ("k", 1)], None],
        pa.map_(pa.string(), pa.int32()),
    ),
    "dictionary": pa.array(["x", "y", "x", None]).dictionary_encode(),
}

_integers = st.sampled_from([0, 1, -1, 2, 2**63 - 1, -(2**63)]) | st.integers(-3, 3)
_doubles = st.sampled_from([0.0, -0.0, float("nan"), float("inf"), 1.5]) | st.floats()
_decimals = st.integers(-3, 3).map(lambda n: Decimal(n).scaleb(-2)) | st.sampled_from(
    [Decimal(10**35), Decimal(-(10**35)), Decimal(2**64), Decimal(2**65)]
)
_strings = st.sampled_from(["", "a", "b", "\0", "12345678", "123456789"]) | st.text(max_size=100)
_instants = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)).map(
    lambda t: t.replace(tzinfo=_UTC)
)

_VALUES: list[tuple[pa.DataType, st.SearchStrategy[object]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int64(), _integers),
    (pa.float64(), _doubles),
    (pa.decimal128(38, 2), _decimals),
    (pa.string(), _strings),
    (pa.binary(), st.binary(max_size=20)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us", "UTC"), _instants),
    (pa.null(), st.none()),
    (pa.list_(pa.float64()), st.lists(st.none() | _doubles, max_size=3)),
    (
        pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]),
        st.fixed_dictionaries({"a": st.none() | _integers, "b": st.none() | st.lists(_strings, max_size=2)}),
    ),
    (
        pa.map_(pa.string(), pa.float64()),
        st.dictionaries(_strings, _doubles, max_size=2).map(lambda d: list(d.items())),
    ),
]


@st.composite
def typed_columns(draw: st.DrawFn, rows: int | None = None) -> tuple[pa.Schema, list[list[object]]]:
    """A random schema and, for each of its columns, values for the same number of rows."""
    kinds = draw(st.lists(st.sampled_from(_VALUES), min_size=1, max_size=3))
    rows = draw(st.integers(0, 12)) if rows is None else rows
    columns = [draw(st.lists(st.none() | values, min_size=rows, max_size=rows)) for _, values in kinds]
    return pa.schema([(f"c{i}", kind) for i, (kind, _) in enumerate(kinds)]), columns


@st.composite
def zsets(draw: st.DrawFn) -> ZSet:
    """A random Z-set that repeats some of its rows."""
    schema, columns = draw(typed_columns())
    base = zset_of(schema, columns, np.ones(len(columns[0]), np.int64))
    picks = draw(st.lists(st.integers(0, max(0, len(base) - 1)), max_size=20)) if len(base) else []
    weights = draw(st.lists(st.integers(-2, 2), min_size=len(picks), max_size=len(picks)))
    return base.take(np.array(picks, np.int64)).with_weights(np.array(weights, np.int64))


def zset_of(schema: pa.Schema, columns: Sequence[Sequence[object]], weights: Sequence[int]) -> ZSet:
    """A Z-set of Python values."""
    arrays = tuple(pa.array(values, field.type) for values, field in zip(columns, schema, strict=True))
    return ZSet(schema, arrays, np.asarray(weights, np.int64))
