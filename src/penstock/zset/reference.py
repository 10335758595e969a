"""A slow and obvious implementation of the Z-set algebra: a dictionary from row to weight.

The fast implementation, and every operator built on it, is compared with this one; it is here to stay. A row
is a tuple of plain Python values in canonical form (:func:`canonical`), for which Python's ``==`` agrees with
Spark's grouping: one NaN, one zero, NULL equal to NULL. Weights are Python integers, and rows of weight zero
are removed, so two Z-sets are equal exactly when their dictionaries are.

Cost: a Python loop per row everywhere. Never used by the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass

from penstock.zset.zset import ZSet

__all__ = ["ReferenceZSet", "Row", "canonical"]

Row = tuple[Hashable, ...]


def canonical(value: object) -> Hashable:
    """``value`` as something hashable that is equal to another exactly when Spark groups them together."""
    if isinstance(value, float):
        # NaN differs from itself, so a marker stands for it; adding 0.0 turns -0.0 into 0.0.
        return ("NaN",) if math.isnan(value) else value + 0.0
    if isinstance(value, Mapping):
        return tuple((name, canonical(item)) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(canonical(item) for item in value)
    if isinstance(value, Hashable):
        return value
    raise TypeError(f"{type(value).__name__} cannot be part of a row")


@dataclass(frozen=True)
class ReferenceZSet:
    """Rows and their weights; build it with :meth:`of_rows` or :meth:`of`."""

    weights: Mapping[Row, int]

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Iterable[object], int]]) -> ReferenceZSet:
        """The sum of all ``(row, weight)`` given."""
        weights: dict[Row, int] = {}
        for row, weight in rows:
            key = tuple(canonical(value) for value in row)
            weights[key] = weights.get(key, 0) + weight
        return cls({row: weight for row, weight in weights.items() if weight})

    @classmethod
    def of(cls, zset: ZSet) -> ReferenceZSet:
        """The reference form of a columnar Z-set."""
        columns = [column.to_pylist() for column in zset.columns]
        rows = zip(*columns, strict=True) if columns else (() for _ in range(len(zset)))
        return cls.of_rows(zip(rows, zset.weights.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, row: Iterable[object]) -> int:
        return self.weights.get(tuple(canonical(value) for value in row), 0)

    def add(self, other: ReferenceZSet) -> ReferenceZSet:
        """The sum."""
        return self.of_rows([*self.weights.items(), *other.weights.items()])

    def negate(self) -> ReferenceZSet:
        """The additive inverse."""
        return ReferenceZSet({row: -weight for row, weight in self.weights.items()})

    def subtract(self, other: ReferenceZSet) -> ReferenceZSet:
        """The change that leads from ``other`` to this."""
        return self.add(other.negate())

    def map(self, function: Callable[[Row], Iterable[object]]) -> ReferenceZSet:
        """Every row replaced by ``function`` of it; rows that become equal add up."""
        return self.of_rows((function(row), weight) for row, weight in self.weights.items())

    def select(self, ordinals: Iterable[int]) -> ReferenceZSet:
        """The projection on the columns at ``ordinals``."""
        wanted = list(ordinals)
        return self.map(lambda row: [row[i] for i in wanted])

    def filter(self, keep: Callable[[Row], bool]) -> ReferenceZSet:
        """The rows for which ``keep`` is true."""
        return ReferenceZSet({row: weight for row, weight in self.weights.items() if keep(row)})

    def join(self, other: ReferenceZSet, condition: Callable[[Row, Row], bool]) -> ReferenceZSet:
        """Pairs of rows that satisfy ``condition``, concatenated, with the product of their weights."""
        return self.of_rows(
            (left + right, left_weight * right_weight)
            for left, left_weight in self.weights.items()
            for right, right_weight in other.weights.items()
            if condition(left, right)
        )

    def distinct(self) -> ReferenceZSet:
        """Every row of positive weight, once."""
        return ReferenceZSet({row: 1 for row, weight in self.weights.items() if weight > 0})

    def groups(self, ordinals: Iterable[int]) -> dict[Row, ReferenceZSet]:
        """The rows by their values at ``ordinals``."""
        wanted = list(ordinals)
        parts: dict[Row, dict[Row, int]] = {}
        for row, weight in self.weights.items():
            parts.setdefault(tuple(row[i] for i in wanted), {})[row] = weight
        return {key: ReferenceZSet(part) for key, part in parts.items()}
