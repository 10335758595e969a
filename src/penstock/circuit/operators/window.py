"""Window functions: adds to every row values that depend on the rows around it.

The rows of a partition are kept in order. A step reads the stretches of the touched partitions that its
changes reach (:mod:`penstock.circuit.windows`), computes the values on them as of before and after the step,
and emits the difference: one row added at the end of a partition costs one row for ROW_NUMBER, LAG or a
running sum, however long the partition is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.circuit.accumulators import Total
from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering
from penstock.circuit.windows import WindowFunction, reach_of, read_stretches
from penstock.circuit.windows.clusters import Clusters
from penstock.circuit.windows.stretches import Stretches
from penstock.circuit.windows.totals import balanced
from penstock.trace.order import IMAGE, dense_rank
from penstock.zset import ZSet, hash_columns

__all__ = ["Window"]

Indices = NDArray[np.int64]


@operator("window", Incremental.GROUPS, state="rows per partition, in order")
@dataclass(frozen=True)
class Window(Operator):
    """The input is indexed by partition. The output is the input's columns and one for each function."""

    ordering: Ordering
    functions: tuple[WindowFunction, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        apart = hash_columns(delta.zset.columns, len(delta), state.seed)
        batch = self.ordering.batch(delta, apart, whole=True)
        if len(batch) == 0:
            return self.nothing
        before = [part for part in state.before(0) if len(part)]
        state.stage(0, batch)
        reach = reach_of(function.reach for function in self.functions)
        clusters = Clusters(before, batch, self.ordering, reach)
        clusters.close(balanced(batch, clusters, self._totals))
        stretches = read_stretches(before, batch, clusters, reach, self._totals)
        state.count("rows read", len(stretches.stretch))
        peer = dense_rank(self.ordering.key(stretches.values[1:], len(stretches.stretch)), descending=False)
        old = self._answered(stretches, stretches.old, peer).negate()
        new = self._answered(stretches, stretches.new, peer)
        return Delta(ZSet.concat(self.schema, [old, new]).consolidate(state.seed))

    @property
    def _totals(self) -> tuple[Total, ...]:
        return tuple(dict.fromkeys(total for function in self.functions for total in function.totals))

    def _answered(self, stretches: Stretches, weights: Indices, peer: Indices) -> ZSet:
        """The rows of the stretches whose values may change, with their values."""
        run = stretches.run(weights, peer)
        answers = tuple(function.result(run) for function in self.functions)
        rows = ZSet(self.schema, (*run.columns, *answers), np.ones(len(run), np.int64))
        return rows.filter(run.altered)

    def identity(self) -> str:
        return f"{super().identity()}; {IMAGE}"

    def describe(self) -> str:
        return f"by {self.ordering.text(self.schema.names)}: {', '.join(map(str, self.functions))}"
