"""An immutable batch of a Z-set, indexed or not (:mod:`.kind`), sorted by one 64-bit word.

**The order word.** A row's position in a batch is determined by one ``uint64``: its high half is the high
half of the key's hash, its low half distinguishes rows of one key. With one word, sorting, merging and
searching are single NumPy calls, a shard (a range of the hash's most significant bits) is one contiguous
slice, and the rows of a key are one contiguous run (mixed, once in four billion keys, with those of another
key, which the second hash lane filters out).

What the low half is depends on how the batch will be read:

* *unordered*: the low half of the row's hash, so that equal rows become adjacent when batches merge;
* *keyed by the whole row* (key hash = row hash): the word is then simply the row's 64-bit hash;
* *ordered*: an order-preserving 32-bit image of the value, ties broken by the value itself and then by the
  others (:mod:`penstock.trace.ties`), so that the first rows of a key's run are the smallest values of that
  key (``min`` reads a prefix, not the group).

**Identity** of a row is (order word, ``key_lo``, ``row_lo``): the word and 64 bits each of the key lane and
the row lane. Equal identity means equal row; the values are never compared. Inside a loop the time is part of
it (:mod:`.times`): rows that differ only in time are different updates.

**Weights** are the Z-set's, and ``sums`` are further additive columns: a group's partial sums are just a
weight with more components. Merging adds component-wise; a row whose components are all zero is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.backing import Backing
from penstock.trace.consolidate import consolidate
from penstock.trace.directory import NO_DIRECTORY, Directory, directory_of
from penstock.trace.kind import Kind
from penstock.trace.order import Ordered
from penstock.trace.ties import break_ties
from penstock.zset import Hashes, concat, fitted, gather, numbers

__all__ = ["Batch", "build_batch", "key_range", "merge_batches", "order_words", "sum_of"]

Words = NDArray[np.uint64]
Weights = NDArray[np.int64]

HIGH = np.uint64(0xFFFFFFFF00000000)
LOW = np.uint64(0x00000000FFFFFFFF)

_ORDER, _KEY, _ROW, _WEIGHT, _SUM, _VALUE = "order", "key_lo", "row_lo", "weight", "sum:", "v"
_FIRST, _LANE = b"first", b"lane"
TIME = "time"
"""The column name under which times are stored."""
WORDS = (_ORDER, _KEY, _ROW)
"""The column names under which a batch's words are stored."""
SEQUENCE = (_FIRST, _LANE)
"""The metadata keys for the first order word of a sequence and its common key lane."""


def order_words(key: Hashes, row: Hashes) -> Words:
    """The order word of each row: high half from the key's hash, low half from the row's."""
    return (key.hi & HIGH) | (row.hi & LOW)


