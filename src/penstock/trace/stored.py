"""Batches in blocks on file: how they are opened, and how a merge writes one piece by piece.

An opened batch has the columns of the file as its arrays and asks for blocks before it reads them
(:mod:`.backing`). Everything that works on a batch in memory works on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.storage import Backend, Bounds, Codec, Pool, SegmentDraft, bounds_of_rows, can_be_blocked
from penstock.storage.block_index import Role
from penstock.storage.resident import ResidentColumns
from penstock.trace.backing import Backing
from penstock.trace.batch import WORDS, Batch, Weights
from penstock.trace.builders import merge_runs
from penstock.trace.directory import Directory
from penstock.trace.order import Ordered
from penstock.zset.width import MOST_BYTES, narrow_type, wide_type

__all__ = ["BLOCKS", "PLAIN", "SMALL", "SMALL_DERIVED", "merge_to_draft", "stored_batch", "can_be_stored"]

BLOCKS = "blocks"
"""The kind of entry of a batch in blocks."""

Codecs = Mapping[str, Codec]
PLAIN: Codecs = {}
"""Everything as it is used: for what is read often."""

_WEIGHT, _SUM, _VALUE = "weight", "sum:", "v"
_NO_STARTS = np.empty(0, np.int32)
_PRIVATE_BYTES = 32 << 20


def small(schema: pa.Schema, *, derived: bool) -> Codecs:
    """Everything compressed, and words left out if they are ``derived`` from the values."""
    word = Codec.DERIVED if derived else Codec.DELTA_ZSTD
    return {name: word if name in WORDS else Codec.ZSTD for name in schema.names}


def can_be_stored(batch: Batch) -> bool:
    """Whether the types of all columns can be stored in blocks."""
    return can_be_blocked(batch.slice(0, 0).to_columns().schema)


def stored_batch(columns: ResidentColumns, ordered: Ordered) -> Batch:
    """The batch that has these columns. Nothing is read."""
    names = columns.index.schema.names
    words = tuple(i for i, name in enumerate(names) if name in WORDS)
    rest = tuple(i for i in range(len(names)) if i not in words)
    by_name = dict(zip(names, columns.columns, strict=True))
    index = columns.index
    scale = np.array([index.block_rows, 0], np.uint64)
    order, key_lo, row_lo = (by_name[name].to_numpy() if name in by_name else None for name in WORDS)
    return Batch(
        order,
        key_lo,
        row_lo,
        by_name[_WEIGHT].to_numpy(),
        tuple(column for name, column in by_name.items() if name.startswith(_VALUE)),
        {name.removeprefix(_SUM): c.to_numpy() for name, c in by_name.items() if name.startswith(_SUM)},
        ordered,
        Directory(_NO_STARTS, scale, index.first_words),
        backing=Backing(columns, 0, words, rest),
    )


def bounds_of_batch(batch: Batch) -> Bounds:
    """The most that a batch has, without reading it if it is on file."""
    if batch.backing is None:
        return bounds_of_rows(batch.to_columns())
    index = batch.backing.columns.index
    nulls, data = [0] * len(index.schema), [0] * len(index.schema)
    for number, buffer in enumerate(index.buffers):
        nulls[buffer.column] = buffer.nulls
        if buffer.role is Role.DATA:
            data[buffer.column] = int(index.chunks.size[:, number].sum())
    return Bounds(len(batch), tuple(nulls), tuple(data))


class MergeToDraft:
    """A merge of batches whose result goes to a segment as it is made. :meth:`turn` does a bounded part of it."""

    def __init__(
        self, backend: Backend, batches: Sequence[Batch], meta: Mapping[str, object], codecs: Codecs
    ) -> None:
        self._pool = Pool(_PRIVATE_BYTES)
        inputs = [_private(batch, self._pool) for batch in batches]
        self._sums = list(dict.fromkeys(name for batch in inputs for name in batch.sums))
        shape = _with_sums(batches[0].slice(0, 0), self._sums).to_columns().schema
        bounds = [bounds_of_batch(_with_sums_bounds(batch)) for batch in batches]
        raise NotImplementedError


def _private(batch: Batch, pool: Pool) -> Batch:
    """The batch for a reader in another thread, which reads it once, from one end to the other."""
    raise NotImplementedError


def _with_sums(batch: Batch, names: Sequence[str]) -> Batch:
    raise NotImplementedError
