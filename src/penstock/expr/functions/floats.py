"""Normalises floating-point values: no -0.0, and one NaN.

Spark and the Z-sets here treat -0.0 as 0.0 and all NaN as one, but text and hashes of bits do not. Where
values that count as equal must also be bit-identical (keys of groups, rows of tables), they are converted to
the bit patterns that Java prefers. A column that is already normalised, as nearly every one is, is returned
unchanged, after two passes over its bits; nested values are handled by their buffers, not row by row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.expr.functions.vectors import build, unpack

__all__ = ["normalise_floats"]

_BITS = {32: ("u4", 0x80000000, 0x7FC00000), 64: ("u8", 1 << 63, 0x7FF8 << 48)}


def normalise_floats(array: pa.Array) -> pa.Array:
    """The array with 0.0 for -0.0 and the one NaN, also inside lists, structs and maps."""
    kind = array.type
    if pa.types.is_floating(kind):
        return _floats(array)
    if not kind.num_fields:
        return array
    if pa.types.is_list(kind):
        given = [array.values]
    elif pa.types.is_map(kind):
        given = [array.keys, array.items]
    elif pa.types.is_struct(kind):
        given = [array.field(i) for i in range(kind.num_fields)]
    else:
        return array
    parts = [normalise_floats(part) for part in given]
    if all(new is old for new, old in zip(parts, given, strict=True)):
        return array
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind):
        parts = [pa.StructArray.from_arrays(parts, fields=[kind.key_field, kind.item_field])]
    # A list or map over other elements: its validity and its offsets stay as they are.
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, array.offset, children=parts)


def _floats(array: pa.Array) -> pa.Array:
    values, valid = unpack(array)
    unsigned, negative_zero, nan = _BITS[array.type.bit_width]
    bits = values.view(unsigned)
    missing = np.isnan(values)
    if not ((bits == negative_zero) | (missing & (bits != nan))).any():
        return array
    normalised = bits.copy()
    normalised[bits == negative_zero] = 0
    normalised[missing] = nan
    return build(normalised.view(values.dtype), valid, array.type)
