"""What flows along the edges of a circuit during one step.

A :class:`Delta` is a Z-set, with the hash of its routing key beside each row once an operator has
indexed it, and with further additive columns once one has pre-aggregated it. An :class:`Arranged` is a
delta that its producer also integrates: a consumer (a join) reads the delta and the batches of all
earlier steps.

Both cross level boundaries (to another worker or to the same one) as one Arrow record batch, whose
column names tell the parts apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.operation import Operation
from penstock.trace import Batch
from penstock.zset import Hashes, HashSeed, ZSet, numbers

__all__ = ["Arranged", "Delta", "arranged_of", "concat_deltas", "delta_of", "net_of", "pushed_delta"]

_WEIGHT, _HIGH, _LOW, _OPERATION, _SUM = "weight", "hi", "lo", "operation", "sum:"


@dataclass(frozen=True, slots=True)
class Delta:
    """The change of a stream in this step. ``keys`` hashes the routing key of each row, if indexed.

    On the way to a keyed table it is not yet known which rows will change: each has the weight 1, and its
    :class:`~penstock.circuit.operation.Operation` in ``operations``."""

    zset: ZSet
    keys: Hashes | None = None
    sums: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    operations: NDArray[np.int8] | None = None

    @staticmethod
    def empty(schema: pa.Schema) -> Delta:
        """No change. Counts as indexed: no rows have any key."""
        none = np.empty(0, np.uint64)
        return Delta(ZSet.empty(schema), Hashes(none, none))

    def __len__(self) -> int:
        return len(self.zset)

    @property
    def index(self) -> Hashes:
        """``keys``, of a delta that must be indexed. The planner puts an ``Index`` before every operator that
        needs one, so a delta without keys is a defect."""
        assert self.keys is not None, "the delta is not indexed"
        return self.keys

    def take(self, rows: NDArray[np.int64]) -> Delta:
        """The given rows, in the given order."""
        return Delta(
            self.zset.take(rows),
            None if self.keys is None else self.keys.take(rows),
            {name: total[rows] for name, total in self.sums.items()},
            None if self.operations is None else self.operations[rows],
        )

    def encode(self) -> pa.RecordBatch:
        """One record batch that holds everything, without copying."""
        names = [f"v{i}" for i in range(len(self.zset.columns))]
        arrays = list(self.zset.columns)
        names.append(_WEIGHT)
        arrays.append(numbers(self.zset.weights))
        if self.keys is not None:
            names += [_HIGH, _LOW]
            arrays += [numbers(self.keys.hi), numbers(self.keys.lo)]
        if self.operations is not None:
            names.append(_OPERATION)
            arrays.append(pa.array(self.operations))
        for name, total in self.sums.items():
            names.append(_SUM + name)
            arrays.append(numbers(total))
        return pa.RecordBatch.from_arrays(arrays, names=names)

    @staticmethod
    def decode(schema: pa.Schema, batch: pa.RecordBatch) -> Delta:
        """The inverse of :meth:`encode`; ``schema`` is that of the Z-set's columns."""
        columns = batch.columns
        width = len(schema)
        rest = dict(zip(batch.schema.names[width:], columns[width:], strict=True))
        keys = Hashes(rest[_HIGH].to_numpy(), rest[_LOW].to_numpy()) if _HIGH in rest else None
        sums = {
            name.removeprefix(_SUM): array.to_numpy() for name, array in rest.items() if name.startswith(_SUM)
        }
        operations = rest[_OPERATION].to_numpy() if _OPERATION in rest else None
        zset = ZSet(schema, tuple(columns[:width]), rest[_WEIGHT].to_numpy())
        return Delta(zset, keys, sums, operations)


@dataclass(frozen=True, slots=True)
class Arranged:
    """A delta sorted into a batch, with the batches of all earlier steps.

    ``before`` is the arrangement as it was before this step: nothing a step stages is visible in it."""

    schema: pa.Schema
    batch: Batch
    before: Sequence[Batch]

    def __len__(self) -> int:
        return len(self.batch)

    def encode(self) -> pa.RecordBatch:
        """The change, to be sent to a later level of the same worker, which has the earlier batches
        itself."""
        return self.batch.to_arrow()


def pushed_delta(
    schema: pa.Schema,
    columns: tuple[pa.Array, ...],
    size: int,
    keys: Hashes | None,
    operation: Operation,
    *,
    keyed: bool,
) -> Delta:
    """Rows on their way to a table, keyed or not, all with one operation."""
    if not keyed:
        return Delta(ZSet(schema, columns, np.full(size, operation.weight, np.int64)), keys)
    zset = ZSet(schema, columns, np.ones(size, np.int64))
    return Delta(zset, keys, operations=np.full(size, operation, np.int8))


def delta_of(flow: Delta | Arranged) -> Delta:
    """The delta as a plain stream, for consumers that do not need the earlier batches."""
    if isinstance(flow, Delta):
        return flow
    return Delta(ZSet(flow.schema, flow.batch.values, flow.batch.weights))


def arranged_of(flow: Delta | Arranged) -> Arranged:
    """An input that comes with the batches of all earlier steps."""
    assert isinstance(flow, Arranged), "the input is not arranged"
    return flow


def net_of(flow: Delta | Arranged, seed: HashSeed) -> Delta | Arranged:
    """The same change consolidated, if it has no keys and sums."""
    if isinstance(flow, Arranged) or flow.keys is not None or flow.sums:
        return flow
    return Delta(flow.zset.consolidate(seed))


def concat_deltas(schema: pa.Schema, parts: Sequence[Delta]) -> Delta:
    """The sum of several deltas of one edge (from several workers); all indexed alike."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return Delta.empty(schema)
    zset = ZSet.concat(schema, [part.zset for part in parts])
    keys = [part.keys for part in parts if part.keys is not None]
    names = dict.fromkeys(name for part in parts for name in part.sums)
    sums = {
        name: np.concatenate([p.sums[name] if name in p.sums else np.zeros(len(p), np.int64) for p in parts])
        for name in names
    }
    operations = [part.operations for part in parts if part.operations is not None]
    return Delta(
        zset,
        Hashes.concat(keys) if keys else None,
        sums,
        np.concatenate(operations) if operations else None,
    )
