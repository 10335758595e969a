"""Operators whose output is an arrangement: joins read its change and the batches of all earlier steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.circuit.delta import Arranged
from penstock.circuit.operator import Operator, State
from penstock.trace import Batch, merge_batches
from penstock.zset import ZSet

__all__ = ["Arranging"]


@dataclass(frozen=True)
class Arranging(Operator):
    """Keeps its output in arrangement 0, which can be searched even in a step that changes nothing."""

    @property
    def arranged(self) -> bool:
        return True

    @property
    def rows_apart(self) -> bool:
        """Whether a key may have several rows, so that batches need a second hash to tell them apart."""
        return True

    @property
    def readable(self) -> bool:
        return True

    def contents(self, stored: Sequence[Batch]) -> Arranged:
        return Arranged(self.schema, merge_batches(stored) if stored else self.no_rows, ())

    def idle(self, state: State) -> Arranged:
        return Arranged(self.schema, self.no_rows, state.before(0))

    @cached_property
    def no_rows(self) -> Batch:
        """A batch of the arrangement without rows."""
        none = np.empty(0, np.uint64)
        row_lo = none if self.rows_apart else None
        return Batch(none, none, row_lo, np.empty(0, np.int64), ZSet.empty(self.schema).columns)
