"""Between timestamps and numbers of seconds, milliseconds and microseconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import both, build, fail_where, unpack, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []

_READING = {"UnixSeconds": 1_000_000, "UnixMillis": 1_000, "UnixMicros": 1}


@function(*_READING, result=always(t.LongType()))
def read(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return build(vector // _READING[call.function], valid, pa.int64())


_MAKING = {"SecondsToTimestamp": 1_000_000, "MillisToTimestamp": 1_000, "MicrosToTimestamp": 1}


@function(*_MAKING, result=always(t.TimestampType()), raises=True, nullable=True)
def make(call: Call, args: list[Value], length: int) -> Value:
    if pa.types.is_decimal(args[0].type):
        return _from_decimals(call, args[0])
    vector, valid = unpack(args[0])
    unit = _MAKING[call.function]
    if vector.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            micros = _truncated(vector * np.float64(unit))
        return build(micros, both(valid, np.isfinite(vector)), pa.timestamp("us", "UTC"))
    numbers = vector.astype(np.int64)
    limit = (2**63 - 1) // unit
    bad = (numbers > limit) | (numbers < -limit - (1 if unit == 1 else 0))
    fail_where(bad, valid, call, args, "DATETIME_OVERFLOW", "the timestamp is out of range")
    return build(np.where(bad, 0, numbers) * unit, valid, pa.timestamp("us", "UTC"))


def _truncated(micros: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Doubles without their fraction, at the ends of the range where they are beyond it."""
    inside = np.abs(micros) < 2.0**63
    ends = np.where(micros > 0, 2**63 - 1, -(2**63))
    return np.where(inside, np.where(inside, micros, 0).astype(np.int64), ends)


def _from_decimals(call: Call, seconds: pa.Array) -> pa.Array:
    """Exactly: more than six digits behind the point are an error."""
    valid = valid_mask(seconds)
    wide = decimals.wide(seconds, max(6, seconds.type.scale))
    micros = decimals.relabel(wide, pa.decimal256(76, wide.type.scale - 6))
    whole = decimals.lowered(micros, 0)
    cut = np.asarray(pc.not_equal(decimals.wide(whole, micros.type.scale), micros).fill_null(False), np.bool_)
    fail_where(cut, valid, call, [seconds], "ROUNDING_NECESSARY", "there is more than microseconds")
    limit = pa.scalar(2**63 - 1, whole.type)
    large = np.asarray(pc.greater(pc.abs(whole), limit).fill_null(False), np.bool_)
    fail_where(large, valid, call, [seconds], "DATETIME_OVERFLOW", "the timestamp is out of range")
    return build(decimals.low_words(whole), valid, pa.timestamp("us", "UTC"))


def _converted(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    target = options["toType"]
    assert isinstance(target, t.DataType)
    return target


@function("PreciseTimestampConversion", result=_converted, options=("fromType", "toType"))
def reinterpret(call: Call, args: list[Value], length: int) -> Value:
    vector, valid = unpack(args[0])
    return build(vector, valid, to_arrow(call.data_type))
