"""Totals: sums over the rows of a group, from which the linear functions are read.

A total turns rows into additive ``int64`` columns, exactly: whatever is added and taken away, in any order
and on any number of workers, the columns end up the same. Several functions may need the same total
(``sum(x)``, ``avg(x)`` and ``count(x)`` share theirs), so totals are values that can be compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.expr.nodes import Expr
from penstock.zset import split_doubles, split_integers, split_products

__all__ = ["Bits", "ExactSum", "Number", "Product", "Total", "Truths", "Weights", "counted", "only_present"]

Weights = NDArray[np.int64]


@dataclass(frozen=True)
class Total(ABC):
    """A sum of something over the rows that ``filter`` lets through and in which no argument is NULL."""

    args: tuple[Expr, ...]
    filter: Expr | None

    @abstractmethod
    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        """What each row adds to the named columns of its group."""


@dataclass(frozen=True)
class Number(Total):
    """The number of rows."""

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        return {"n": only_present(arguments, weights)}


@dataclass(frozen=True)
class Truths(Total):
    """The number of rows in which a condition is true."""

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        return {"n": weights * pc.fill_null(arguments[0], False).to_numpy(zero_copy_only=False)}


@dataclass(frozen=True)
class ExactSum(Total):
    """The exact sum of a number or an interval: doubles in bins by exponent, the others in limbs."""

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        values = arguments[0]
        if pa.types.is_floating(values.type):
            return split_doubles(_doubles(values), only_present(arguments, weights))
        if pa.types.is_duration(values.type):
            values = values.cast(pa.int64())
        return split_integers(values, only_present(arguments, weights))


@dataclass(frozen=True)
class Product(Total):
    """The exact sum of ``arg0^powers0 * arg1^powers1 …``, all doubles."""

    powers: tuple[int, ...]

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        bases = [_doubles(argument) for argument in arguments]
        factors = [base for base, power in zip(bases, self.powers, strict=True) for _ in range(power)]
        weights = only_present(arguments, weights)
        return split_doubles(factors[0], weights) if len(factors) == 1 else split_products(factors, weights)


@dataclass(frozen=True)
class Bits(Total):
    """For each bit the number of integers that have it set, in a column ``b<bit>`` if any has."""

    def contributions(self, arguments: Sequence[pa.Array], weights: Weights) -> dict[str, Weights]:
        weights = only_present(arguments, weights)
        numbers = pc.fill_null(arguments[0], 0).to_numpy(zero_copy_only=False).astype(np.int64)
        any_set = int(np.bitwise_or.reduce(numbers, initial=0))
        width = arguments[0].type.bit_width
        return {
            f"b{bit}": weights * ((numbers >> np.int64(bit)) & np.int64(1))
            for bit in range(width)
            if (any_set >> bit) & 1
        }


def counted(args: tuple[Expr, ...], filter: Expr | None) -> tuple[Total, ...]:
    """The total that counts rows without NULL in ``args``; none is needed where that is every row."""
    nullable = tuple(arg for arg in args if arg.nullable)
    return (Number(nullable, filter),) if nullable or filter is not None else ()


def only_present(arguments: Sequence[pa.Array], weights: Weights) -> Weights:
    """The weights, with zero where an argument is NULL."""
    for argument in arguments:
        if argument.null_count:
            weights = weights * pc.is_valid(argument).to_numpy(zero_copy_only=False)
    return weights


def _doubles(values: pa.Array) -> NDArray[np.float64]:
    if values.null_count:
        values = pc.fill_null(values, 0)
    return np.asarray(values.to_numpy(zero_copy_only=False), np.float64)
