"""``from_json``: texts of JSON as structs, arrays and maps. Each distinct text is parsed once.

Spark's mode PERMISSIVE: a field that does not fit its type is NULL and the rest of its struct stays; an array
or a map with something that does not fit is NULL as a whole; a text that is not JSON gives a struct of NULLs.
Other modes and options are refused, and so are types whose reading depends on them.
"""

from __future__ import annotations

import decimal
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.cast_parse_times import text_to_date, text_to_timestamp
from penstock.expr.functions.conversion import Conversion
from penstock.expr.functions.json_text import Number, Object, parse, written
from penstock.expr.functions.registry import TRY, Value, function
from penstock.expr.functions.vectors import map_distinct, unpack
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []

Reader = Callable[[Any], Any]

_RANGES = {"short": 15, "integer": 31, "long": 63}
_WORDS = {
    "NaN": "nan",
    "Infinity": "inf",
    "+Infinity": "inf",
    "-Infinity": "-inf",
    "INF": "inf",
    "+INF": "inf",
    "-INF": "-inf",
}
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_UNREAD = (
    *(t.BinaryType, t.TimeType, t.TimestampNTZType),
    *(t.DayTimeIntervalType, t.YearMonthIntervalType),
)
_WIDE = decimal.Context(prec=1000, rounding=decimal.ROUND_HALF_UP)


class _MisfitError(ValueError):
    """A value that does not fit its type."""


def _whole(node: Any, bits: int) -> int:
    if not isinstance(node, Number) or not node.is_whole:
        raise _MisfitError
    value = int(node)
    if not -(2**bits) <= value < 2**bits:
        raise _MisfitError
    return value


def _byte(node: Any) -> int:
    """Jackson takes the numbers up to 255 for bytes without a sign."""
    value = _whole(node, 8)
    if value < -128:
        raise _MisfitError
    return value - 256 if value > 127 else value


def _float(node: Any) -> float:
    if isinstance(node, Number):
        # A whole number is an integer first, which has no negative zero.
        return float(_WORDS.get(node, node)) + 0.0 if node.is_whole else float(_WORDS.get(node, node))
    if type(node) is str and node in _WORDS:
        return float(_WORDS[node])
    raise _MisfitError


def _single(node: Any) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(_float(node)))


def _boolean(node: Any) -> bool:
    if not isinstance(node, bool):
        raise _MisfitError
    return node


def _decimal(node: Any, precision: int, scale: int) -> decimal.Decimal:
    text = node.replace(",", "") if type(node) is str else node if isinstance(node, Number) else ""
    if _DECIMAL.fullmatch(text) is None:
        raise _MisfitError
    value = decimal.Decimal(text).quantize(decimal.Decimal(1).scaleb(-scale), context=_WIDE)
    if value and value.adjusted() + scale >= precision:
        raise _MisfitError
    return value


def _string(node: Any, shortest: bool) -> str:
    text = node if type(node) is str else written(node, shortest=shortest)
    return text.encode("utf-8", "replace").decode()


def _times(call: Call, kind: t.DataType) -> Reader:
    """Dates and timestamps are parsed as a cast does it, once per distinct text."""
    how = Conversion(call, t.StringType(), kind, TRY, call.option("timezone"))
    parser = text_to_date if isinstance(kind, t.DateType) else text_to_timestamp

    @functools.cache
    def parsed(text: str) -> int | None:
        vector, valid = unpack(parser(pa.array([text]), how))
        return int(vector[0]) if valid is None else None

    def read(node: Any) -> int:
        if isinstance(kind, t.TimestampType) and isinstance(node, Number):
            return _whole(node, 43) * 1_000_000
        if type(node) is not str or not node:
            raise _MisfitError
        value = parsed(node)
        if value is None and isinstance(kind, t.DateType) and re.fullmatch(r"\d{1,6}", node):
            return int(node)  # Old files hold days since 1970.
        if value is None:
            raise _MisfitError
        return value

    return read


def _reader(call: Call, kind: t.DataType) -> Reader:
    """The function that reads values of a type, NULL included. Raises :class:`_MisfitError`."""
    inner = _plain_reader(call, kind)
    return lambda node: None if node is None else inner(node)


def _plain_reader(call: Call, kind: t.DataType) -> Reader:
    shortest = bool(call.option("shortest"))
    if isinstance(kind, t.StringType):
        return lambda node: _string(node, shortest)
    if isinstance(kind, t.ByteType):
        return _byte
    if isinstance(kind, t.IntegralType):
        return lambda node: _whole(node, _RANGES[kind.typeName()])
    if isinstance(kind, t.DecimalType):
        return lambda node: _decimal(node, kind.precision, kind.scale)
    if isinstance(kind, (t.DateType, t.TimestampType)):
        return _times(call, kind)
    if isinstance(kind, t.ArrayType):
        return _array(_reader(call, kind.elementType))
    if isinstance(kind, t.MapType):
        return _map(_reader(call, kind.valueType))
    if isinstance(kind, t.StructType):
        return _struct({field.name: _reader(call, field.dataType) for field in kind.fields})
    return {"double": _float, "float": _single, "boolean": _boolean}[kind.typeName()]


def _array(element: Reader) -> Reader:
    def read(node: Any) -> list[Any]:
        if not isinstance(node, list) or isinstance(node, Object):
            raise _MisfitError
        return [element(item) for item in node]

    return read


def _map(value: Reader) -> Reader:
    def read(node: Any) -> list[tuple[str, Any]]:
        if not isinstance(node, Object):
            raise _MisfitError
        return [(_string(key, False), value(item)) for key, item in node]

    return read


def _struct(fields: Mapping[str, Reader]) -> Reader:
    def read(node: Any) -> dict[str, Any]:
        if not isinstance(node, Object):
            raise _MisfitError
        result: dict[str, Any] = dict.fromkeys(fields)
        for key, item in node:
            if key in fields:
                try:
                    result[key] = fields[key](item)
                except _MisfitError:
                    result[key] = None
        return result

    return read


def _type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if options["options"] not in ("Map()", None):
        raise UnsupportedQuery("from_json with options", reason="they are not implemented")
    kind = options["schema"]
    assert isinstance(kind, t.DataType)
    _check(kind)
    return kind


def _check(kind: t.DataType) -> None:
    if isinstance(kind, t.ArrayType):
        _check(kind.elementType)
    elif isinstance(kind, t.MapType):
        _check(kind.valueType)
    elif isinstance(kind, t.StructType):
        for field in kind.fields:
            _check(field.dataType)
            if field.name == "_corrupt_record":
                raise UnsupportedQuery("from_json with a column for corrupt records")
    elif isinstance(kind, _UNREAD):
        raise UnsupportedQuery(
            f"from_json of {kind.simpleString()}", advice="Read it as a string and convert that"
        )


@function(
    "JsonToStructs", result=_type, options=("schema", "options"), zoned=True, nullable=True, printed=True
)
def from_json(call: Call, args: list[Value], length: int) -> Value:
    """A blank text is NULL."""
    kind = call.data_type
    read = _reader(call, kind)
    nothing = dict.fromkeys(kind.fieldNames()) if isinstance(kind, t.StructType) else None
    objects = isinstance(kind, t.ArrayType) and isinstance(kind.elementType, t.StructType)

    def one(text: str) -> Any:
        if not text.strip(" \t\n\r"):
            return None
        try:
            tree = parse(text, strict=True, words=True)
            value = read([tree] if objects and isinstance(tree, Object) else tree)
        except ValueError:
            return nothing
        return nothing if value is None else value

    return map_distinct(one, args[:1], length, to_arrow(kind))
