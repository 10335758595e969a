"""Drops, before the exchange, the rows that cannot be among the first of their key.

Only for insert-only input: there a row with enough others before it will never be needed. It runs before the
exchange, so few rows of a key are sent, whatever the size of the step. Stateless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.circuit.ordering import Ordering
from penstock.trace import first_candidates

__all__ = ["PartialTopK"]


@operator("partial top k", Incremental.GROUPS)
@dataclass(frozen=True)
class PartialTopK(Operator):
    """At least the first ``count`` rows of each key among those of this step; the input is indexed."""

    ordering: Ordering
    count: int

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        return delta.take(first_candidates(self.ordering.words(delta), delta.index.lo, self.count))

    def describe(self) -> str:
        return f"by {self.ordering.text(self.schema.names)} limit {self.count}"
