"""Arrangement of insert-only rows: no row has to be found in order to cancel it.

So a row needs no hash, which would read every byte of it; a unique number is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.circuit.operator import Incremental, State, operator
from penstock.circuit.operators.arrange import Arrange
from penstock.circuit.unsorted import unique_words
from penstock.zset import Hashes, ZSet

__all__ = ["AppendArrange"]


@operator("append-only arrange", Incremental.LINEAR, state="all rows, by key")
@dataclass(frozen=True)
class AppendArrange(Arrange):
    """The same as :class:`Arrange`, for insert-only input. Equal rows are stored separately."""

    def apart(self, zset: ZSet, state: State) -> Hashes:
        return unique_words(len(zset))
