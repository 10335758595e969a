"""Taking rows of a column by number. This is the most frequent call, so its fixed cost matters.

Row numbers come from searches and sorts of the same column and are never out of bounds, so Arrow is told not
to check them: for the hundred rows of a small step that saves a third of the cost.

The result may be larger than the source, because rows can be repeated: see :mod:`.width` for columns that
outgrow 32-bit offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.zset.width import exceeds, fitted, wide_type

__all__ = ["GatheredColumns", "gather", "numbers"]

_INT64, _UINT64 = pa.int64(), pa.uint64()

_TAKE: Final = pc.get_function("array_take")
_UNCHECKED: Final = pc.TakeOptions(boundscheck=False)


def gather(column: pa.Array, rows: pa.Array) -> pa.Array:
    """The values at ``rows``, every one of which exists; a NULL row number gives NULL."""
    if exceeds(column):
        return _gather_large(column, rows)
    try:
        taken = _TAKE.call([column, rows], _UNCHECKED)
    except pa.ArrowInvalid:  # the only possible error: 32-bit offsets are too small
        return _gather_large(column, rows)
    return fitted(taken) if exceeds(taken) else taken


def _gather_large(column: pa.Array, rows: pa.Array) -> pa.Array:
    """The same where 64-bit offsets may be needed."""
    return fitted(_TAKE.call([column.cast(wide_type(column.type)), rows], _UNCHECKED))


class GatheredColumns(Sequence[pa.Array]):
    """Selected rows of columns, each column gathered when it is first used."""

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
    """NumPy's 64-bit numbers as an Arrow column, without a copy and without type inference."""
    kind = _INT64 if values.dtype.kind == "i" else _UINT64
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
