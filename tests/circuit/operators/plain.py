"""A table of a text and a number, with NULLs, and a few expressions over it."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType

from penstock.expr.nodes import Call, Column, Literal

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
ROW = st.tuples(st.sampled_from(["a", "b", None]), st.one_of(st.none(), st.integers(-2, 2)))
K, N = Column(StringType(), True, 0, "k"), Column(LongType(), True, 1, "n")
TWO = Literal(LongType(), False, 2)
PLUS_TWO = Call(LongType(), True, "Add", (N, TWO), (("mode", "ANSI"),))
