"""Compares two results as multisets of rows.

Every column of both sides is replaced by small integer codes (equal codes mean equal values: NULL with NULL,
NaN with NaN, -0.0 with 0.0), the codes of a row are combined into one, and the counts per code must agree.
That is a handful of vectorised passes, whatever the types.

Sums of floats are the one exception. Penstock's are exact, Spark's depend on the order in which its tasks
add, so approximate columns may differ by a relative ``tolerance`` (absolute below 1). Rows are then grouped
by their exact columns, and within a group paired in the order of the approximate ones, or, in the rare case
that rounding swaps neighbours, one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.zset import contiguous

__all__ = ["Mismatch", "consolidate", "difference", "identities"]

_SHOWN = 5
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Mismatch:
    """How two results differ: in words, with the first rows that only one side has (or has more often)."""

    summary: str
    surplus: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  too much: {row}" for row in self.surplus]
        lines += [f"  missing:  {row}" for row in self.missing]
        return "\n".join(lines)


def difference(
    actual: pa.Table,
    expected: pa.Table,
    *,
    approx: Collection[str] = (),
    tolerance: float = 1e-9,
    actual_weights: Codes | None = None,
) -> Mismatch | None:
    """None if both tables hold the same rows equally often, else what differs.

    ``actual_weights`` counts each row of ``actual`` that many times (it may be negative) instead of once.
    """
    mismatch = _schema_difference(actual.schema, expected.schema)
    if mismatch:
        return Mismatch(mismatch)
    both = pa.concat_tables([actual, expected])
    weights = np.ones(len(both), np.int64)
    weights[len(actual) :] = -1
    if actual_weights is not None:
        weights[: len(actual)] = actual_weights
    exact = [name for name in both.schema.names if name not in approx]
    codes = _row_codes(both, exact)
    loose = [name for name in both.schema.names if name in approx]
    if loose:
        weights = _without_close_pairs(both, codes, loose, weights, tolerance)
        codes = _row_codes(both, both.schema.names)
    counts = np.bincount(codes, weights, minlength=1).astype(np.int64)
    return _mismatch(both, codes, counts) if counts.any() else None


def consolidate(table: pa.Table, weights: Codes) -> tuple[pa.Table, Codes]:
    """The same multiset with every row once, and no rows of weight zero."""
    codes = _row_codes(table, table.schema.names)
    counts = np.bincount(codes, weights, minlength=1).astype(np.int64)
    first = _first_rows(codes, len(counts))
    kept = np.flatnonzero(counts)
    return table.take(pa.array(first[kept])), counts[kept]


def identities(batch: pa.RecordBatch, columns: Sequence[str]) -> list[Hashable]:
    """One hashable value per row, equal where Spark's grouping considers the rows equal."""
    parts = [[_identity(value) for value in batch.column(name).to_pylist()] for name in columns]
    return list(zip(*parts, strict=True)) if parts else [()] * len(batch)


def _identity(value: Any) -> Hashable:
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0  # -0.0 + 0.0 is 0.0
    if isinstance(value, dict):
        return tuple((name, _identity(part)) for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_identity, value))
    return value  # type: ignore[no-any-return]


def _schema_difference(actual: pa.Schema, expected: pa.Schema) -> str | None:
    if actual.names != expected.names:
        return f"columns are {actual.names}, expected {expected.names}"
    for mine, theirs in zip(actual, expected, strict=True):
        if mine.type != theirs.type:
            return f"column {mine.name} is {mine.type}, expected {theirs.type}"
    return None


def _row_codes(table: pa.Table, names: list[str]) -> Codes:
    codes = np.zeros(len(table), np.int64)
    for name in names:
        column = _column_codes(table.column(name))
        # Folding keeps the codes dense, so the product of two counts never overflows.
        folded = codes * (int(column.max(initial=0)) + 1) + column
        codes = np.unique(folded, return_inverse=True)[1].astype(np.int64)
    return codes


def _column_codes(column: pa.ChunkedArray) -> Codes:
    array = contiguous(column)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(array.type):
        array = _canonical_floats(array)
    elif pa.types.is_nested(array.type):
        rows = identities(pa.RecordBatch.from_arrays([array], ["value"]), ["value"])
        array = pa.array(map(repr, rows), pa.string())
    encoded = array.dictionary_encode(null_encoding="encode").indices
    codes: Codes = encoded.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _canonical_floats(array: pa.Array) -> pa.Array:
    values = array.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    values = np.where(np.isnan(values), np.nan, values)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(values.view(np.int64), mask=~valid)


def _without_close_pairs(
    table: pa.Table, codes: Codes, loose: list[str], weights: Codes, tolerance: float
) -> Codes:
    """Weights after pairing each row of one side with a close enough row of the other; zero if all are
    paired."""
    values = np.column_stack([_floats(table.column(name)) for name in loose])
    rest = weights.copy()
    order = np.lexsort((*values.T[::-1], codes))
    mine, theirs = _expanded(order, weights, 1), _expanded(order, weights, -1)
    if len(mine) == len(theirs) and np.array_equal(codes[mine], codes[theirs]):
        close = _close(values[mine], values[theirs], tolerance)
        np.subtract.at(rest, mine[close], 1)
        np.add.at(rest, theirs[close], 1)
    for row in np.flatnonzero(rest > 0):  # few rows, which pairing in order left over
        for other in np.flatnonzero((codes == codes[row]) & (rest < 0)):
            if _close(values[[row]], values[[other]], tolerance)[0]:
                pairs = min(rest[row], -rest[other])
                rest[row] -= pairs
                rest[other] += pairs
    return rest


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Floats with NULL as a value of its own: the payload of a NaN would not survive, so a huge one does."""
    array = column.combine_chunks()
    values = np.asarray(array.to_numpy(zero_copy_only=False), np.float64)
    return np.where(array.is_null().to_numpy(zero_copy_only=False), -1.5e308, values)


def _expanded(order: Codes, weights: Codes, sign: int) -> Codes:
    """Row numbers of one side in the given order, each as often as its weight says."""
    return np.repeat(order, np.maximum(weights[order] * sign, 0))


def _close(left: NDArray[np.float64], right: NDArray[np.float64], tolerance: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.maximum(1.0, np.minimum(np.abs(left), np.abs(right)))
        close = np.abs(left - right) <= tolerance * scale
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    finite = np.isfinite(left) & np.isfinite(right)
    result: NDArray[np.bool_] = (same | (close & finite)).all(axis=1)
    return result


def _first_rows(codes: Codes, count: int) -> Codes:
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def _mismatch(table: pa.Table, codes: Codes, counts: Codes) -> Mismatch:
    first = _first_rows(codes, len(counts))
    surplus, missing = np.flatnonzero(counts > 0), np.flatnonzero(counts < 0)
    extra = int(counts[surplus].sum())
    summary = f"{extra} {'row' if extra == 1 else 'rows'} too many, {-counts[missing].sum()} missing"

    def shown(which: Codes) -> tuple[str, ...]:
        # Slices, because Arrow's ``take`` of a column in chunks puts it together first, if it can.
        rows: list[dict[str, Any]] = [
            row for at in first[which[:_SHOWN]].tolist() for row in table.slice(at, 1).to_pylist()
        ]
        return tuple(f"{abs(counts[code])} x {row}" for code, row in zip(which, rows, strict=False))

    return Mismatch(summary, shown(surplus), shown(missing))
