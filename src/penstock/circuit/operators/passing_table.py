"""Tables that take inserts only and let their rows pass by: views see them, and then they are gone.

A stream of events is often wanted only for what views make of it. Keeping the events as well would be most of
the state and most of what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator

__all__ = ["PassingTable"]


@operator("passing table", Incremental.SOURCE)
@dataclass(frozen=True)
class PassingTable(Operator):
    """Table ``name``, which takes inserts only. Rows may be on any worker.

    Nothing new can be filled from it: whoever adds an operator above it has to do so before the first row."""

    name: str

    @property
    def routing(self) -> tuple[int, ...] | None:
        """By which columns pushed rows find their worker: by none."""
        return None

    def grows(self, inputs: Sequence[bool]) -> bool:
        return True

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = inputs[0]
        assert isinstance(delta, Delta)
        return Delta(delta.zset)

    def describe(self) -> str:
        return self.name
