"""``hash`` and ``xxhash64`` of any values, the same numbers as Spark's.

The hash of one argument is the seed of the next; NULL leaves it as it is. Structs are hashed field by field,
arrays element by element: the first elements of all rows, then the second ones, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.errors import UnsupportedQuery
from penstock.expr.functions import decimals
from penstock.expr.functions.hash_rounds import Hashes, Integers, Murmur3, Rounds, XxHash
from penstock.expr.functions.lists import Lists
from penstock.expr.functions.registry import TypeRule, Value, function
from penstock.expr.functions.text_slices import Characters
from penstock.expr.functions.vectors import as_array, build, unpack, valid_mask
from penstock.expr.nodes import Call, Expr

__all__: list[str] = []

_LONG_DIGITS = 18
"""Decimals of more digits are hashed by their bytes."""


def _hashed(rounds: Rounds, values: pa.Array, seeds: Hashes) -> Hashes:
    """The hashes of values with a seed each."""
    kind = values.type
    if pa.types.is_null(kind):
        return seeds
    if pa.types.is_struct(kind):
        result = seeds
        for field in values.flatten():
            result = _hashed(rounds, field, result)
    elif pa.types.is_list(kind):
        return _lists(rounds, Lists(values), seeds)
    else:
        result = _kernel(kind)(rounds, values, seeds)
    valid = valid_mask(values)
    return result if valid is None else np.where(valid, result, seeds)


def _lists(rounds: Rounds, lists: Lists, seeds: Hashes) -> Hashes:
    result = seeds.copy()
    rows, place = np.flatnonzero(lists.lengths > 0), 0
    while len(rows):
        elements = lists.values.take(pa.array(lists.starts[rows] + place))
        result[rows] = _hashed(rounds, elements, result[rows])
        place += 1
        rows = rows[lists.lengths[rows] > place]
    return result


def _kernel(kind: pa.DataType) -> Callable[[Rounds, pa.Array, Hashes], Hashes]:
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts
    if pa.types.is_decimal(kind):
        return _short_decimals if kind.precision <= _LONG_DIGITS else _long_decimals
    return _floats if pa.types.is_floating(kind) else _numbers


def _numbers(rounds: Rounds, values: pa.Array, seeds: Hashes) -> Hashes:
    vector, _ = unpack(values)
    if vector.dtype == np.int64:
        return rounds.longs(vector, seeds)
    return rounds.ints(vector.astype(np.int32), seeds)


def _floats(rounds: Rounds, values: pa.Array, seeds: Hashes) -> Hashes:
    """By their bits, of which zero and NaN have only one form."""
    vector, _ = unpack(values)
    zero = vector.dtype.type(0)
    one_form = np.where(np.isnan(vector), vector.dtype.type(np.nan), vector + zero)
    if vector.dtype == np.float64:
        return rounds.longs(one_form.view(np.int64), seeds)
    return rounds.ints(one_form.view(np.int32), seeds)


def _texts(rounds: Rounds, values: pa.Array, seeds: Hashes) -> Hashes:
    characters = Characters.of(values.cast(pa.binary()))
    starts = characters.starts[characters.first[:-1]]
    return rounds.bytes(characters.data, starts, characters.counts, seeds)


def _short_decimals(rounds: Rounds, values: pa.Array, seeds: Hashes) -> Hashes:
    return rounds.longs(decimals.low_words(values), seeds)


def _long_decimals(rounds: Rounds, values: pa.Array, seeds: Hashes) -> Hashes:
    """By the bytes that Java needs for the number: as few as hold it with its sign."""
    raw = np.frombuffer(values.buffers()[1], np.uint8, 16 * len(values), 16 * values.offset)
    largest_first = np.ascontiguousarray(raw.reshape(-1, 16)[:, ::-1])
    sign = np.where(largest_first[:, :1] & 0x80, 0xFF, 0).astype(np.uint8)
    needed = np.concatenate([largest_first != sign, np.ones((len(values), 1), np.bool_)], axis=1)
    first = np.minimum(np.argmax(needed, axis=1), 15)
    top = largest_first[np.arange(len(values)), first]
    first = first - ((first > 0) & ((top & 0x80) != (sign[:, 0] & 0x80)))
    starts: Integers = np.arange(len(values)) * 16 + first
    return rounds.bytes(largest_first.ravel(), starts, 16 - first, seeds)


def _hashable(data_type: t.DataType) -> TypeRule:
    def rule(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
        for arg in args:
            _check(arg.data_type)
        return data_type

    return rule


def _check(data_type: t.DataType) -> None:
    if isinstance(data_type, t.MapType):
        raise UnsupportedQuery("the hash of a map", advice="Hash its map_entries in the order of sort_array")
    if isinstance(data_type, t.ArrayType):
        _check(data_type.elementType)
    if isinstance(data_type, t.StructType):
        for field in data_type.fields:
            _check(field.dataType)


def _combined(rounds: Rounds, call: Call, args: list[Value], length: int) -> Hashes:
    seed = int(call.option("seed")) % 2 ** (np.dtype(rounds.dtype).itemsize * 8)
    hashes: Hashes = np.full(length, seed, rounds.dtype)
    with np.errstate(over="ignore"):
        for arg in args:
            hashes = _hashed(rounds, as_array(arg, length), hashes)
    return hashes


@function("Murmur3Hash", result=_hashable(t.IntegerType()), strict=False, nullable=False, options=("seed",))
def murmur3(call: Call, args: list[Value], length: int) -> Value:
    return build(_combined(Murmur3(), call, args, length).view(np.int32), None, pa.int32())


@function("XxHash64", result=_hashable(t.LongType()), strict=False, nullable=False, options=("seed",))
def xxhash64(call: Call, args: list[Value], length: int) -> Value:
    return build(_combined(XxHash(), call, args, length).view(np.int64), None, pa.int64())
