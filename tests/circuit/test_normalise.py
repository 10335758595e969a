"""One zero and one NaN, before rows are kept or merged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql.types import DoubleType

from penstock.circuit.delta import Delta
from penstock.circuit.operators import Index, View
from penstock.expr.nodes import Column
from tests.circuit.alone import Alone, delta, meaning


def test_rows_that_count_as_equal_are_made_equal_to_the_bit_before_they_are_kept() -> None:
    schema = pa.schema([("x", pa.float64()), ("l", pa.list_(pa.float32()))])
    change = [((-0.0, [0.0]), 1), ((0.0, [-0.0]), 1), ((-float("nan"), None), 1)]
    for operator in (Index(schema, (Column(DoubleType(), True, 0, "x"),), (False,)), View(schema, "v")):
        flow = Alone(operator).step(delta(schema, change))
        assert isinstance(flow, Delta)
        x, elements = flow.zset.columns[0], flow.zset.columns[1].flatten()
        assert not np.signbit(np.asarray(x)).any() and not np.signbit(np.asarray(elements)).any()
        assert meaning(flow) == meaning(delta(schema, change))
