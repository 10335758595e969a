"""CHAR(n) and VARCHAR(n) on input, by Spark's rule for writing into a table.

A string of more than n characters (code points) loses trailing spaces until it has n, and is rejected if that
is not enough. A shorter CHAR(n) is padded with spaces. So a CHAR(n) always has exactly n characters: keys,
joins and groups compare what is stored. The same rule holds inside arrays, maps and structs; keys of a map
that become equal by it are rejected, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import types as T  # noqa: N812 - Spark's own convention for this module

from penstock.expr.types import has_lengths
from penstock.intake.arrow_values import map_entries, offsets_of, row_finder
from penstock.intake.refusal import RefusedError, shown, sql_name

__all__ = ["fitted"]


def fitted(array: pa.Array, data_type: T.DataType) -> pa.Array:
    """``array``, of the Arrow form of ``data_type``, with every CHAR(n) and VARCHAR(n) in it as Spark would
    store it; raises :class:`RefusedError` at the first text that is too long."""
    if not has_lengths(data_type):
        return array
    if isinstance(data_type, T.ArrayType):
        offsets = offsets_of(array)
        elements = _part(array.flatten(), data_type.elementType, "element", row_finder(offsets))
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), elements, type=array.type, mask=array.is_null()
        )
    if isinstance(data_type, T.MapType):
        return _map(array, data_type)
    if isinstance(data_type, T.StructType):
        children = [
            _part(child, field.dataType, field.name)
            for child, field in zip(array.flatten(), data_type.fields, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(array.type), mask=array.is_null())
    assert isinstance(data_type, (T.CharType, T.VarcharType))
    return _text(array, data_type)


def _part(
    array: pa.Array, data_type: T.DataType, name: str, rows: Callable[[int], int] | None = None
) -> pa.Array:
    try:
        return fitted(array, data_type)
    except RefusedError as refused:
        raise refused.within(name, rows) from None


def _text(array: pa.Array, data_type: T.CharType | T.VarcharType) -> pa.Array:
    limit = data_type.length
    bounds = pc.min_max(pc.utf8_length(array)).as_py()
    if bounds["max"] is None:
        return array
    if bounds["max"] > limit:
        _check_lengths(array, data_type)
        array = pc.utf8_slice_codeunits(array, 0, limit)
    if isinstance(data_type, T.CharType) and bounds["min"] < limit:
        array = pc.utf8_rpad(array, limit, " ")
    return array


def _check_lengths(array: pa.Array, data_type: T.CharType | T.VarcharType) -> None:
    lengths = pc.utf8_length(pc.utf8_rtrim(array, " "))
    index = pc.index(pc.greater(lengths, data_type.length).fill_null(False), True).as_py()
    if index >= 0:
        raise RefusedError(
            f"{shown(array[index].as_py())} has {lengths[index].as_py()} characters, which is too long for "
            f"{sql_name(data_type)}",
            index=index,
        )


def _map(array: pa.Array, data_type: T.MapType) -> pa.Array:
    entries = map_entries(array)
    offsets = offsets_of(entries)
    keys, values = entries.flatten().flatten()
    new_keys = _part(keys, data_type.keyType, "key", row_finder(offsets))
    new_values = _part(values, data_type.valueType, "value", row_finder(offsets))
    if new_keys is not keys:
        _refuse_equal_keys(new_keys, data_type, offsets)
    return pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()), new_keys, new_values, type=array.type, mask=array.is_null()
    )


def _refuse_equal_keys(keys: pa.Array, data_type: T.MapType, offsets: NDArray[np.int64]) -> None:
    """Keys that differ in spaces only are equal once they have their length."""
    if not isinstance(data_type.keyType, (T.CharType, T.VarcharType)) or not len(keys):
        return
    codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs = rows * (int(codes.max()) + 1) + codes
    _, first = np.unique(pairs, return_index=True)
    if len(first) < len(pairs):
        again = int(np.setdiff1d(np.arange(len(pairs)), first)[0])
        raise RefusedError(
            f"the key {shown(keys[again].as_py())} is in the map twice, as {sql_name(data_type.keyType)}",
            index=int(rows[again]),
            path=("key",),
        )
