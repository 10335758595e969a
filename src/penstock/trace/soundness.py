"""Whether stored rows form a batch: in order, each identity once, and no row that cancels out.

A search in a batch relies on all of that and never looks whether it holds, so a batch that was written wrong
gives wrong answers with correct checksums. Rows are looked at in pieces, so that the memory needed besides
the batch itself is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.trace.batch import SEQUENCE, TIME, WORDS

__all__ = ["unsound"]

_PIECE = 1 << 20
_ORDER, _KEY, _ROW = WORDS
_WEIGHT, _SUM = "weight", "sum:"


def unsound(rows: pa.RecordBatch) -> str:
    """Why rows in the form of :meth:`penstock.trace.Batch.to_arrow` are not a batch; empty if they are. Words
    that were not stored are not looked at."""
    metadata = rows.schema.metadata or {}
    if all(name in metadata for name in SEQUENCE):
        return ""  # consecutive words, all weights one: by its form
    names = rows.schema.names
    if _WEIGHT not in names:
        return "it has no weights"
    components = [name for name in names if name == _WEIGHT or name.startswith(_SUM)]
    if any(rows.column(name).null_count for name in names if name in (*WORDS, TIME, *components)):
        return "a word, time, weight or sum is NULL"
    return _cancelled(rows, components) or (_disorder(rows) if _ORDER in names else "")


def _cancelled(rows: pa.RecordBatch, components: list[str]) -> str:
    for start in range(0, rows.num_rows, _PIECE):
        piece = rows.slice(start, _PIECE)
        zero: NDArray[np.bool_] = np.ones(piece.num_rows, np.bool_)
        for name in components:
            zero &= piece.column(name).to_numpy(zero_copy_only=False) == 0
        if zero.any():
            return f"weight and sums of row {start + int(zero.argmax())} are all zero"
    return ""


def _disorder(rows: pa.RecordBatch) -> str:
    order = rows.column(_ORDER).to_numpy()
    for start in range(0, len(order), _PIECE):
        piece = order[max(0, start - 1) : start + _PIECE]
        falling = piece[1:] < piece[:-1]
        if falling.any():
            return f"the order word of row {max(0, start - 1) + 1 + int(falling.argmax())} is below the last"
    lanes = [rows.column(name).to_numpy() for name in (_KEY, _ROW, TIME) if name in rows.schema.names]
    for start, stop in _pieces(order):
        row = _repeated(order[start:stop], [lane[start:stop] for lane in lanes])
        if row is not None:
            return f"row {start + row} has the identity of another row"
    return ""


def _pieces(order: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """Ranges of rows such that equal words are in the same range."""
    start = 0
    while start < len(order):
        last = order[min(start + _PIECE, len(order)) - 1]
        stop = int(np.searchsorted(order, last, "right"))
        yield start, stop
        start = stop


def _repeated(order: NDArray[np.uint64], lanes: list[NDArray[np.uint64]]) -> int | None:
    """The first row whose identity another row has. Only rows that share their word are compared."""
    same = order[1:] == order[:-1]
    shared: NDArray[np.bool_] = np.zeros(len(order), np.bool_)
    shared[1:] |= same
    shared[:-1] |= same
    rows = np.flatnonzero(shared)
    if not len(rows):
        return None
    words = [order[rows], *(lane[rows] for lane in lanes)]
    perm = np.lexsort(words[::-1])
    equal = np.logical_and.reduce([word[perm][1:] == word[perm][:-1] for word in words])
    return int(rows[perm[1:][equal]].min()) if equal.any() else None
