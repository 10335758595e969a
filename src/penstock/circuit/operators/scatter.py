"""Two ways to index a join that has no keys, so that its rows need not all be on one worker.

If one side has a row or two (the value of a subquery, whether a table is empty at all), that side is *copied*
to every shard and the other is *scattered*: indexed by the shard that its rows are already in. The many rows
stay where they are; each of the few is sent once per shard.

Linear and stateless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.layout import SHARD_BITS
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.zset import Hashes, hash_columns

__all__ = ["Copy", "Scatter"]

_SHIFT = np.uint64(64 - SHARD_BITS)
_SHARDS = np.arange(1 << SHARD_BITS, dtype=np.uint64) << _SHIFT


@operator("scatter", Incremental.LINEAR)
@dataclass(frozen=True)
class Scatter(Operator):
    """Indexes rows by the shard of the hash of the columns ``by``."""

    by: tuple[int, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        if len(zset) and bool((zset.weights < 0).any()):
            zset = zset.consolidate(state.seed)
        home = hash_columns([zset.columns[i] for i in self.by], len(zset), state.seed)
        return Delta(zset, Hashes((home.hi >> _SHIFT) << _SHIFT, np.zeros(len(zset), np.uint64)))

    def describe(self) -> str:
        return "by shard of " + ", ".join(self.schema.names[i] for i in self.by)


@operator("copy", Incremental.LINEAR)
@dataclass(frozen=True)
class Copy(Operator):
    """Every row once for each shard, indexed by the shard."""

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset.consolidate(state.seed)
        size = len(zset)
        copies = zset.take(np.repeat(np.arange(size), len(_SHARDS)))
        return Delta(copies, Hashes(np.tile(_SHARDS, size), np.zeros(len(copies), np.uint64)))

    def describe(self) -> str:
        return "to every shard"
