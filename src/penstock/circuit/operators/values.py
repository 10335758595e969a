"""A constant relation (VALUES). It changes once: in the step that fills the arrangements that depend on
it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.zset import Hashes, ZSet, hash_columns

__all__ = ["Values"]


@operator("values", Incremental.SOURCE)
@dataclass(frozen=True)
class Values(Operator):
    """Emits ``rows`` in an opening step, on the one worker that owns the empty key."""

    rows: tuple[tuple[Any, ...], ...]

    def is_insert_only(self, inputs: Sequence[bool]) -> bool:
        return True

    @property
    def is_static(self) -> bool:
        return True

    @property
    def opens(self) -> bool:
        return True

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        nowhere: Hashes = hash_columns([], 1, state.seed)
        if not state.opening or not self.rows or not state.owns(nowhere):
            return self.nothing
        columns = tuple(
            pa.array([row[i] for row in self.rows], field.type) for i, field in enumerate(self.schema)
        )
        return Delta(ZSet(self.schema, columns, np.ones(len(self.rows), np.int64)))