def key_range(key: Hashes) -> tuple[Words, Words]:
    """The first and last order word that a row of each key can have (both inclusive)."""
    return key.hi & HIGH, key.hi | LOW


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows sorted by ``order``, consolidated: no two rows have the same identity.

    ``row_lo`` is None where a key has no values: the key alone, or key and time, identify the row. ``values``
    may be empty (a group's sums need no values: a reader of a group already knows its key). ``ordered`` says
    in which direction the rows of one key are sorted by the value in ``values[0]``, if they are. Values too
    large for their type are wide (:mod:`penstock.zset.width`), in memory and on disk.
    """

    order: Words
    key_lo: Words
    row_lo: Words | None
    weights: Weights
    values: tuple[pa.Array, ...] = ()
    sums: Mapping[str, Weights] = field(default_factory=dict)
    ordered: Ordered = None
    directory: Directory = field(default=NO_DIRECTORY, repr=False, compare=False)
    memo: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)
    """Cached results computed from the rows; a batch never changes."""
    backing: Backing | None = field(default=None, repr=False, compare=False)
    """Set if the rows are on file: then they must be asked for before they are read."""
    times: Words | None = None
    """The time of each row (:mod:`.times`), inside a loop; None outside."""

    def __len__(self) -> int:
        return len(self.order)

    @property
    def kind(self) -> Kind:
        """Which of the four kinds of batches this is: its columns say so."""
        return Kind.of(has_values=self.row_lo is not None, has_times=self.times is not None)

    @property
    def nbytes(self) -> int:
        """How many bytes its rows take, in memory or on file."""
        if self.backing is not None:
            return self.backing.bytes_of(len(self))
        words = [self.order, self.key_lo, self.weights, *self.sums.values()]
        words += [lane for lane in (self.row_lo, self.times) if lane is not None]
        return sum(column.nbytes for column in (*words, self.directory.starts, *self.values))

    def slice(self, start: int, stop: int) -> Batch:
        """Rows ``start`` to ``stop``, sharing memory with this batch."""
        return Batch(
            self.order[start:stop],
            self.key_lo[start:stop],
            None if self.row_lo is None else self.row_lo[start:stop],
            self.weights[start:stop],
            tuple(column.slice(start, stop - start) for column in self.values),
            {name: total[start:stop] for name, total in self.sums.items()},
            self.ordered,
            self.directory.from_row(start),
            backing=None if self.backing is None else self.backing.from_row(start),
            times=None if self.times is None else self.times[start:stop],
        )

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """These rows, in ascending order, in memory of their own. They must have been asked for."""
        chosen = numbers(rows)
        return Batch(
            self.order[rows],
            self.key_lo[rows],
            None if self.row_lo is None else self.row_lo[rows],
            self.weights[rows],
            tuple(gather(column, chosen) for column in self.values),
            {name: total[rows] for name, total in self.sums.items()},
            self.ordered,
            times=None if self.times is None else self.times[rows],
        )

    def need_words(self, low: Words, high: Words) -> None:
        """To be called before a search for words in any of these ranges (both ends inclusive)."""
        if self.backing is not None and len(low):
            self.backing.need_words(low, high)

    def need_rows(self, rows: NDArray[np.int64], *, only_words: bool = False) -> None:
        """To be called before these rows are read, or only their words."""
        if self.backing is not None and len(rows):
            self.backing.need_rows(rows, only_words=only_words)

    def prefetch(self, keys: Hashes) -> None:
        """Starts to read what a search for keys will compare them with, if it is on file."""
        if self.backing is not None and len(keys):
            self.backing.prefetch_words(*key_range(keys))

    def whole(self) -> Batch:
        """The batch itself, all of whose rows may be read."""
        if self.backing is not None:
            self.backing.need_range(0, len(self))
        return self

    @property
    def is_sequence(self) -> bool:
        """Whether words are consecutive numbers and all weights one, as in append-only tables and views."""
        size = len(self)
        if size == 0 or self.kind is not Kind.ZSET or self.sums:
            return False
        if self.order[-1] - self.order[0] != size - 1:
            return False
        return bool(
            np.all(self.weights == 1)
            and np.all(self.key_lo == self.key_lo[0])
            and np.array_equal(self.order, self.order[0] + np.arange(size, dtype=np.uint64))
        )

    def to_arrow(self) -> pa.RecordBatch:
        """The batch as one Arrow record batch, without copying. Of a sequence only the first word is
        stored."""
        if self.values and self.is_sequence:
            metadata = {_FIRST: str(self.order[0]), _LANE: str(self.key_lo[0])}
            names = [f"{_VALUE}{i}" for i in range(len(self.values))]
            fields = [pa.field(name, column.type) for name, column in zip(names, self.values, strict=True)]
            return pa.RecordBatch.from_arrays(list(self.values), schema=pa.schema(fields, metadata=metadata))
        return self.to_columns()

    def to_columns(self) -> pa.RecordBatch:
        """The same with all words and weights, even those of a sequence."""
        names = [_ORDER, _KEY]
        arrays = [pa.array(self.order), pa.array(self.key_lo)]
        if self.row_lo is not None:
            names.append(_ROW)
            arrays.append(pa.array(self.row_lo))
        if self.times is not None:
            names.append(TIME)
            arrays.append(pa.array(self.times))
        names.append(_WEIGHT)
        arrays.append(pa.array(self.weights))
        for name, total in self.sums.items():
            names.append(_SUM + name)
            arrays.append(pa.array(total))
        for i, column in enumerate(self.values):
            names.append(f"{_VALUE}{i}")
            arrays.append(column)
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @staticmethod
    def from_arrow(batch: pa.RecordBatch, *, ordered: Ordered = None) -> Batch:
        """The inverse of :meth:`to_arrow`, without copying."""
        metadata = batch.schema.metadata or {}
        if _FIRST in metadata:
            first, lane = (np.uint64(int(metadata[name])) for name in SEQUENCE)
            order = first + np.arange(batch.num_rows, dtype=np.uint64)
            ones = np.ones(batch.num_rows, np.int64)
            return Batch(order, np.full(batch.num_rows, lane), None, ones, tuple(map(fitted, batch.columns)))
        words: dict[str, NDArray[np.uint64]] = {}
        sums: dict[str, Weights] = {}
        weights: Weights = np.empty(0, np.int64)
        values: list[pa.Array] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in (*WORDS, TIME):
                words[name] = column.to_numpy()
            elif name == _WEIGHT:
                weights = column.to_numpy()
            elif name.startswith(_SUM):
                sums[name.removeprefix(_SUM)] = column.to_numpy()
            else:
                values.append(fitted(column))
        lanes = words[_ORDER], words[_KEY], words.get(_ROW)
        return Batch(*lanes, weights, tuple(values), sums, ordered, times=words.get(TIME))


def build_batch(
    order: Words,
    key_lo: Words,
    row_lo: Words | None,
    weights: Weights,
    values: Sequence[pa.Array] = (),
    sums: Mapping[str, Weights] | None = None,
    *,
    ordered: Ordered = None,
    runs: Sequence[int] = (),
    within: Words | None = None,
    times: Words | None = None,
) -> Batch:
    """Sorts and consolidates rows into a batch.

    One argsort of one word. Only rows that share their word with a different row (an ordered tie, or a rare
    collision) are examined again. ``runs`` says where sorted runs begin if the rows consist of a few of them,
    which a stable sort merges in one pass; on random rows it would be slower. Rows that share their word come
    in the order of ``within``, if this batch should have that order: batches merged from it need not.
    """
    sums = sums or {}
    if len(order) == 0:
        return Batch(order, key_lo, row_lo, weights, tuple(values), sums, ordered, times=times)
    perm = order.argsort(kind="stable" if runs else None)
    rows = None
    if times is None:  # with times, most rows share their word with another
        rows = consolidate(perm, order, key_lo, row_lo, weights, sums)
    if rows is None:
        break_ties(perm, order, key_lo, row_lo, values, ordered, runs, within, times)
        rows = consolidate(perm, order, key_lo, row_lo, weights, sums, times, grouped=True)
        assert rows is not None
    indices = numbers(rows.first)
    taken = tuple(gather(column, indices) for column in values)
    return Batch(
        rows.order,
        rows.key_lo,
        rows.row_lo,
        rows.weights,
        taken,
        rows.sums,
        ordered,
        directory=directory_of(rows.order),
        times=None if times is None else times[rows.first],
    )


def merge_batches(batches: Sequence[Batch]) -> Batch:
    """One batch with the sum of all. Batches of disjoint ranges are just concatenated."""
    filled = [batch.whole() for batch in batches if len(batch)]
    if len(filled) <= 1:
        return filled[0] if filled else batches[0]
    batches = sorted(filled, key=lambda batch: batch.order[0])
    whole = _concatenated(batches)
    if all(a.order[-1] < b.order[0] for a, b in pairwise(batches)):
        return whole
    ends = np.cumsum([len(batch) for batch in batches])
    return _built(whole, [0, *ends[:-1].tolist()])


def sum_of(parts: Sequence[Batch]) -> Batch:
    """The same for unsorted rows that merely use the columns of a batch."""
    return _built(parts[0].whole() if len(parts) == 1 else _concatenated([part.whole() for part in parts]))


def _built(rows: Batch, runs: Sequence[int] = ()) -> Batch:
    return build_batch(
        rows.order,
        rows.key_lo,
        rows.row_lo,
        rows.weights,
        rows.values,
        rows.sums,
        ordered=rows.ordered,
        runs=runs,
        times=rows.times,
    )


def _concatenated(batches: Sequence[Batch]) -> Batch:
    """The rows of all batches, concatenated: not itself a valid batch unless they are disjoint."""
    first = batches[0]
    kind = first.row_lo is None, first.times is None
    assert all((b.row_lo is None, b.times is None) == kind for b in batches), "batches of different kinds"
    return Batch(
        np.concatenate([batch.order for batch in batches]),
        np.concatenate([batch.key_lo for batch in batches]),
        None if first.row_lo is None else np.concatenate([b.row_lo for b in batches if b.row_lo is not None]),
        np.concatenate([batch.weights for batch in batches]),
        tuple(concat(columns) for columns in zip(*(b.values for b in batches), strict=True)),
        {
            name: np.concatenate(
                [b.sums[name] if name in b.sums else np.zeros(len(b), np.int64) for b in batches]
            )
            for name in _union_of_names(batch.sums for batch in batches)
        },
        first.ordered,
        times=None if first.times is None else _times_of(batches),
    )


def _times_of(batches: Sequence[Batch]) -> Words:
    return np.concatenate([batch.times for batch in batches if batch.times is not None])


def _union_of_names(groups: Iterable[Mapping[str, Weights]]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group))
