"""The interface of window functions, and how far a change reaches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import DataType

from penstock.circuit.accumulators import Total
from penstock.circuit.windows.run import Run

__all__ = ["WHOLE", "Reach", "WindowFunction", "reach_of"]


@dataclass(frozen=True)
class Reach:
    """Which results a change can alter, and what must be read to compute them.

    A change at some position alters at most the results of ``back`` rows before it and ``forth`` rows after
    it; None is all of them. If the changes of a partition cancel out in the totals, rows that have all
    changes before them in their frame keep their results, and no more than ``closed`` rows after the last
    change are altered. With ``peers`` the results of a changed row's peers are altered too. To compute a
    result, ``read_back`` rows before it and ``read_forth`` after it are read.
    """

    back: int | None = 0
    forth: int | None = 0
    closed: int = 0
    peers: bool = False
    read_back: int = 0
    read_forth: int = 0


WHOLE = Reach(None, None)
"""Any change may alter all results of its partition."""


def reach_of(reaches: Iterable[Reach]) -> Reach:
    """The reach of several functions together."""
    found = Reach()
    for reach in reaches:
        found = Reach(
            None if found.back is None or reach.back is None else max(found.back, reach.back),
            None if found.forth is None or reach.forth is None else max(found.forth, reach.forth),
            max(found.closed, reach.closed),
            found.peers or reach.peers,
            max(found.read_back, reach.read_back),
            max(found.read_forth, reach.read_forth),
        )
    return found


@dataclass(frozen=True)
class WindowFunction(ABC):
    """A function of a row and the rows around it; ``data_type`` is the type of the answer."""

    data_type: DataType

    @property
    @abstractmethod
    def reach(self) -> Reach:
        """How far a change reaches."""

    @property
    def totals(self) -> tuple[Total, ...]:
        """The totals of all rows before a stretch that the function needs."""
        return ()

    @abstractmethod
    def result(self, run: Run) -> pa.Array:
        """The answer for each row."""
