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
from penstock.trace import Batch, build_batch
from penstock.zset import Hashes, ZSet, carry, hash_columns

__all__ = ["PartialAggregate"]

Sums = dict[str, NDArray[np.int64]]


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
        parts = [_contributions(accumulator, zset) for accumulator in self.accumulators]
        sums = {f"{i}.{name}": total for i, part in enumerate(parts) for name, total in part.items()}
        batch = build_batch(group.hi, group.lo, None, zset.weights, columns, sums)
        zset = ZSet(self.schema, batch.values, batch.weights)
        return Delta(zset, Hashes(batch.order, batch.key_lo), _carried(parts, batch))

    def describe(self) -> str:
        return f"by {', '.join(map(str, self.keys)) or 'nothing'}: {', '.join(map(str, self.accumulators))}"


def _contributions(accumulator: LinearAccumulator, zset: ZSet) -> Sums:
    """What each row adds. An argument is evaluated only on the rows that the filter lets through: on the
    others it may be an error (``sum(1 / x) FILTER (WHERE x <> 0)``)."""
    chosen = zset
    taken: NDArray[np.int64] | None = None
    if accumulator.filter is not None:
        holds = pc.fill_null(evaluate(accumulator.filter, zset.columns, len(zset)), False)
        mask = holds.to_numpy(zero_copy_only=False)
        if not mask.all():
            taken = np.flatnonzero(mask)
            chosen = zset.filter(mask)
    arguments = [evaluate(argument, chosen.columns, len(chosen)) for argument in accumulator.args]
    parts = accumulator.contributions(arguments, chosen.weights)
    if taken is None:
        return parts
    spread = {name: np.zeros(len(zset), np.int64) for name in parts}
    for name, part in parts.items():
        spread[name][taken] = part
    return spread


def _carried(parts: Sequence[Sums], batch: Batch) -> Sums:
    """The batch's sums with small digits, so that billions of batches can be added without overflow.

    A column that is zero throughout is not in the batch, yet the carry may have to go there."""
    zero = np.zeros(len(batch), np.int64)
    return {
        f"{i}.{name}": total
        for i, part in enumerate(parts)
        for name, total in carry({name: batch.sums.get(f"{i}.{name}", zero) for name in part}).items()
        if total.any()
    }
