"""How a conversion reports which value it could not convert.

A conversion works on whole columns and recurses into nested types, so the position where it fails is known in
pieces: the innermost array knows the index of the element, the array around it knows which of its own rows
that element belongs to. :class:`RefusedError` propagates outwards through them, each level mapping the index
to its own and prefixing its name to the path. At the outside the index is the row number and the path is the
column. The price of good messages is paid only on failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql.types import AtomicType, DataType

__all__ = ["RefusedError", "first_failure", "shown", "sql_name"]


class RefusedError(Exception):
    """A value no column of the wanted type can hold, at ``index`` under ``path``."""

    def __init__(self, reason: str, *, index: int | None = None, path: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason, self.index, self.path = reason, index, path

    def within(self, name: str, rows: Callable[[int], int] | None = None) -> RefusedError:
        """The same refusal seen from one level further out."""
        index = self.index if self.index is None or rows is None else rows(self.index)
        return RefusedError(self.reason, index=index, path=(name, *self.path))


def sql_name(data_type: DataType) -> str:
    """The type as people write it in SQL."""
    name = data_type.simpleString()
    return name.upper() if isinstance(data_type, AtomicType) else name  # field names keep their case


def shown(value: Any) -> str:
    """A value for an error message: enough to find it, never a page."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def first_failure(length: int, fails: Callable[[int, int], bool]) -> int:
    """The first index whose value fails, given a test of whole ranges ``[low, high)``.

    Halves the range each time and tests the left half only, so it costs about one more pass over the
    column, in vectorised pieces.
    """
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if fails(low, middle):
            high = middle
        else:
            low = middle
    return low
