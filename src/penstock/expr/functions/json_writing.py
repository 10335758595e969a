"""``to_json``: structs, arrays and maps as texts, written column by column.

The text of a struct is its fields' texts put together, that of an array its elements'. Only strings that need
escapes are looked at one by one, each distinct one once. Fields that are NULL are left out, as in Spark,
unless the option ``ignoreNullFields`` says otherwise; other options are refused.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.cast_text import to_text
from penstock.expr.functions.conversion import Conversion
from penstock.expr.functions.date_format import format_moments
from penstock.expr.functions.json_text import quoted
from penstock.expr.functions.lists import Lists, element_of, relist
from penstock.expr.functions.registry import LEGACY, Value, function
from penstock.expr.functions.vectors import as_array, build, map_distinct, unpack
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_OPTIONS = re.compile(r"StructsToJsonEvaluator\(Map\((?:ignoreNullFields -> (true|false))?\),", re.IGNORECASE)
_NUMBERED = (
    *(t.DateType, t.TimeType, t.TimestampType, t.TimestampNTZType),
    *(t.DayTimeIntervalType, t.YearMonthIntervalType),
)
_NO_TEXT = pa.scalar(None, pa.string())


class _Writer:
    """Writes columns; ``sparse`` leaves NULL fields of structs out."""

    def __init__(self, call: Call, sparse: bool) -> None:
        self._call, self._sparse = call, sparse
        self._zone = call.option("timezone")

    def text(self, values: pa.Array, kind: t.DataType) -> pa.Array:
        """The values as JSON, NULL where they are."""
        if isinstance(kind, t.StructType):
            return self._struct(values, kind)
        if isinstance(kind, (t.ArrayType, t.MapType)):
            return self._list(values, kind)
        if isinstance(kind, t.StringType):
            return _quoted(values)
        if isinstance(kind, t.BinaryType):
            return _around(_mapped(values), '"')
        if isinstance(kind, (t.TimestampType, t.TimestampNTZType)):
            return self._timestamp(values, kind)
        plain = to_text(values, Conversion(self._call, kind, t.StringType(), LEGACY, self._zone))
        if isinstance(kind, (t.DoubleType, t.FloatType)):
            word = pc.match_substring_regex(plain, "[yN]$")
            return pc.if_else(word, _around(plain, '"'), plain)
        if isinstance(kind, _NUMBERED):
            return _around(plain, '"')
        return plain

    def _timestamp(self, values: pa.Array, kind: t.DataType) -> pa.Array:
        moments, valid = unpack(values)
        if isinstance(kind, t.TimestampType):
            text = format_moments(moments, "yyyy-MM-dd'T'HH:mm:ss.SSSXXXXX", self._zone)
        else:
            text = format_moments(moments, "yyyy-MM-dd'T'HH:mm:ss.SSS", "UTC")
        text = _around(text, '"')
        return text if valid is None else pc.if_else(pa.array(valid), text, _NO_TEXT)

    def _struct(self, values: pa.Array, kind: t.StructType) -> pa.Array:
        pieces = []
        for part, field in zip(values.flatten(), kind.fields, strict=True):
            text = self.text(part, field.dataType)
            if not self._sparse:
                text = text.fill_null("null")
            named = pc.binary_join_element_wise(f",{quoted(field.name)}:", text, "")
            pieces.append(named.fill_null(""))
        joined = pc.binary_join_element_wise(*pieces, pa.repeat("", len(values)), "")
        text = pc.binary_join_element_wise("{", pc.utf8_slice_codeunits(joined, 1), "}", "")
        return pc.if_else(pc.is_valid(values), text, _NO_TEXT)

    def _list(self, values: pa.Array, kind: t.ArrayType | t.MapType) -> pa.Array:
        lists = Lists(values)
        if isinstance(kind, t.MapType):
            keys = _quoted(self._key(lists.key_elements(), kind.keyType))
            items = self.text(lists.elements(), kind.valueType).fill_null("null")
            texts, brackets = pc.binary_join_element_wise(keys, items, ":"), "{}"
        else:
            texts, brackets = self.text(lists.elements(), element_of(kind)).fill_null("null"), "[]"
        rows = relist(texts, lists.lengths, lists.valid, t.ArrayType(t.StringType()))
        return pc.binary_join_element_wise(brackets[0], pc.binary_join(rows, ","), brackets[1], "")

    def _key(self, keys: pa.Array, kind: t.DataType) -> pa.Array:
        """Keys print as the values inside: a date as days since 1970."""
        if isinstance(kind, t.StringType):
            return keys
        if isinstance(kind, _NUMBERED):
            vector, valid = unpack(keys)
            return build(vector.astype(np.int64), valid, pa.int64()).cast(pa.string())
        return to_text(keys, Conversion(self._call, kind, t.StringType(), LEGACY, self._zone))


def _around(texts: pa.Array, mark: str) -> pa.Array:
    return pc.binary_join_element_wise(mark, texts, mark, "")


def _mapped(values: pa.Array) -> pa.Array:
    return map_distinct(lambda data: base64.b64encode(data).decode(), [values], len(values), pa.string())


def _quoted(values: pa.Array) -> pa.Array:
    plain = _around(values, '"')
    special = pc.match_substring_regex(values, r'["\\\x00-\x1f]').fill_null(False)
    rows = np.asarray(special.to_numpy(zero_copy_only=False), np.bool_)
    if not rows.any():
        return plain
    chosen = [values.filter(special)]
    return pc.replace_with_mask(plain, special, map_distinct(quoted, chosen, int(rows.sum()), pa.string()))


def _type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if _OPTIONS.match(str(options["target"])) is None:
        raise UnsupportedQuery("to_json with options", reason="they are not implemented")
    _check(args[0].data_type)
    return t.StringType()


def _check(kind: t.DataType) -> None:
    if isinstance(kind, t.MapType):
        if isinstance(kind.keyType, (t.StructType, t.ArrayType, t.MapType, t.BinaryType)):
            raise UnsupportedQuery(f"to_json of a map with keys of type {kind.keyType.simpleString()}")
        _check(kind.valueType)
    elif isinstance(kind, t.ArrayType):
        _check(kind.elementType)
    elif isinstance(kind, t.StructType):
        for field in kind.fields:
            _check(field.dataType)


@function("StructsToJsonEvaluator.evaluate", result=_type, options=("target",), zoned=True, printed=True)
def to_json(call: Call, args: list[Value], length: int) -> Value:
    found = _OPTIONS.match(str(call.option("target")))
    sparse = found is None or (found[1] or "true").lower() == "true"
    return _Writer(call, sparse).text(as_array(args[0], length), call.args[0].data_type)
