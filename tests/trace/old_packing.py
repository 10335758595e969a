"""Writes batches as earlier releases did with ``compact``: as a Parquet file in a record batch of one row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.trace import Batch
from penstock.trace.batch import WORDS


def pack(batch: Batch, *, with_words: bool) -> pa.RecordBatch:
    """The batch as one value, with or without its words."""
    rows = batch.to_arrow()
    if not with_words:
        rows = rows.select([name for name in rows.schema.names if name not in WORDS])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([rows]), sink, compression="zstd")
    content = sink.getvalue()
    ends = pa.py_buffer(np.array([0, content.size], np.int64))
    value = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, content])
    return pa.RecordBatch.from_arrays([value], names=["parquet"])
