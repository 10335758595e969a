"""Arrangement of rows that never go: nothing comes that a row would have to be found for to cancel it out.

So a row needs no hash of its own, which reads every letter of it; a number does that no other row has.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.circuit.operator import Incremental, State, operator
from penstock.circuit.operators.arrange import Arrange
from penstock.circuit.unsorted import own_numbers
from penstock.zset import Hashes, ZSet

__all__ = ["AppendArrange"]


@operator("append-only arrange", Incremental.LINEAR, state="all rows, by key")
@dataclass(frozen=True)
class AppendArrange(Arrange):
    """The same as :class:`Arrange`, for an input that grows. Equal rows stand apart."""

    def apart(self, zset: ZSet, state: State) -> Hashes:
        return own_numbers(len(zset))
