"""Functions of the first value of a group in order: MIN, MAX, MIN_BY and MAX_BY."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import DataType

from penstock.expr.nodes import Expr

__all__ = ["Extremum", "ExtremumBy", "First"]


@dataclass(frozen=True)
class First(ABC):
    """A function of the first value; the feed says in which direction. Values are never NULL."""

    data_type: DataType
    args: tuple[Expr, ...]
    descending: bool = False

    @abstractmethod
    def keyed(self, values: tuple[pa.Array, ...]) -> pa.Array:
        """The sort value, from the columns of the feed."""

    @abstractmethod
    def result(self, first: pa.Array) -> pa.Array:
        """The result, from the first sort value; NULL if there is none."""


@dataclass(frozen=True)
class Extremum(First):
    """The smallest value, or with ``descending`` the largest."""

    def keyed(self, values: tuple[pa.Array, ...]) -> pa.Array:
        return values[0]

    def result(self, first: pa.Array) -> pa.Array:
        return first

    def __str__(self) -> str:
        return f"{'max' if self.descending else 'min'}({self.args[0]})"


@dataclass(frozen=True)
class ExtremumBy(First):
    """The value (second column) of the row with the smallest or largest ordering (first column, not NULL).

    If several rows have the same ordering Spark takes any; here it is the smallest of their values (for
    MIN_BY; the largest for MAX_BY), so the result depends only on the rows.
    """

    def keyed(self, values: tuple[pa.Array, ...]) -> pa.Array:
        return pa.StructArray.from_arrays(list(values), names=["ordering", "value"])

    def result(self, first: pa.Array) -> pa.Array:
        return pc.struct_field(first, 1)

    def __str__(self) -> str:
        value, ordering = self.args
        return f"{'max' if self.descending else 'min'}_by({value}, {ordering})"
