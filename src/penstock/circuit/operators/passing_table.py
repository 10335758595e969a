"""Append-only tables whose rows pass by: views see them, and then they are gone.

A stream of events is often wanted only for what views make of it. Keeping the events as well would be most of
the state and most of what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.append_table import AppendTable

__all__ = ["PassingTable"]


@operator("passing table", Incremental.SOURCE)
@dataclass(frozen=True)
class PassingTable(AppendTable):
    """The same as :class:`AppendTable`, without the rows that came before. So nothing new can be filled from
    it: whoever adds an operator above it has to do so before the first row."""

    @property
    def opens(self) -> bool:
        return False

    @property
    def slots(self) -> int:
        return 0

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = inputs[0]
        assert isinstance(delta, Delta)
        return Delta(delta.zset)
