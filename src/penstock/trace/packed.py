"""A batch compressed for the disk: a Parquet file, without the words that can be recomputed from its values.

A batch is normally stored as it is used, in plain columns with hashes, so that it can be mapped and searched
without reading it. That takes many times the space of a compressed file. Where space matters more than fast
opening, a batch is packed: Parquet's encodings and zstd for the columns, and no hashes if the operator can
recompute them. The rows stay in order, so unpacking does not sort.

The Parquet file is the only value of a one-row record batch, so that it can be stored in a segment like any
other block.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.storage.resident import Derive
from penstock.trace.batch import SEQUENCE, WORDS, Batch, Words
from penstock.trace.order import Ordered
from penstock.zset import contiguous

__all__ = ["SMALLEST", "KeyWords", "pack", "stored_rows", "unpack"]

SMALLEST = 16_384
"""The number of rows from which on packing is worth it."""

KeyWords = tuple[Words, Words, Words | None]
"""Order words, and the second lanes of key and row, as in a :class:`~penstock.trace.Batch`."""

_COLUMN = "parquet"


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
    return pa.RecordBatch.from_arrays([value], names=[_COLUMN])


def unpack(block: pa.RecordBatch, words: Derive | None, ordered: Ordered) -> Batch:
    """The batch; ``words`` recomputes the words from the values, if that is possible. Raises ValueError if
    they are not in order."""
    rows = stored_rows(block)
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    metadata = rows.schema.metadata or {}
    if not metadata and not set(WORDS) & columns.keys():
        values = [column for name, column in columns.items() if name.startswith("v")]
        if words is None:
            raise ValueError("it has no words, and its values do not tell them")
        found = words(values, rows.num_rows)
        order = found[0]
        assert order is not None
        if np.any(order[1:] < order[:-1]):
            raise ValueError("its rows are not in the order of their hashes")
        columns |= {name: pa.array(word) for name, word in zip(WORDS, found, strict=True) if word is not None}
    return Batch.from_arrow(pa.RecordBatch.from_pydict(columns, metadata=metadata), ordered=ordered)


def stored_rows(block: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of a packed batch as they were stored: perhaps without words."""
    content = block.column(_COLUMN)[0].as_buffer()
    table = pq.read_table(pa.BufferReader(content))
    columns = {name: contiguous(table[name]) for name in table.schema.names}
    metadata = {name: text for name, text in (table.schema.metadata or {}).items() if name in SEQUENCE}
    return pa.RecordBatch.from_pydict(columns, metadata=metadata)
