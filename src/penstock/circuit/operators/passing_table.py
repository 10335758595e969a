"""Insert-only tables that do not keep their rows: views process them, and then they are dropped.

A stream of events is often needed only for what views compute from it. Storing the events as well would be
most of the state and most of what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator

__all__ = ["PassingTable"]


@operator("passing table", Incremental.SOURCE)
@dataclass(frozen=True)
class PassingTable(Operator):
    """Table ``name``, which takes inserts only. Rows may be on any worker.

    New state cannot be filled from it: operators that read it have to be added before the first row."""

    name: str

    @property
    def routing(self) -> tuple[int, ...] | None:
        """The columns that assign pushed rows to workers: none."""
        return None

    def is_insert_only(self, inputs: Sequence[bool]) -> bool:
        return True

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        return Delta(delta.zset)

    def describe(self) -> str:
        return self.name
