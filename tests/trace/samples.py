"""Random batches: few words, few keys and few rows, so that everything that can collide does."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from penstock.trace import Batch, build_batch

HIGHS = (0, 7 << 32, 0xFFFFFFFF << 32)  # halves of a word, the extremes among them
LOWS = (0, 1, 0xFFFFFFFF)

Entry = tuple[int, int, int, int, int, int]  # word, key_lo, row_lo, weight, two additive columns

small = st.integers(-2, 2)
entries = st.lists(
    st.tuples(
        st.builds(lambda high, low: high | low, st.sampled_from(HIGHS), st.sampled_from(LOWS)),
        st.sampled_from((0, 5, 2**64 - 1)),
        st.sampled_from((3, 4)),
        small,
        small,
        small,
    ),
    max_size=40,
)


def batch_of(rows: Sequence[Entry], *, by_row: bool) -> Batch:
    """Entries as a batch. The value is a function of the identity, as it is for real rows."""
    word, key_lo, row_lo, weight, first, second = (
        zip(*rows, strict=True) if rows else ((), (), (), (), (), ())
    )
    names = [f"{w}/{k}/{r if by_row else ''}" for w, k, r in zip(word, key_lo, row_lo, strict=True)]
    return build_batch(
        np.array(word, np.uint64),
        np.array(key_lo, np.uint64),
        np.array(row_lo, np.uint64) if by_row else None,
        np.array(weight, np.int64),
        (pa.array(names, pa.string()),),
        {"a": np.array(first, np.int64), "b": np.array(second, np.int64)},
    )


_texts = st.one_of(
    st.sampled_from(
        ["", "a", "ab", "abcd", "abcde", "abcdf", "abcd\0", "\0", "é", "éa", "\U0001f30a", "zzzz"]
    ),
    st.text(max_size=6),
)
# name -> Arrow type and values of it, with ties in the 32-bit image wanted
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int64": (
        pa.int64(),
        st.one_of(
            st.integers(-9, 9),
            st.integers(-(2**63), 2**63 - 1),
            st.integers(0, 3).map(lambda i: 2**62 + i),
        ),
    ),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "double": (
        pa.float64(),
        st.one_of(
            st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e300, 1.1e300, 5e-324]),
            st.floats(),
            st.integers(0, 3).map(lambda i: 1.0 + i * 2.0**-40),
        ),
    ),
    "float": (pa.float32(), st.floats(width=32)),
    "decimal": (
        pa.decimal128(38, 2),
        st.one_of(
            st.integers(-(10**37), 10**37),
            st.integers(-300, 300),
            st.integers(0, 3).map(lambda i: 10**30 + i),
        ).map(lambda i: Decimal(i).scaleb(-2)),
    ),
    "string": (pa.string(), _texts),
    "binary": (pa.binary(), st.one_of(_texts.map(str.encode), st.binary(max_size=6))),
    "boolean": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        st.datetimes(dt.datetime(1900, 1, 1), timezones=st.just(dt.UTC)),
    ),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "interval": (
        pa.duration("us"),
        st.integers(-(10**15), 10**15).map(lambda us: dt.timedelta(microseconds=us)),
    ),
}
