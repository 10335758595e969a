"""The two kinds of accumulators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.types import DataType

from penstock.circuit.delta import Delta
from penstock.expr.nodes import Expr
from penstock.trace import Batch
from penstock.zset import Hashes, HashSeed

__all__ = ["LinearAccumulator", "OrderedAccumulator", "weights_of_present"]

Weights = NDArray[np.int64]


@dataclass(frozen=True)
class LinearAccumulator(ABC):
    """A sum. ``filter`` is the FILTER (WHERE …) clause; ``data_type`` the type of the answer."""

    data_type: DataType
    args: tuple[Expr, ...]
    filter: Expr | None

    @abstractmethod
    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        """What each row adds to the named totals of its group. Exact: addition must lose nothing."""

    @abstractmethod
    def result(self, rows: Weights, sums: Mapping[str, Weights]) -> pa.Array:
        """The answer per group from its number of rows and its totals. A total that is missing is zero."""

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.args)) or "*"
        where = f" where {self.filter}" if self.filter is not None else ""
        return f"{type(self).__name__.lower()}({inner}{where})"


@dataclass(frozen=True)
class OrderedAccumulator(ABC):
    """Something that is read off the ordered values of a group."""

    data_type: DataType
    args: tuple[Expr, ...]

    @abstractmethod
    def batch(self, delta: Delta, seed: HashSeed) -> Batch:
        """The step's values (last column of ``delta``) as an ordered batch by group."""

    @abstractmethod
    def result(self, batches: Sequence[Batch], groups: Hashes) -> pa.Array:
        """The answer for each group."""


def weights_of_present(argument: pa.Array, weights: Weights) -> Weights:
    """The weights, with zero where the argument is NULL."""
    if argument.null_count == 0:
        return weights
    present: Weights = weights * pc.is_valid(argument).to_numpy(zero_copy_only=False)
    return present
