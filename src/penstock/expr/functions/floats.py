"""One spelling for every floating-point value: no -0.0, and one NaN.

Spark and the Z-sets here take -0.0 for 0.0 and all NaN for one, but text, hashes of bits and eyes do not.
Where values that count as equal must also look equal (keys of groups, rows of tables), they are brought to
the spelling that Java prefers. A column that is in it already, and that is nearly every one, is passed on as
it is, after two passes over its bits; nested values are taken apart by their buffers, not row by row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.expr.functions.vectors import build, unpack

__all__ = ["one_spelling"]

_BITS = {32: ("u4", 0x80000000, 0x7FC00000), 64: ("u8", 1 << 63, 0x7FF8 << 48)}


def one_spelling(array: pa.Array) -> pa.Array:
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
    parts = [one_spelling(part) for part in given]
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
    spelled = bits.copy()
    spelled[bits == negative_zero] = 0
    spelled[missing] = nan
    return build(spelled.view(values.dtype), valid, array.type)
