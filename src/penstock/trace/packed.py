"""A batch packed for the disk: as a Parquet file, without the words that its values tell.

A batch is kept as it is used, in plain columns with the hashes beside them: it is mapped and searched without
reading it. That takes many times the space of a compressed file. Where space matters more than opening
quickly, a batch is packed: Parquet's encodings and zstd for the columns, and no hashes where the operator
computes them from the values again. The rows stay in their order, so unpacking does not sort.

The Parquet file is the only value of a one-row record batch, so that it lies in a segment like any other
block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.trace.batch import SEQUENCE, WORDS, Batch, Words
from penstock.trace.order import Ordered

__all__ = ["SMALLEST", "KeyWords", "pack", "unpack"]

SMALLEST = 16_384
"""Rows from which packing is worth it."""

KeyWords = tuple[Words, Words, Words | None]
"""Order words, the key's second lane and the row's, as in a :class:`~penstock.trace.Batch`."""

_COLUMN = "parquet"


def pack(batch: Batch, *, with_words: bool) -> pa.RecordBatch:
    """The batch in one value, with its words or without."""
    rows = batch.to_arrow()
    if not with_words:
        rows = rows.select([name for name in rows.schema.names if name not in WORDS])
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_batches([rows]), sink, compression="zstd")
    content = sink.getvalue()
    ends = pa.py_buffer(np.array([0, content.size], np.int64))
    value = pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, content])
    return pa.RecordBatch.from_arrays([value], names=[_COLUMN])


def unpack(
    block: pa.RecordBatch, words: Callable[[Sequence[pa.Array], int], KeyWords] | None, ordered: Ordered
) -> Batch:
    """The batch; ``words`` computes them from the values, if that can be. Raises ValueError if they are not
    in order."""
    content = block.column(_COLUMN)[0].as_buffer()
    table = pq.read_table(pa.BufferReader(content)).combine_chunks()
    columns = {name: _contiguous(table[name]) for name in table.schema.names}
    told = {name: text for name, text in (table.schema.metadata or {}).items() if name in SEQUENCE}
    if not told and not set(WORDS) & columns.keys():
        values = [column for name, column in columns.items() if name.startswith("v")]
        if words is None:
            raise ValueError("it has no words, and its values do not tell them")
        found = words(values, table.num_rows)
        if np.any(found[0][1:] < found[0][:-1]):
            raise ValueError("its rows are not in the order of their hashes")
        columns |= {name: pa.array(word) for name, word in zip(WORDS, found, strict=True) if word is not None}
    return Batch.from_arrow(pa.RecordBatch.from_pydict(columns, metadata=told), ordered=ordered)


def _contiguous(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
