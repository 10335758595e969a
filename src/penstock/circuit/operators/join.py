"""Inner equi-join of two arrangements, with a residual condition. A join without keys is a cross join.

Bilinear: the change of ``L ⋈ R`` is ``ΔL ⋈ R + L ⋈ ΔR + ΔL ⋈ ΔR`` with L and R as they were before the
step. Each term is a lookup of one side's delta in batches sorted by key, so the cost follows the delta
and its matches, never the size of either side. Only the columns that the condition or the output needs
are gathered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.trace import Batch, lookup_rows
from penstock.zset import Hashes, ZSet

__all__ = ["Join"]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Matching rows: ``left_rows[i]`` of ``left`` goes with ``right_rows[i]`` of ``right``."""

    left: Batch
    left_rows: NDArray[np.int64]
    right: Batch
    right_rows: NDArray[np.int64]


class _Columns(Sequence[pa.Array]):
    """The columns of the pairs, each gathered when it is first asked for."""

    def __init__(self, pairs: _Pairs) -> None:
        self._pairs = pairs
        self._left, self._right = pa.array(pairs.left_rows), pa.array(pairs.right_rows)
        self._gathered: dict[int, pa.Array] = {}

    def __len__(self) -> int:
        return len(self._pairs.left.values) + len(self._pairs.right.values)

    def __getitem__(self, ordinal: Any) -> Any:
        if ordinal not in self._gathered:
            width = len(self._pairs.left.values)
            if ordinal < width:
                column = self._pairs.left.values[ordinal].take(self._left)
            else:
                column = self._pairs.right.values[ordinal - width].take(self._right)
            self._gathered[ordinal] = column
        return self._gathered[ordinal]


@operator("join", Incremental.BILINEAR)
@dataclass(frozen=True)
class Join(Operator):
    """The inputs are arranged by their keys. Columns are numbered left ones first, then right ones:
    ``condition`` is bound to these numbers, ``keep`` lists those that make the output."""

    condition: Expr | None
    keep: tuple[int, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        left, right = inputs
        assert isinstance(left, Arranged)
        assert isinstance(right, Arranged)
        parts = [self._emit(pairs) for pairs in _matches(left, right)]
        return Delta(ZSet.concat(self.schema, [part for part in parts if len(part)]))

    def _emit(self, pairs: _Pairs) -> ZSet:
        columns = _Columns(pairs)
        if self.condition is not None:
            holds = evaluate(self.condition, columns, len(pairs.left_rows))
            mask = pc.fill_null(holds, False).to_numpy(zero_copy_only=False)
            if not mask.all():
                pairs = _Pairs(pairs.left, pairs.left_rows[mask], pairs.right, pairs.right_rows[mask])
                columns = _Columns(pairs)
        weights = pairs.left.weights[pairs.left_rows] * pairs.right.weights[pairs.right_rows]
        return ZSet(self.schema, tuple(columns[i] for i in self.keep), weights)

    def describe(self) -> str:
        return "" if self.condition is None else f"where {self.condition}"


def _matches(left: Arranged, right: Arranged) -> Iterator[_Pairs]:
    """The three terms of the product rule."""
    if len(left.batch):
        for found in lookup_rows([*right.before, right.batch], _keys(left.batch)):
            yield _Pairs(left.batch, found.probe, found.batch, found.row)
    if len(right.batch):
        for found in lookup_rows(left.before, _keys(right.batch)):
            yield _Pairs(found.batch, found.row, right.batch, found.probe)


def _keys(batch: Batch) -> Hashes:
    """The key of each row of a batch. Of ``hi`` only the high half is kept, and lookups use no more."""
    return Hashes(batch.order, batch.key_lo)
