"""The interface of a feed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from penstock.circuit.delta import Delta
from penstock.trace import Batch
from penstock.zset import Hashes, HashSeed

__all__ = ["Answers", "Feed", "one_zero"]


@dataclass(frozen=True)
class Answers:
    """For each function of a feed its answer for each group, before and after the step.

    Where nothing changed the two are the same object."""

    old: Sequence[pa.Array]
    new: Sequence[pa.Array]


class Feed(ABC):
    """One input of an aggregate: its arrangement, and the functions computed from it."""

    @abstractmethod
    def batch(self, delta: Delta, seed: HashSeed) -> Batch:
        """The step's change as a batch of the arrangement. ``delta`` is indexed by group."""

    def stored(self, batch: Batch) -> Batch:
        """The part of the step's batch that is kept."""
        return batch

    @abstractmethod
    def answers(self, before: Sequence[Batch], batch: Batch, groups: Hashes) -> Answers:
        """The answers for the given groups, each of which occurs once."""


def one_zero(column: pa.Array) -> pa.Array:
    """The column with 0.0 for -0.0: they are one value, and which one came first must not be visible."""
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column
