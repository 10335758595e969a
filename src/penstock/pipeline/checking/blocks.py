"""Checks a batch in blocks: every chunk, and that rows, index and filters agree.

A search trusts the index (which block may have a word), the order of rows within and across blocks, and the
filters (which keys are not there). Each of them can be wrong with correct checksums if it was written wrong,
and then rows are not found. Some blocks are in memory at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.storage import Backend, Pool, Segment
from penstock.storage.block_index import Codec, Role
from penstock.storage.resident import FILTERS, OTHERS, SEARCHED, ResidentColumns
from penstock.trace import unsound
from penstock.trace.batch import WORDS

__all__ = ["wrong_blocks"]

_AT_ONCE = 256
_ORDER, _KEY, _ = WORDS


def wrong_blocks(segment: Segment, backend: Backend, number: int) -> Iterator[str]:
    """What is wrong with the entry of this number. Raises CorruptionError where a checksum is."""
    pool = Pool(0)
    columns = segment.copied_columns(backend, number, pool, searched=WORDS)
    index = columns.index
    derived = {index.schema.names[b.column] for b in index.buffers if b.codec is Codec.DERIVED}
    names = [name for name in index.schema.names if name not in derived]
    yield from _wrong_index(columns)
    nulls: Counter[str] = Counter()
    before: pa.RecordBatch | None = None
    for blocks in np.split(np.arange(index.blocks), range(_AT_ONCE, index.blocks, _AT_ONCE)):
        if not len(blocks):
            continue
        columns.need(OTHERS, blocks)
        if _ORDER not in derived:
            columns.need(SEARCHED, blocks)
        if columns.has_filters:
            columns.need(FILTERS, blocks)
        start, stop = index.rows_of(int(blocks[0]))[0], index.rows_of(int(blocks[-1]))[1]
        rows = pa.RecordBatch.from_arrays(
            [
                columns.columns[index.schema.get_field_index(name)].slice(start, stop - start)
                for name in names
            ],
            names,
        )
        nulls.update({name: _nulls(column) for name, column in zip(names, rows.columns, strict=True)})
        if what := unsound(rows):
            yield f"blocks {blocks[0]} to {blocks[-1]} (rows from {start} on): {what}"
        if _ORDER not in derived:
            yield from _wrong_words(columns, rows, blocks, start)
            yield from _wrong_between(before, rows, int(blocks[0]))
            before = _copied_end(rows)
        pool.trim()
    yield from _wrong_nulls(columns, nulls)


def _wrong_index(columns: ResidentColumns) -> Iterator[str]:
    index = columns.index
    first = index.first_words
    if index.blocks != -(-index.rows // index.block_rows):
        yield f"the index has {index.blocks} blocks of {index.block_rows} rows for {index.rows} rows"
    falling = np.flatnonzero(first[1:] < first[:-1])
    if len(falling):
        yield f"the index says that block {int(falling[0]) + 1} begins with a lower word than the one before"
    if index.blocks and int(first[-1]) > index.last_word:
        yield "the index says that the last word is lower than the first one of the last block"


def _wrong_words(
    columns: ResidentColumns, rows: pa.RecordBatch, blocks: NDArray[np.int64], start: int
) -> Iterator[str]:
    """Where words are not what index and filters say."""
    index, order = columns.index, rows.column(_ORDER).to_numpy()
    wrong = blocks[order[blocks * index.block_rows - start] != index.first_words[blocks]]
    if len(wrong):
        yield f"block {int(wrong[0])} does not begin with the word that the index says"
    if start + rows.num_rows == index.rows and int(order[-1]) != index.last_word:
        yield f"block {int(blocks[-1])} does not end with the word that the index says"
    if columns.has_filters and _KEY in rows.schema.names:
        missing = ~columns.may_hold(order, order, rows.column(_KEY).to_numpy())
        if missing.any():
            row = start + int(missing.argmax())
            yield f"the filter of block {row // index.block_rows} does not have the key of row {row}"


def _wrong_between(before: pa.RecordBatch | None, rows: pa.RecordBatch, block: int) -> Iterator[str]:
    """Whether rows follow on those of the blocks before."""
    if before is None:
        return
    order, last = rows.column(_ORDER).to_numpy(), before.column(_ORDER)[-1].as_py()
    if int(order[0]) < last:
        yield f"block {block} begins with a lower word than the last of the block before"
    same = rows.slice(0, int(np.searchsorted(order, last, "right")))
    lanes = [name for name in WORDS if name in rows.schema.names]
    seen = set(zip(*(before.column(name).to_pylist() for name in lanes), strict=True))
    if seen & set(zip(*(same.column(name).to_pylist() for name in lanes), strict=True)):
        yield f"a row of block {block} has the identity of a row of the block before"


def _copied_end(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The words of the last rows, those that share their word, in memory of their own."""
    order = rows.column(_ORDER).to_numpy()
    end = rows.slice(int(np.searchsorted(order, order[-1])))
    names = [name for name in WORDS if name in rows.schema.names]
    return pa.RecordBatch.from_pydict({name: end.column(name).to_numpy().copy() for name in names})


def _nulls(column: pa.Array) -> int:
    return len(column) - int(column.is_valid().to_numpy(zero_copy_only=False).sum())


def _wrong_nulls(columns: ResidentColumns, found: Counter[str]) -> Iterator[str]:
    index = columns.index
    first_nodes: dict[int, int] = {}
    for buffer in index.buffers:
        first_nodes.setdefault(buffer.column, buffer.node)
        name = index.schema.names[buffer.column]
        is_top = buffer.node == first_nodes[buffer.column] and buffer.role is not Role.FILTER
        if is_top and buffer.codec is not Codec.DERIVED and buffer.nulls != found[name]:
            yield f"the index says that column {name} has {buffer.nulls} NULLs, and it has {found[name]}"
            return
