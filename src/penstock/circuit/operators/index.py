"""Indexing: adds the hash of a key to every row, so that rows can be routed and arranged by it.

Linear and stateless. It is the last operator before an exchange: the edge that leaves it carries rows to the
workers that own their keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.normalise import normalised
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Column, Expr
from penstock.zset import hash_columns

__all__ = ["Index"]

_FEW = 1000  # up to this many rows, sending all costs less than finding those that cancel out


@operator("index", Incremental.LINEAR)
@dataclass(frozen=True)
class Index(Operator):
    """Hashes ``keys``; rows with NULL in a key whose ``drop_null`` is set cannot match anything and are
    dropped.

    Rows that cancel out are consolidated before they are sent, if any row is a retraction: where many are
    sent, and where a key is computed, which might fail on a row that does not really exist.
    """

    keys: tuple[Expr, ...]
    drop_null: tuple[bool, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = normalised(delta_of(inputs[0]).zset)
        plain = all(isinstance(key, Column) for key in self.keys)
        if (not plain or len(zset) > _FEW) and bool((zset.weights < 0).any()):
            zset = zset.consolidate(state.seed)
        columns = [evaluate(key, zset.columns, len(zset)) for key in self.keys]
        mask = np.ones(len(zset), bool)
        for column, drop in zip(columns, self.drop_null, strict=True):
            if drop and column.null_count:
                mask &= pc.is_valid(column).to_numpy(zero_copy_only=False)
        if not mask.all():
            zset = zset.filter(mask)
            columns = [column.filter(mask) for column in columns]
        return Delta(zset, hash_columns(columns, len(zset), state.seed))

    def describe(self) -> str:
        return "by " + (", ".join(map(str, self.keys)) or "nothing (all rows together)")
