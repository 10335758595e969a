"""Leaves out, on the worker where they are, the rows that cannot be among the first of their key.

Only for an input that grows: there a row that enough others come before will never be wanted. It runs before
the exchange, so few rows of a key travel, whatever the size of the step. Nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering
from penstock.trace import first_rows

__all__ = ["PartialTopK"]


@operator("partial top k", Incremental.GROUPS)
@dataclass(frozen=True)
class PartialTopK(Operator):
    """Of the rows of each key that come in this step at least the first ``count``; the input is indexed."""

    ordering: Ordering
    count: int

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = inputs[0]
        assert isinstance(delta, Delta) and delta.keys is not None
        return delta.take(first_rows(self.ordering.words(delta), delta.keys.lo, self.count))

    def describe(self) -> str:
        return f"by {self.ordering} limit {self.count}"
