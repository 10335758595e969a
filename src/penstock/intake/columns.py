"""The last check of an input column, whichever way it came."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import StructField

from penstock.expr.functions.floats import normalise_floats
from penstock.expr.functions.text_search import bytes_of, is_ascii
from penstock.intake.arrow_values import check_nulls
from penstock.intake.refusal import RefusedError
from penstock.intake.text_lengths import fitted
from penstock.intake.time_digits import check_digits
from penstock.zset.width import concat, exceeds, is_wide

__all__ = ["checked_column", "contiguous"]


def checked_column(array: pa.Array, field: StructField, *, in_key: bool) -> pa.Array:
    """The column ``field`` of a table, already of its type, with normalised floating-point values and padded
    CHAR(n); raises :class:`RefusedError` unless its memory is valid, no value is NULL where the table has
    none, no text is too long and no TIME has too many digits."""
    try:
        array.validate(full=not _is_plain_text(array))
    except pa.ArrowInvalid as problem:
        raise RefusedError(f"the Arrow data is not valid: {problem}") from None
    check_nulls(array, field.dataType, field.nullable, "a key column" if in_key else "a NOT NULL column")
    check_digits(array, field.dataType)
    return normalise_floats(fitted(array, field.dataType))


def _is_plain_text(array: pa.Array) -> bool:
    """Whether a column is ASCII text without NULLs and with valid offsets: then a full validation would find
    nothing more. One scan of all bytes costs a third of Arrow's check of every value."""
    if array.type != pa.string() or not len(array) or array.buffers()[0] is not None:
        return False
    array.validate()  # the first and the last offset are within the data
    _, ends = bytes_of(array)
    return bool((ends[1:] >= ends[:-1]).all()) and is_ascii(array)


def contiguous(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    combined = concat(column.chunks) if column.num_chunks else pa.array([], column.type)
    if exceeds(combined) and is_wide(combined):
        raise RefusedError("more than 2 GiB of data in one column: push it in several parts")
    return combined
