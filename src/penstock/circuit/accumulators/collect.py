"""COLLECT_LIST, COLLECT_SET, LISTAGG, and MIN_BY/MAX_BY of several values: a group's values as a list.

Where the query gives no order, Spark uses that of arrival; here it is that of the values, so that the result
depends only on the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.accumulators.base import Grouped, GroupRows
from penstock.expr.types import to_arrow
from penstock.zset import gather, list_column, piecewise

__all__ = ["Collect", "JoinText", "TopValues"]


@dataclass(frozen=True)
class Collect(Grouped):
    """The values (first column) as an array, which is empty for a group without values."""

    def result(self, rows: GroupRows) -> pa.Array:
        return lists(rows, np.ones_like(rows.weights) if self.distinct else rows.weights, self.array_type)

    @property
    def array_type(self) -> pa.DataType:
        """The type of the answer."""
        return to_arrow(self.data_type)

    def __str__(self) -> str:
        return "collect_set" if self.distinct else "collect_list"


@dataclass(frozen=True)
class JoinText(Grouped):
    """The texts (first column) with ``delimiter`` between them; NULL for a group without any."""

    delimiter: str | bytes

    def result(self, rows: GroupRows) -> pa.Array:
        kind = to_arrow(self.data_type)
        parts = lists(rows, np.ones_like(rows.weights) if self.distinct else rows.weights, pa.list_(kind))
        delimiter = pa.scalar(self.delimiter, kind)
        joined = piecewise(lambda texts: pc.binary_join(texts, delimiter), parts)
        return gather(joined, pa.array(np.arange(rows.groups), mask=rows.sizes == 0))

    def __str__(self) -> str:
        return f"listagg({self.delimiter!r})"


@dataclass(frozen=True)
class TopValues(Grouped):
    """The values (first column) of the first ``count`` rows as an array; NULL for a group without rows."""

    count: int

    def result(self, rows: GroupRows) -> pa.Array:
        ends = np.cumsum(rows.weights)
        starts = np.concatenate(([0], ends))[:-1]
        sizes = rows.sizes
        # How many rows of the same group come before each.
        offset = starts - np.repeat(starts[(np.cumsum(sizes) - sizes)[sizes > 0]], sizes[sizes > 0])
        taken = np.clip(self.count - offset, 0, rows.weights)
        found = lists(rows, taken, to_arrow(self.data_type))
        return gather(found, pa.array(np.arange(rows.groups), mask=sizes == 0))

    def __str__(self) -> str:
        return f"first {self.count}"


def lists(rows: GroupRows, times: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """For each group an array of its first column, each value as often as ``times`` says."""
    lengths = np.zeros(rows.groups, np.int64)
    np.add.at(lengths, rows.group, times)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    values = rows.values[0]
    if len(times) and not (times == 1).all():
        values = gather(values, pa.array(np.repeat(np.arange(len(times)), times)))
    return list_column(offsets, values, kind)
