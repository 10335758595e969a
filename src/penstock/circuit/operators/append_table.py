"""Append-only tables: rows come and never go, so nothing has to be found again.

A row needs no identity here: no hashing, no sorting, no exchange. The rows are kept (views created later
are filled from them, and a check recomputes from them), each batch under order words of its own: a random
start and then counting, with a random second lane, so that rows of different batches never look equal.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["AppendTable"]


@operator("append-only table", Incremental.SOURCE, state="the table's rows")
@dataclass(frozen=True)
class AppendTable(Operator):
    """Table ``name``, which takes inserts only. Rows may be on any worker."""

    name: str

    @property
    def routing(self) -> tuple[int, ...] | None:
        """By which columns pushed rows find their worker: by none."""
        return None

    @property
    def opens(self) -> bool:
        return True

    @property
    def fan(self) -> int:
        return 64

    @property
    def slots(self) -> int:
        return 1

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        if state.opening:
            parts = [ZSet(self.schema, batch.values, batch.weights) for batch in state.stored(0)]
            return Delta(ZSet.concat(self.schema, parts))
        delta = inputs[0]
        assert isinstance(delta, Delta)
        size = len(delta)
        first = np.uint64(secrets.randbits(63))
        lane = np.uint64(secrets.randbits(64))
        order = first + np.arange(size, dtype=np.uint64)
        zset = delta.zset
        state.stage(0, Batch(order, np.full(size, lane), None, zset.weights, zset.columns))
        return Delta(zset)

    def describe(self) -> str:
        return self.name
