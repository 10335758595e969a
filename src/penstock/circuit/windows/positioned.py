"""Functions that pick a value of another row: LAG and LEAD, FIRST_VALUE, LAST_VALUE and NTH_VALUE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.windows.base import WHOLE, Reach, WindowFunction
from penstock.circuit.windows.frame import Frame
from penstock.circuit.windows.run import Run, holds
from penstock.expr.nodes import Expr
from penstock.zset import fitted, gather
from penstock.zset.width import alike

__all__ = ["Picked", "Shifted"]

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Shifted(WindowFunction):
    """The value of ``input`` ``offset`` rows after the current one (negative: before it), or the current
    row's ``default`` if there is no such row. With ``ignore_nulls`` only rows with a value are counted."""

    input: Expr
    offset: int
    default: Expr
    ignore_nulls: bool = False

    @property
    def reach(self) -> Reach:
        if self.ignore_nulls:
            return WHOLE
        return Frame(True, self.offset, self.offset).reach

    def result(self, run: Run) -> pa.Array:
        values = run.value(self.input)
        at = self._counted(run, values) if self.ignore_nulls else run.place + self.offset
        there = (at >= run.first) & (at < run.last)
        found = gather(values, pa.array(np.where(there, at, 0), mask=~there)) if len(values) else values
        if there.all():
            return found
        return fitted(pc.if_else(pa.array(there), *alike(found, run.value(self.default))))

    def _counted(self, run: Run, values: pa.Array) -> Indices:
        """The row with a value at that distance, counting only such rows; -1 if there is none."""
        valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(valid)
        if self.offset == 0 or len(rows) == 0:
            return run.place if self.offset == 0 else np.full(len(run), -1)
        if self.offset > 0:
            number = np.searchsorted(rows, run.place, "right") + self.offset - 1
        else:
            number = np.searchsorted(rows, run.place, "left") + self.offset
        there = (number >= 0) & (number < len(rows))
        return np.where(there, rows[np.clip(number, 0, len(rows) - 1)], -1)

    def __str__(self) -> str:
        return f"{'lead' if self.offset > 0 else 'lag'}({self.input}, {abs(self.offset)})"


@dataclass(frozen=True)
class Picked(WindowFunction):
    """The value of ``input`` in the frame's row number ``number`` (from 1; -1 is the last row), NULL if there
    is none. With ``ignore_nulls`` only rows with a value are counted, with a ``filter`` only those that
    match."""

    input: Expr
    number: int
    frame: Frame
    ignore_nulls: bool = False
    filter: Expr | None = None

    @property
    def reach(self) -> Reach:
        return self.frame.reach if self.frame.local else WHOLE

    def result(self, run: Run) -> pa.Array:
        values = run.value(self.input)
        low, high = self.frame.bounds(run)
        rows = run.place
        if self.ignore_nulls or self.filter is not None:
            rows = np.flatnonzero(self._counted(run, values))
            low, high = np.searchsorted(rows, low), np.searchsorted(rows, high)
        at = low + self.number - 1 if self.number > 0 else high - 1
        there = (at >= low) & (at < high)
        if not there.any():
            return pa.nulls(len(run), values.type)
        return gather(values, pa.array(rows[np.where(there, at, 0)], mask=~there))

    def _counted(self, run: Run, values: pa.Array) -> NDArray[np.bool_]:
        """The rows that are counted."""
        counted = np.ones(len(run), np.bool_)
        if self.filter is not None:
            counted &= holds(run.value(self.filter))
        if self.ignore_nulls:
            counted &= pc.is_valid(values).to_numpy(zero_copy_only=False)
        return counted

    def __str__(self) -> str:
        name = {1: "first_value", -1: "last_value"}.get(self.number, f"nth_value {self.number}")
        where = f" where {self.filter}" if self.filter is not None else ""
        return f"{name}({self.input}{where})"
