"""What Spark makes of the results of a Python function that it runs without Arrow (``useArrow=False``).

There PySpark hands over Python objects and the JVM takes what fits the declared type: a value of another type
becomes NULL, an integer that is too large is cut to its low bits, and whatever is returned for STRING is
printed as Java prints it. Nobody should rely on that, but a view must not differ from the query. Only what
Java would print with an address, or as an object of its own, is an error here; and maps, whose entries Java
puts in an order of its own, are refused when the view is created.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.float_text import java_double
from penstock.expr.types import to_arrow

__all__ = ["array_of"]

Taken = Callable[[Any], Any]

_BITS = {t.ByteType: 8, t.ShortType: 16, t.IntegerType: 32, t.LongType: 64}
_COUNTS = (t.DateType, t.TimestampType, t.TimestampNTZType, t.DayTimeIntervalType)


def array_of(results: list[Any], data_type: t.DataType, *, shortest: bool) -> pa.Array:
    """Results, as PySpark's own conversion of the type left them, in the columnar form of the type.
    ``shortest`` where Java prints large whole doubles with as few digits as others."""
    take = _taken(data_type, shortest)
    return pa.array([take(result) for result in results], to_arrow(data_type))


def _taken(data_type: t.DataType, shortest: bool) -> Taken:
    """How the JVM takes a value of a type; what it does not know is NULL."""
    if isinstance(data_type, t.BooleanType):
        return lambda value: value if isinstance(value, bool) else None
    if type(data_type) in _BITS:
        bits = _BITS[type(data_type)]  # type: ignore[index] # one of the four, as just found
        return lambda value: _low_bits(value, bits) if _is_integer(value) else None
    if isinstance(data_type, (t.FloatType, t.DoubleType)):
        return lambda value: value if isinstance(value, float) else None
    if isinstance(data_type, t.DecimalType):
        return _decimal(data_type)
    if isinstance(data_type, _COUNTS):
        return lambda value: value if _is_integer(value) else None
    if isinstance(data_type, t.StringType):
        return lambda value: _text(value, shortest)
    if isinstance(data_type, t.BinaryType):
        return _bytes
    if isinstance(data_type, t.ArrayType):
        return _array(_taken(data_type.elementType, shortest))
    if isinstance(data_type, t.StructType):
        return _struct(data_type, shortest)
    return lambda value: None


def _is_integer(value: Any) -> bool:
    """Whether the JVM sees a Long: larger integers are something else there, and truth values too."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _low_bits(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def _decimal(data_type: t.DecimalType) -> Taken:
    exponent = decimal.Decimal(1).scaleb(-data_type.scale)
    context = decimal.Context(prec=data_type.precision, rounding=decimal.ROUND_HALF_UP)
    return lambda value: value.quantize(exponent, context=context) if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, decimal.Decimal) and value.is_finite()


def _text(value: Any, shortest: bool) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return java_double(value, shortest=shortest)
    if isinstance(value, (int, decimal.Decimal)):
        return str(value)
    raise TypeError(f"a {type(value).__name__} was returned where STRING is declared; return a str")


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, (bytes, bytearray)) else None


def _array(element: Taken) -> Taken:
    def take(value: Any) -> Any:
        if isinstance(value, (bytes, bytearray)):
            value = memoryview(value).cast("b").tolist()
        return [element(item) for item in value] if isinstance(value, (list, tuple)) else None

    return take


def _struct(data_type: t.StructType, shortest: bool) -> Taken:
    fields = [(field.name, _taken(field.dataType, shortest)) for field in data_type.fields]

    def take(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return None
        if len(value) != len(fields):
            raise ValueError(f"{len(value)} values were returned for a struct of {len(fields)} fields")
        return {name: part(item) for (name, part), item in zip(fields, value, strict=True)}

    return take
