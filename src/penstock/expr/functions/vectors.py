"""Between Arrow arrays and NumPy vectors, without copying what need not be copied.

Kernels that Arrow has no function for work on plain NumPy vectors and a validity mask. The slot of a NULL
holds anything, so a kernel must never raise because of a slot whose mask is False: ``fail_where`` takes
care of that. ``map_distinct`` is the way out for functions that exist only per value: it calls them once
per distinct tuple of arguments and costs a dictionary encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import EvaluationError
from penstock.expr.functions.registry import Value
from penstock.expr.nodes import Call
from penstock.expr.types import to_arrow

__all__ = [
    "Mask",
    "Vector",
    "as_array",
    "both",
    "build",
    "constant",
    "fail_where",
    "invalidate",
    "is_scalar",
    "map_distinct",
    "null_of",
    "unpack",
    "valid_mask",
]

Vector = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

_NUMPY: dict[str, str] = {
    "int8": "i1",
    "int16": "i2",
    "int32": "i4",
    "int64": "i8",
    "float": "f4",
    "double": "f8",
    "date32[day]": "i4",
    "timestamp[us, tz=UTC]": "i8",
    "timestamp[us]": "i8",
    "duration[us]": "i8",
    "time64[ns]": "i8",
}


def is_scalar(value: Value) -> bool:
    """Whether the value is one for all rows."""
    return isinstance(value, pa.Scalar)


def constant(value: Value) -> Any:
    """The Python value of a constant argument."""
    return value.as_py()


def null_of(call: Call) -> Value:
    """NULL in the type of the call's result."""
    return pa.scalar(None, to_arrow(call.data_type))


def as_array(value: Value, length: int) -> pa.Array:
    """The value as an array of ``length`` rows."""
    if not isinstance(value, pa.Scalar):
        return value
    if length == 0 or not value.is_valid:
        return pa.nulls(length, value.type)
    return pa.repeat(value, length)


def valid_mask(value: Value) -> Mask | None:
    """True where the value is not NULL; None means everywhere. A constant is taken to be valid."""
    if isinstance(value, pa.Scalar) or value.null_count == 0:
        return None
    return np.asarray(pc.is_valid(value).to_numpy(zero_copy_only=False), dtype=np.bool_)


def both(*masks: Mask | None) -> Mask | None:
    """The rows valid in all masks."""
    result: Mask | None = None
    for mask in masks:
        if mask is not None:
            result = mask if result is None else result & mask
    return result


def unpack(value: Value) -> tuple[Vector, Mask | None]:
    """A number, date, time or truth value as a vector of its machine form, and its validity.

    A constant becomes a vector of one element, which NumPy broadcasts.
    """
    array = as_array(value, 1)
    if pa.types.is_boolean(array.type):
        filled = array.fill_null(False) if array.null_count else array
        return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_), valid_mask(array)
    if len(array) == 0:
        return np.empty(0, _NUMPY[str(array.type)]), None
    data = np.frombuffer(array.buffers()[1], _NUMPY[str(array.type)])
    return data[array.offset : array.offset + len(array)], valid_mask(array)


def build(values: Vector, valid: Mask | None, arrow_type: pa.DataType) -> pa.Array:
    """An Arrow array of the machine values; rows where ``valid`` is False are NULL."""
    length = len(values)
    bitmap = None
    if valid is not None and not valid.all():
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(arrow_type):
        data = pa.py_buffer(np.packbits(values, bitorder="little"))
    else:
        data = pa.py_buffer(np.ascontiguousarray(values, _NUMPY[str(arrow_type)]))
    return pa.Array.from_buffers(arrow_type, length, [bitmap, data])


def invalidate(array: pa.Array, bad: Mask) -> pa.Array:
    """The array with NULL where ``bad``."""
    if not bad.any():
        return array
    return pc.if_else(pa.array(bad), pa.scalar(None, array.type), array)


def fail_where(
    bad: Mask, valid: Mask | None, call: Call, args: Sequence[Value], condition: str, text: str
) -> None:
    """Raises Spark's error ``condition`` if any valid row is ``bad``, showing the first one's arguments."""
    if valid is not None:
        bad = bad & valid
    if not bad.any():
        return
    row = int(np.argmax(bad))
    shown = ", ".join(_show(arg, row) for arg in args)
    raise EvaluationError(condition, f"{text}: {call.function}({shown})", expression=str(call))


def _show(value: Value, row: int) -> str:
    scalar = value if isinstance(value, pa.Scalar) else value[row if len(value) > 1 else 0]
    if pa.types.is_temporal(scalar.type):
        # Python's datetime ends at the year 9999, Arrow's text form does not.
        return str(pc.cast(scalar, pa.string()))
    plain = scalar.as_py()
    return repr(plain) if isinstance(plain, (str, bytes)) else str(plain)


def map_distinct(
    compute: Callable[..., Any],
    args: Sequence[Value],
    length: int,
    arrow_type: pa.DataType,
    *,
    nulls: bool = False,
) -> pa.Array:
    """``compute`` applied to each distinct tuple of arguments.

    A row with a NULL argument is NULL, unless ``compute`` wants to see ``nulls``, as None."""
    dictionaries: list[list[Any]] = []
    codes = np.zeros(length, np.int64)
    missing: Mask | None = None
    width = 1
    for arg in args:
        if isinstance(arg, pa.Scalar):
            dictionaries.append([arg.as_py()])
            continue
        encoded = pc.dictionary_encode(arg, null_encoding="encode" if nulls else "mask")
        mask = valid_mask(encoded.indices)
        indices = encoded.indices.fill_null(0) if mask is not None else encoded.indices
        dictionaries.append(encoded.dictionary.to_pylist())
        size = max(1, len(dictionaries[-1]))
        codes = codes * size + np.asarray(indices, np.int64)
        width *= size
        missing = both(missing, mask)
    if width > 2**62:
        raise OverflowError("too many combinations of arguments in one batch")
    if missing is not None:
        codes = np.where(missing, codes, -1)
    distinct, inverse = np.unique(codes, return_inverse=True)
    results = [None if code < 0 else compute(*_decode(int(code), args, dictionaries)) for code in distinct]
    return pa.array(results, arrow_type).take(pa.array(inverse))


def _decode(code: int, args: Sequence[Value], dictionaries: list[list[Any]]) -> list[Any]:
    values: list[Any] = []
    for arg, dictionary in zip(reversed(args), reversed(dictionaries), strict=True):
        if isinstance(arg, pa.Scalar):
            values.append(dictionary[0])
        else:
            code, position = divmod(code, max(1, len(dictionary)))
            values.append(dictionary[position])
    return values[::-1]
