"""Pre-aggregation: sums the linear part of an aggregate per group, on the worker where the rows are.

Linear, so the partial sums of the workers simply add up. It runs before the exchange: at most one row
per group and worker travels, whatever the size of the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.accumulators import LinearAccumulator
from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.trace import build_batch
from penstock.zset import Hashes, ZSet, hash_columns

__all__ = ["PartialAggregate"]


@operator("partial aggregate", Incremental.LINEAR)
@dataclass(frozen=True)
class PartialAggregate(Operator):
    """Groups by ``keys``. The output holds the key columns, and the sums of each accumulator ``i`` beside
    the weight, under names that start with ``i.``."""

    keys: tuple[Expr, ...]
    accumulators: tuple[LinearAccumulator, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        size = len(zset)
        columns = [evaluate(key, zset.columns, size) for key in self.keys]
        group = hash_columns(columns, size, state.seed)
        sums: dict[str, NDArray[np.int64]] = {}
        for i, accumulator in enumerate(self.accumulators):
            weights = zset.weights
            if accumulator.filter is not None:
                holds = pc.fill_null(evaluate(accumulator.filter, zset.columns, size), False)
                weights = weights * holds.to_numpy(zero_copy_only=False)
            arguments = [evaluate(argument, zset.columns, size) for argument in accumulator.args]
            for name, total in accumulator.contributions(arguments, weights).items():
                sums[f"{i}.{name}"] = total
        batch = build_batch(group.hi, group.lo, None, zset.weights, columns, sums)
        zset = ZSet(self.schema, batch.values, batch.weights)
        return Delta(zset, Hashes(batch.order, batch.key_lo), batch.sums)

    def describe(self) -> str:
        return f"by {', '.join(map(str, self.keys)) or 'nothing'}: {', '.join(map(str, self.accumulators))}"
