"""Batches as earlier releases compressed them: a Parquet file, perhaps without the words of its rows.

They are read, and no longer written: large batches are stored in blocks (:mod:`.form`). The Parquet file is
the only value of a one-row record batch. Its rows are in order, so unpacking does not sort.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.storage.resident import Derive
from penstock.trace.batch import SEQUENCE, WORDS, Batch, Words
from penstock.trace.order import Ordered
from penstock.zset import contiguous

__all__ = ["KeyWords", "stored_rows", "unpack"]

KeyWords = tuple[Words, Words, Words | None]
"""Order words, and the second lanes of key and row, as in a :class:`~penstock.trace.Batch`."""

_COLUMN = "parquet"


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
