"""Rows with every kind of tie and edge value, and orders over them."""

from __future__ import annotations

import math

import pyarrow as pa
from hypothesis import strategies as st

from penstock.circuit.ordering import OrderBy

SCHEMA = pa.schema([("g", pa.string()), ("x", pa.float64()), ("s", pa.string())])

ROW = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 1.0, -0.5, 0.0, math.nan, math.inf, 2.0**-60, 1.0 + 2.0**-40]),
    st.sampled_from([None, "", "abcd", "abcde", "abcd\0", "z"]),
)

ORDERS = {
    "ascending": (OrderBy(1),),
    "descending": (OrderBy(1, True, False),),
    "nulls_last": (OrderBy(1, False, False), OrderBy(2, True, True)),
    "text_first": (OrderBy(2, True, False), OrderBy(1)),
    "nothing": (),
}
