"""The last check of a column before it is let in, whichever way it came."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import StructField

from penstock.expr.functions.floats import one_spelling
from penstock.expr.functions.text_search import bytes_of, is_ascii
from penstock.intake.arrow_values import check_nulls
from penstock.intake.refusal import RefusedError

__all__ = ["contiguous", "let_in"]


def let_in(array: pa.Array, field: StructField, *, in_key: bool) -> pa.Array:
    """The column ``field`` of a table, of its type already, with every floating-point value in one spelling;
    raises :class:`RefusedError` unless its memory is valid and no value is NULL where the table has none."""
    try:
        array.validate(full=not _is_plain_text(array))
    except pa.ArrowInvalid as problem:
        raise RefusedError(f"the Arrow data is not valid: {problem}") from None
    check_nulls(array, field.dataType, field.nullable, "a key column" if in_key else "a NOT NULL column")
    return one_spelling(array)


def _is_plain_text(array: pa.Array) -> bool:
    """Whether a column is text without NULLs, in ASCII alone and in order: then a full validation would find
    nothing more. One look at all bytes costs a third of Arrow's look at every value."""
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
    combined = column.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        raise RefusedError("more than 2 GiB of data in one column: push it in several steps")
    return combined
