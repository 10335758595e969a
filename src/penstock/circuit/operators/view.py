"""The sink of a materialised view: integrates the view's changes so that its contents can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.normalise import normalised
from penstock.circuit.operator import Flow, Incremental, Operator, State, WordsOf, operator
from penstock.trace import Batch, KeyWords, build_batch, merge_batches
from penstock.zset import HashSeed, ZSet, hash_columns

__all__ = ["View"]


@operator("view", Incremental.SINK, state="the view's rows")
@dataclass(frozen=True)
class View(Operator):
    """Consolidates the step's changes of view ``name`` and keeps their sum.

    A worker keeps what it produced itself, whatever the row's hash: the view is the sum over workers.
    """

    name: str

    @property
    def fan(self) -> int:
        return 8

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = normalised(delta_of(inputs[0]).zset)
        batch = build_batch(*self._words(zset.columns, len(zset), state.seed), zset.weights, zset.columns)
        state.stage(0, batch)
        return Delta(ZSet(self.schema, batch.values, batch.weights))

    @property
    def readable(self) -> bool:
        return True

    def contents(self, stored: Sequence[Batch]) -> Delta:
        if not stored:
            return self.nothing
        batch = merge_batches(stored)
        return Delta(ZSet(self.schema, batch.values, batch.weights))

    @property
    def words(self) -> WordsOf | None:
        return self._words

    def _words(self, values: Sequence[pa.Array], length: int, seed: HashSeed) -> KeyWords:
        row = hash_columns(values, length, seed)
        return row.hi, row.lo, None

    def describe(self) -> str:
        return self.name
