"""Digits of TIME(p) on the way in: a time with more than p digits behind the second is refused, as a decimal
with too many digits is. Spark would cut them off or keep them, depending on where the rows come from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812 - Spark's own convention for this module

from penstock.expr.functions.vectors import unpack
from penstock.intake.arrow_values import map_entries, offsets_of, row_finder
from penstock.intake.refusal import RefusedError, sql_name

__all__ = ["check_digits"]


def check_digits(array: pa.Array, data_type: T.DataType) -> None:
    """Raises :class:`RefusedError` at the first time in ``array``, at any depth, with too many digits."""
    if isinstance(data_type, T.TimeType):
        _check(array, data_type)
    elif isinstance(data_type, T.StructType):
        for child, field in zip(array.flatten(), data_type.fields, strict=True):
            _part(child, field.dataType, field.name)
    elif isinstance(data_type, T.ArrayType):
        _part(array.flatten(), data_type.elementType, "element", row_finder(offsets_of(array)))
    elif isinstance(data_type, T.MapType):
        entries = map_entries(array)
        keys, values = entries.flatten().flatten()
        rows = row_finder(offsets_of(entries))
        _part(keys, data_type.keyType, "key", rows)
        _part(values, data_type.valueType, "value", rows)


def _part(
    array: pa.Array, data_type: T.DataType, name: str, rows: Callable[[int], int] | None = None
) -> None:
    try:
        check_digits(array, data_type)
    except RefusedError as refused:
        raise refused.within(name, rows) from None


def _check(array: pa.Array, data_type: T.TimeType) -> None:
    nanos, valid = unpack(array)
    bad = nanos % 10 ** (9 - data_type.precision) != 0
    if valid is not None:
        bad &= valid
    if bad.any():
        index = int(np.argmax(bad))
        text = array[index : index + 1].cast(pa.string())[0].as_py().rstrip("0")
        raise RefusedError(f"{text} has too many digits for {sql_name(data_type)}", index=index)
