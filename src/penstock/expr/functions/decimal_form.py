"""The unscaled integers of decimals, and the check that Catalyst inserts after some operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions import decimals
from penstock.expr.functions.arithmetic import checked_decimal
from penstock.expr.functions.registry import Value, function, when_ansi
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import as_array, build, valid_mask
from penstock.expr.nodes import Call, Expr
from penstock.expr.types import to_arrow

__all__: list[str] = []


def _given_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    target = options["dataType"]
    assert isinstance(target, t.DecimalType)
    return target


@function(
    "CheckOverflow", result=_given_type, options=("dataType",), moded=True, raises=when_ansi, nullable=True
)
def check_overflow(call: Call, args: list[Value], length: int) -> Value:
    target = to_arrow(call.data_type)
    return checked_decimal(
        call, args, decimals.fit(as_array(args[0], length), target.precision, target.scale)
    )


@function("UnscaledValue", result=always(t.LongType()))
def unscaled_value(call: Call, args: list[Value], length: int) -> Value:
    value = as_array(args[0], length)
    return build(decimals.low_words(value), valid_mask(value), pa.int64())


def _made_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.DecimalType(int(options["precision"]), int(options["scale"]))


@function(
    "MakeDecimal",
    result=_made_type,
    options=("precision", "scale"),
    moded=True,
    raises=when_ansi,
    nullable=True,
)
def make_decimal(call: Call, args: list[Value], length: int) -> Value:
    """The 64-bit integers as unscaled ones."""
    target = to_arrow(call.data_type)
    whole = as_array(args[0], length).cast(pa.decimal128(19, 0))
    unscaled = decimals.relabel(whole, pa.decimal128(19, target.scale))
    return checked_decimal(call, args, decimals.fit(unscaled, target.precision, target.scale))
