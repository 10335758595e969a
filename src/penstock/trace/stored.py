"""Batches in blocks on file: how they are opened, and how a merge writes one piece by piece.

An opened batch has the columns of the file as its arrays and asks for blocks before it reads them
(:mod:`.backing`). Everything that works on a batch in memory works on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.storage import (
    Backend,
    BlockForm,
    Bounds,
    Pool,
    SegmentDraft,
    bounds_of_rows,
    can_be_blocked,
)
from penstock.storage.block_index import Role
from penstock.storage.block_layout import children_of
from penstock.storage.resident import ResidentColumns
from penstock.trace.backing import Backing
from penstock.trace.batch import TIME, WORDS, Batch, Weights
from penstock.trace.builders import merge_runs
from penstock.trace.directory import Directory
from penstock.trace.order import Ordered
from penstock.trace.rewrite import Rewrite, unchanged
from penstock.trace.turns import Turns
from penstock.zset.width import MOST_BYTES, narrow_type, wide_type

__all__ = [
    "BLOCKS",
    "bounds_of_batch",
    "can_be_stored",
    "in_memory",
    "merge_to_draft",
    "private",
    "stored_batch",
    "with_sums",
]

BLOCKS = "blocks"
"""The kind of entry of a batch in blocks."""

_WEIGHT, _SUM, _VALUE = "weight", "sum:", "v"
_NO_STARTS = np.empty(0, np.int32)
_PRIVATE_BYTES = 32 << 20


def can_be_stored(batch: Batch) -> bool:
    """Whether the types of all columns can be stored in blocks."""
    return can_be_blocked(batch.slice(0, 0).to_columns().schema)


def stored_batch(columns: ResidentColumns, ordered: Ordered) -> Batch:
    """The batch that has these columns. Nothing is read."""
    names = columns.index.schema.names
    by_name = dict(zip(names, columns.columns, strict=True))
    index = columns.index
    scale = np.array([index.block_rows, 0], np.uint64)
    order, key_lo, row_lo = WORDS
    return Batch(
        by_name[order].to_numpy(),
        by_name[key_lo].to_numpy(),
        by_name[row_lo].to_numpy() if row_lo in by_name else None,
        by_name[_WEIGHT].to_numpy(),
        tuple(column for name, column in by_name.items() if name.startswith(_VALUE)),
        {name.removeprefix(_SUM): c.to_numpy() for name, c in by_name.items() if name.startswith(_SUM)},
        ordered,
        Directory(_NO_STARTS, scale, index.first_words),
        backing=Backing(columns, 0),
        times=by_name[TIME].to_numpy() if TIME in by_name else None,
    )


def bounds_of_batch(batch: Batch) -> Bounds:
    """The most that a batch has, without reading it if it is on file."""
    if batch.backing is None:
        return bounds_of_rows(batch.to_columns())
    index = batch.backing.columns.index
    nulls, data = dict.fromkeys(index.schema.names, 0), dict.fromkeys(index.schema.names, 0)
    for number, buffer in enumerate(index.buffers):
        name = index.schema.names[buffer.column]
        is_nested = bool(children_of(index.schema.types[buffer.column]))
        if buffer.role is not Role.FILTER and not is_nested:
            nulls[name] = buffer.nulls
        if buffer.role is Role.DATA or is_nested:
            data[name] += int(index.chunks.size[:, number].sum())
    names = batch.slice(0, 0).to_columns().schema.names
    return Bounds(
        len(batch),
        tuple(nulls.get(name, 0) for name in names),
        tuple(data.get(name, 0) for name in names),
    )


def merge_to_draft(
    backend: Backend,
    batches: Sequence[Batch],
    meta: Mapping[str, object],
    form: BlockForm,
    turns: Turns | None = None,
    *,
    rewrite: Rewrite = unchanged,
) -> SegmentDraft:
    """Merges batches into a segment that is not published yet, of what ``rewrite`` makes of their sum. A few
    pieces are in memory at a time, whatever the size of the batches. May run in another thread, while they
    are read; between pieces it lets steps go first."""
    pool = Pool(_PRIVATE_BYTES)
    sums = list(dict.fromkeys(name for batch in batches for name in batch.sums))
    bounds = Bounds.together([bounds_of_batch(with_sums(batch, sums)) for batch in batches])
    schema = _stored_schema(with_sums(batches[0].slice(0, 0), sums).to_columns().schema, bounds)
    draft = SegmentDraft(backend, BLOCKS, meta, schema, bounds, form)
    try:
        for piece in map(rewrite, merge_runs([private(batch, pool) for batch in batches])):
            rows = with_sums(in_memory(piece) if piece.backing is not None else piece, sums).to_columns()
            draft.add(rows.cast(schema))
            pool.trim()
            if turns is not None:
                turns.give_way()
    except BaseException:
        draft.discard()
        raise
    return draft


def with_sums(batch: Batch, names: Sequence[str]) -> Batch:
    """The batch with all these additive columns, in this order: those that it lacks are zero."""
    if list(batch.sums) == list(names):
        return batch
    zeros: Weights = np.zeros(len(batch), np.int64)
    return replace(batch, sums={name: batch.sums.get(name, zeros) for name in names})


def _stored_schema(schema: pa.Schema, bounds: Bounds) -> pa.Schema:
    """Wide types for columns that may become too large for narrow ones."""
    return pa.schema(
        [
            field.with_type((wide_type if size > MOST_BYTES else narrow_type)(field.type))
            for field, size in zip(schema, bounds.data, strict=True)
        ]
    )


def private(batch: Batch, pool: Pool) -> Batch:
    """The batch for a reader in another thread, whose blocks nobody else drops."""
    if batch.backing is None:
        return batch
    backing = batch.backing.private(pool)
    whole = stored_batch(backing.columns, batch.ordered)
    return whole.slice(backing.start, backing.start + len(batch))


def in_memory(batch: Batch) -> Batch:
    """The rows in memory of their own, which stays as it is when blocks are dropped."""
    return batch.take(np.arange(len(batch)))
