"""Columns of arrays and maps, taken apart and put together again.

Such a column is one column of elements and one vector of offsets. A function of arrays works on all elements
of all rows at once: it knows the row of each element (its *parent*), computes a new column of elements and a
length per row, and ``relist`` makes rows of them. Nothing here looks at single rows. Elements that lie
between the offsets of a NULL row are never touched, so they cannot raise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.registry import Value
from penstock.expr.functions.vectors import Mask, as_array, valid_mask
from penstock.expr.types import to_arrow

__all__ = ["Integers", "Lists", "element_of", "interleaved", "relist", "remap", "renamed", "spread"]

Integers = npt.NDArray[np.int64]

_MOST_ELEMENTS = 2**31 - 16


class Lists:
    """Offsets, lengths and elements of an array or map column."""

    def __init__(self, array: pa.Array) -> None:
        self.valid = valid_mask(array)
        offsets = np.asarray(array.offsets, np.int64)
        self.starts = offsets[:-1]
        self.lengths = np.diff(offsets)
        if self.valid is not None:
            self.lengths = np.where(self.valid, self.lengths, 0)
        self.keys = array.keys if pa.types.is_map(array.type) else None
        self.values = array.items if pa.types.is_map(array.type) else array.values

    def take(self, index: Integers, usable: Mask) -> pa.Array:
        """Element ``index`` of each row, NULL where it is not usable."""
        place = np.where(usable, self.starts + index, 0)
        return self.values.take(pa.array(place, mask=~usable))

    def parents(self) -> Integers:
        """The row of each element of each valid list."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def places(self) -> Integers:
        """The position among all elements of each element of each valid list."""
        return np.repeat(self.starts - self.firsts(), self.lengths) + np.arange(int(self.lengths.sum()))

    def firsts(self) -> Integers:
        """For each row the number of elements in the rows before it."""
        return np.cumsum(self.lengths) - self.lengths

    def index(self) -> Integers:
        """For each element of each valid list its position in its list, counted from 0."""
        return np.arange(int(self.lengths.sum())) - np.repeat(self.firsts(), self.lengths)

    def elements(self) -> pa.Array:
        """The elements (of a map: the values) of all valid lists, one after the other."""
        return self._gathered(self.values)

    def key_elements(self) -> pa.Array:
        """The keys of all valid maps, one after the other."""
        assert self.keys is not None
        return self._gathered(self.keys)

    def _gathered(self, values: pa.Array) -> pa.Array:
        places = self.places()
        if len(places) and int(places[-1]) - int(places[0]) + 1 == len(places):
            # Without gaps, as nearly always, the elements are a slice.
            return values.slice(int(places[0]), len(places))
        return values.take(pa.array(places)) if len(places) else values.slice(0, 0)


def spread(lengths: Integers) -> tuple[Integers, Integers]:
    """For rows of these lengths the row of each element and its position in the row.

    Raises Spark's error if the elements are too many, before there is any memory for them."""
    if lengths.astype(np.float64).sum() >= _MOST_ELEMENTS:
        raise EvaluationError("COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION", "an array has too many elements")
    parents = np.repeat(np.arange(len(lengths)), lengths)
    return parents, np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _offsets(lengths: Integers) -> pa.Array:
    return pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]).astype(np.int32))


def _missing(valid: Mask | None) -> pa.Array | None:
    return None if valid is None else pa.array(~valid)


def renamed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array in a type that differs from its own in nothing but the names of fields.

    A cast would look fields of structs up by name; here they keep their places."""
    if array.type == kind:
        return array
    if pa.types.is_struct(kind):
        parts = [renamed(part, field.type) for part, field in zip(array.flatten(), kind, strict=True)]
        missing = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=missing)
    if pa.types.is_list(kind) and pa.types.is_list(array.type):
        lists = Lists(array)
        elements = renamed(lists.elements(), kind.value_type)
        return pa.ListArray.from_arrays(
            _offsets(lists.lengths), elements, type=kind, mask=_missing(lists.valid)
        )
    if pa.types.is_map(kind):
        lists = Lists(array)
        keys, items = renamed(lists.key_elements(), kind.key_type), renamed(lists.elements(), kind.item_type)
        return pa.MapArray.from_arrays(
            _offsets(lists.lengths), keys, items, type=kind, mask=_missing(lists.valid)
        )
    return array.cast(kind)


def relist(elements: pa.Array, lengths: Integers, valid: Mask | None, data_type: t.DataType) -> pa.Array:
    """An array column: ``elements`` cut into rows of ``lengths``, which must be 0 where a row is NULL."""
    kind = to_arrow(data_type)
    elements = renamed(elements, kind.value_type)
    return pa.ListArray.from_arrays(_offsets(lengths), elements, type=kind, mask=_missing(valid))


def remap(
    keys: pa.Array, items: pa.Array, lengths: Integers, valid: Mask | None, data_type: t.DataType
) -> pa.Array:
    """A map column, made in the same way. The keys must not be NULL and differ within a row."""
    kind = to_arrow(data_type)
    keys, items = renamed(keys, kind.key_type), renamed(items, kind.item_type)
    return pa.MapArray.from_arrays(_offsets(lengths), keys, items, type=kind, mask=_missing(valid))


def interleaved(args: Sequence[Value], length: int) -> pa.Array:
    """The values of the first row, then those of the second, and so on."""
    columns = pa.concat_arrays([as_array(arg, length) for arg in args])
    return columns.take(pa.array(np.arange(length * len(args)).reshape(len(args), length).T.ravel()))


def element_of(data_type: t.DataType) -> t.DataType:
    """The type of an array's elements."""
    assert isinstance(data_type, t.ArrayType), data_type
    return data_type.elementType
