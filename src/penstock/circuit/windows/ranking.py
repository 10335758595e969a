"""Functions of a row's position alone: ROW_NUMBER, RANK and related ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.windows.base import WHOLE, Reach, WindowFunction
from penstock.circuit.windows.run import Run
from penstock.expr.types import to_arrow

__all__ = ["RANKINGS", "NTile", "Ranking"]


def _row_number(run: Run) -> NDArray[Any]:
    number: NDArray[Any] = run.before[run.stretch] + run.place - run.first + 1
    return number


def _rank(run: Run) -> NDArray[Any]:
    rank: NDArray[Any] = run.before[run.stretch] + run.first_peer - run.first + 1
    return rank


def _dense_rank(run: Run) -> NDArray[Any]:
    groups: NDArray[Any] = np.cumsum(run.begins_peers)
    rank: NDArray[Any] = groups - groups[run.first] + 1
    return rank


def _percent_rank(run: Run) -> NDArray[Any]:
    others = run.last - run.first - 1
    return np.where(others > 0, (run.first_peer - run.first) / np.maximum(others, 1), 0.0)


def _cume_dist(run: Run) -> NDArray[Any]:
    return (run.past_peers - run.first) / (run.last - run.first)


RANKINGS: Mapping[str, tuple[Callable[[Run], NDArray[Any]], Reach]] = {
    "RowNumber": (_row_number, Reach(0, None, 0)),
    "Rank": (_rank, Reach(0, None, 0, peers=True)),
    "DenseRank": (_dense_rank, WHOLE),
    "PercentRank": (_percent_rank, WHOLE),
    "CumeDist": (_cume_dist, WHOLE),
}
"""Catalyst's names, how each is computed and how far a change reaches."""


@dataclass(frozen=True)
class Ranking(WindowFunction):
    """``function`` is one of :data:`RANKINGS`."""

    function: str

    @property
    def reach(self) -> Reach:
        return RANKINGS[self.function][1]

    def result(self, run: Run) -> pa.Array:
        return pa.array(RANKINGS[self.function][0](run), to_arrow(self.data_type))

    def __str__(self) -> str:
        return self.function.lower()


@dataclass(frozen=True)
class NTile(WindowFunction):
    """The number of the row's bucket, of ``buckets`` that are as equal in size as possible, larger ones
    first."""

    buckets: int

    @property
    def reach(self) -> Reach:
        return WHOLE

    def result(self, run: Run) -> pa.Array:
        size, place = run.last - run.first, run.place - run.first
        small, larger = size // self.buckets, size % self.buckets
        ahead = larger * (small + 1)
        number = np.where(
            place < ahead, place // (small + 1), larger + (place - ahead) // np.maximum(small, 1)
        )
        return pa.array(number + 1, to_arrow(self.data_type))

    def __str__(self) -> str:
        return f"ntile({self.buckets})"
