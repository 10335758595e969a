"""Generators: a row becomes one row for each element of an array or a map. Linear, so its incremental
form is itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.expr.evaluate import evaluate
from penstock.expr.nodes import Expr
from penstock.zset import ZSet, fitted, gather
from penstock.zset.width import is_wide, wide_type

__all__ = ["FlatMap", "Replicate"]

Indices = NDArray[np.int64]


@operator("flat map", Incremental.LINEAR)
@dataclass(frozen=True)
class FlatMap(Operator):
    """The columns ``keep`` of the input, then the element of ``array``: for a map its key and value, with
    ``inline`` the fields of a struct, with ``position`` preceded by its position.

    A row without elements is dropped; with ``outer`` it appears once, with NULLs.
    """

    array: Expr
    keep: tuple[int, ...]
    position: bool = False
    inline: bool = False
    outer: bool = False

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        size = len(zset)
        lists = _lists(evaluate(self.array, zset.columns, size))
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        elements = lists.flatten()
        columns = self._columns(elements)
        if self.position:
            starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
            columns = [pa.array(np.arange(len(elements)) - starts, pa.int32()), *columns]
        row, element, present = _spread(lengths, outer=self.outer)
        if not present.all():
            taken = pa.array(element, mask=~present)
            columns = [gather(column, taken) for column in columns]
        rows = pa.array(row)
        kept = tuple(gather(zset.columns[ordinal], rows) for ordinal in self.keep)
        typed = [
            fitted(column.cast(wide_type(kind) if is_wide(column) else kind))
            for column, kind in zip(columns, self.schema.types[len(kept) :], strict=True)
        ]
        return Delta(ZSet(self.schema, (*kept, *typed), zset.weights[row]))

    def _columns(self, elements: pa.Array) -> list[pa.Array]:
        if not self.inline:
            return [elements]
        return list(elements.flatten())

    def describe(self) -> str:
        return f"{'outer ' if self.outer else ''}{self.array}{' with positions' if self.position else ''}"


def _lists(values: pa.Array) -> pa.Array:
    """Arrays as they are; maps as arrays of entries."""
    if not pa.types.is_map(values.type):
        return values
    entry = pa.struct([("key", values.type.key_type), ("value", values.type.item_type)])
    return values.cast(pa.list_(entry))


def _spread(lengths: Indices, *, outer: bool) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """For each output row the input row and the element it comes from, and whether it has an element."""
    times = np.maximum(lengths, 1) if outer else lengths
    row = np.repeat(np.arange(len(lengths)), times)
    within = np.arange(len(row)) - np.repeat(np.cumsum(times) - times, times)
    element = np.repeat(np.cumsum(lengths) - lengths, times) + within
    present = within < lengths[row]
    return row, np.where(present, element, 0), present


@operator("replicate", Incremental.LINEAR)
@dataclass(frozen=True)
class Replicate(Operator):
    """Each row repeated ``times`` times: in a Z-set that only multiplies its weight. Outputs ``keep``."""

    times: Expr
    keep: tuple[int, ...]

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        zset = delta_of(inputs[0]).zset
        times = pc.fill_null(evaluate(self.times, zset.columns, len(zset)), 0).to_numpy(zero_copy_only=False)
        weights = zset.weights * np.maximum(times, 0)
        rows = ZSet(self.schema, tuple(zset.columns[ordinal] for ordinal in self.keep), weights)
        return Delta(rows.filter(weights != 0))

    def describe(self) -> str:
        return f"{self.times} times"
