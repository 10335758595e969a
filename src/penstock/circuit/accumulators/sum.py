"""SUM, exact for every numeric type.

Integers and decimals add up in limbs, doubles in bins by exponent: plain integer addition in both cases,
so the total does not depend on the order of rows, the number of workers or on what was added and taken
away in between. The answer is rounded (double) or checked for overflow (the others) once, at the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.circuit.accumulators.base import LinearAccumulator, Weights, weights_of_present
from penstock.errors import EvaluationError
from penstock.expr.types import to_arrow
from penstock.zset import join_doubles, join_integers, split_doubles, split_integers

__all__ = ["Sum", "exact_total", "sum_contributions"]


@dataclass(frozen=True)
class Sum(LinearAccumulator):
    """NULL for a group without a single non-NULL argument. With ``ansi`` overflow is an error; otherwise it
    gives NULL, or with ``wraps`` (Spark's LEGACY mode) an integer wraps around."""

    ansi: bool = True
    wraps: bool = False

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        return sum_contributions(arguments[0], weights)

    def result(self, rows: Weights, sums: Mapping[str, Weights]) -> pa.Array:
        present = sums.get("n", 0 * rows)
        total, overflow = exact_total(sums, len(rows), to_arrow(self.data_type))
        if overflow.any() and self.ansi:
            raise EvaluationError("ARITHMETIC_OVERFLOW", f"{self} exceeds {self.data_type.simpleString()}")
        if overflow.any() and self.wraps and pa.types.is_int64(total.type):
            total = pa.array(_low_words(sums, len(rows)))
        if present.all():
            return total
        return pc.if_else(pa.array(present != 0), total, pa.scalar(None, total.type))


def _low_words(sums: Mapping[str, Weights], length: int) -> Weights:
    """The lowest 64 bits of each total, as a signed number. (All sums of 64-bit integers fit a decimal.)"""
    total, _ = exact_total(sums, length, pa.decimal128(38, 0))
    return np.frombuffer(total.buffers()[1], np.int64, 2 * length)[::2].copy()


def sum_contributions(values: pa.Array, weights: Weights) -> dict[str, Weights]:
    """The number of values and the parts of their exact sum, for each row."""
    weights = weights_of_present(values, weights)
    if pa.types.is_floating(values.type):
        numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.float64)
        return {"n": weights, **split_doubles(numbers, weights)}
    if pa.types.is_duration(values.type):
        values = values.cast(pa.int64())
    return {"n": weights, **split_integers(values, weights)}


def exact_total(
    sums: Mapping[str, Weights], length: int, target: pa.DataType
) -> tuple[pa.Array, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
    """The total of each group as ``target``, and where it does not fit."""
    parts = {name: total for name, total in sums.items() if name != "n"}
    if pa.types.is_floating(target):
        return pa.array(join_doubles(parts, length), target), np.zeros(length, bool)
    if pa.types.is_duration(target):
        total, overflow = join_integers(parts, length, pa.int64())
        return total.cast(target), overflow
    return join_integers(parts, length, target)
