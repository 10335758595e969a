"""Between timestamps and numbers of seconds, milliseconds and microseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import build, fail_where, unpack
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []

_READING = {"UnixSeconds": 1_000_000, "UnixMillis": 1_000, "UnixMicros": 1}


@function(*_READING, result=always(t.LongType()))
def read(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return build(vector // _READING[call.function], valid, pa.int64())


_MAKING = {"SecondsToTimestamp": 1_000_000, "MillisToTimestamp": 1_000, "MicrosToTimestamp": 1}


def _from_integers(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not isinstance(args[0].data_type, t.IntegralType):
        kind = args[0].data_type.simpleString()
        raise UnsupportedQuery(f"a timestamp from seconds of type {kind}", advice="Cast them to a timestamp")
    return t.TimestampType()


@function(*_MAKING, result=_from_integers, raises=True)
def make(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    unit = _MAKING[call.function]
    numbers = vector.astype(np.int64)
    limit = (2**63 - 1) // unit
    bad = (numbers > limit) | (numbers < -limit - (1 if unit == 1 else 0))
    fail_where(bad, valid, call, args, "ARITHMETIC_OVERFLOW", "the timestamp is out of range")
    return build(np.where(bad, 0, numbers) * unit, valid, pa.timestamp("us", "UTC"))


def _converted(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    target = options["toType"]
    assert isinstance(target, t.DataType)
    return target


@function("PreciseTimestampConversion", result=_converted, options=("fromType", "toType"))
def reinterpret(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return build(vector, valid, to_arrow(call.data_type))
