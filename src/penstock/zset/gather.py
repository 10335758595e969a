"""Taking rows of a column by number: the most frequent call of all, so what can be saved per call is saved.

Row numbers here come from searches and sorts of the same column and are never out of bounds, so Arrow is told
not to check them: for the hundred rows of a small step that is a third of the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["GatheredColumns", "gather", "numbers"]

_INT64, _UINT64 = pa.int64(), pa.uint64()

_TAKE: Final = pc.get_function("array_take")
_UNCHECKED: Final = pc.TakeOptions(boundscheck=False)


def gather(column: pa.Array, rows: pa.Array) -> pa.Array:
    """The values at ``rows``, every one of which exists; a NULL row number gives NULL."""
    return _TAKE.call([column, rows], _UNCHECKED)


class GatheredColumns(Sequence[pa.Array]):
    """Some rows of columns, each column gathered when it is first asked for."""

    def __init__(self, columns: Sequence[pa.Array], rows: NDArray[np.int64]) -> None:
        self._columns, self._rows = columns, numbers(rows)
        self._gathered: dict[int, pa.Array] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, ordinal: Any) -> Any:
        if ordinal not in self._gathered:
            self._gathered[ordinal] = gather(self._columns[ordinal], self._rows)
        return self._gathered[ordinal]


def numbers(values: NDArray[np.int64] | NDArray[np.uint64]) -> pa.Array:
    """NumPy's 64-bit numbers as a column, where they lie and without asking what they are."""
    kind = _INT64 if values.dtype.kind == "i" else _UINT64
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
