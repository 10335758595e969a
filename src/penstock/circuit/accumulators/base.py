"""The interface of aggregate functions: how a result is computed from what a feed keeps.

Three kinds, by what they need of a group: a *linear* function needs totals (numbers that add), a *first* one
the first of the group's values in order (:class:`~penstock.circuit.accumulators.extremum.First`), a *grouped*
one all values. :mod:`penstock.circuit.feeds` explains which feed keeps what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.types import DataType

from penstock.circuit.accumulators.totals import Total, Weights
from penstock.expr.nodes import Expr

__all__ = ["GroupRows", "Grouped", "Linear", "Sums", "Weights", "masked", "number"]

Sums = Mapping[str, Weights]


@dataclass(frozen=True)
class Linear(ABC):
    """A function of sums. ``filter`` is the FILTER (WHERE …) clause; ``data_type`` the type of the answer."""

    data_type: DataType
    args: tuple[Expr, ...]
    filter: Expr | None

    @property
    @abstractmethod
    def totals(self) -> tuple[Total, ...]:
        """The totals the answer is made of. Equal totals of several functions are kept once."""

    @abstractmethod
    def result(self, rows: Weights, totals: Sequence[Sums]) -> pa.Array:
        """The answer per group from its number of rows and its totals. A column that is missing is zero."""

    @property
    def title(self) -> str:
        """The function's name, for people."""
        return type(self).__name__.lower()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.args)) or "*"
        where = f" where {self.filter}" if self.filter is not None else ""
        return f"{self.title}({inner}{where})"


def number(rows: Weights, sums: Sums | None) -> Weights:
    """How many rows counted: all rows of the group if there is no total for it."""
    return rows if sums is None else sums.get("n", 0 * rows)


def masked(values: NDArray[np.generic], valid: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """``values`` as Arrow, NULL where not ``valid``."""
    return pa.array(values, kind, mask=None if valid.all() else ~valid)


@dataclass(frozen=True)
class GroupRows:
    """Rows of several groups: sorted by ``group`` (its number), then by the feed's order.

    Equal rows are one, with their number as ``weights`` (positive)."""

    groups: int
    group: NDArray[np.int64]
    weights: Weights
    values: tuple[pa.Array, ...]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many different rows each group has."""
        return np.bincount(self.group, minlength=self.groups)


@dataclass(frozen=True)
class Grouped(ABC):
    """A function of all values of a group. ``distinct``: equal rows count once."""

    data_type: DataType
    distinct: bool

    @abstractmethod
    def result(self, rows: GroupRows) -> pa.Array:
        """The answer for each group."""
