"""Orders in plain Python: how rows are sorted under an ORDER BY, ties broken by all columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

from penstock.circuit.ordering import OrderBy
from penstock.zset import ReferenceZSet
from tests.trace.reference import spark_order

Row = tuple[Any, ...]


def compared(a: Any, b: Any, item: OrderBy) -> int:
    """Negative, zero or positive, as ``a`` comes before, with or after ``b``."""
    if a is None or b is None:
        if a is None and b is None:
            return 0
        return -1 if (a is None) == item.nulls_first else 1
    first, second = spark_order(a), spark_order(b)
    sign = (first > second) - (first < second)
    return -sign if item.descending else sign


def by_peers(a: Row, b: Row, items: Sequence[OrderBy]) -> int:
    """The comparison of the ORDER BY alone."""
    return next((c for item in items if (c := compared(a[item.ordinal], b[item.ordinal], item))), 0)


def in_order(rows: ReferenceZSet, items: Sequence[OrderBy], width: int) -> list[Row]:
    """All rows, each as often as its weight, in order."""
    total = [*items, *(OrderBy(i) for i in range(width))]
    expanded = [row for row, weight in rows.weights.items() for _ in range(weight)]
    return sorted(expanded, key=cmp_to_key(lambda a, b: by_peers(a, b, total)))
