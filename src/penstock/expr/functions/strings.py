"""Strings: case, length, cutting, joining, padding and replacing.

Lengths and positions count characters (code points), as in Spark. Case follows the full Unicode mapping
(``ß`` becomes ``SS``): columns that are plain ASCII take Arrow's fast path, other rows are mapped once
per distinct value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.array_changes import concatenate_arrays
from penstock.expr.functions.lists import Lists, relist
from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always, same_as_first, widest_nullability
from penstock.expr.functions.text_search import is_ascii
from penstock.expr.functions.text_slices import Characters
from penstock.expr.functions.vectors import as_array, build, constant, is_scalar, map_distinct, unpack
from penstock.expr.nodes import Call, Expr

__all__ = ["title_case"]

_STRING = always(t.StringType())
_INTEGER = always(t.IntegerType())
_FOREVER = 2**31 - 1


def _mapped(value: pa.Array, fast: Callable[..., pa.Array], slow: Callable[[str], str]) -> pa.Array:
    result = fast(value)
    if is_ascii(value):
        return result
    ascii_only = pc.string_is_ascii(value).fill_null(True)
    rest = ~np.asarray(ascii_only.to_numpy(zero_copy_only=False))
    if not rest.any():
        return result
    chosen = pa.array(rest)
    mapped = map_distinct(slow, [value.filter(chosen)], int(rest.sum()), pa.string())
    return pc.replace_with_mask(result, chosen, mapped)


@function("Upper", "Lower", result=same_as_first)
def change_case(call: Call, args: list[Value], length: int) -> Value:
    value = as_array(args[0], length)
    if call.function == "Upper":
        return _mapped(value, pc.ascii_upper, str.upper)
    return _mapped(value, pc.ascii_lower, str.lower)


def title_case(text: str) -> str:
    """The first letter of each word in title case, the rest in lower case; blanks separate words."""
    return " ".join(map(_title_word, text.split(" ")))


def _title_word(word: str) -> str:
    # The rest is cut from the lower case of the whole word, for a sigma at its end depends on what is before.
    return word[:1].title() + word.lower()[len(word[:1].lower()) :]


@function("InitCap", result=same_as_first)
def initial_capitals(call: Call, args: list[Value], length: int) -> Value:
    return map_distinct(title_case, args, length, pa.string())


@function("Length", result=_INTEGER)
def character_length(call: Call, args: list[Value], length: int) -> Value:
    binary = pa.types.is_binary(args[0].type)
    return (pc.binary_length if binary else pc.utf8_length)(args[0])


@function("OctetLength", "BitLength", result=_INTEGER)
def byte_length(call: Call, args: list[Value], length: int) -> Value:
    octets = pc.binary_length(args[0])
    return octets if call.function == "OctetLength" else pc.multiply(octets, pa.scalar(8, pa.int32()))


@function("Substring", result=same_as_first)
def substring(call: Call, args: list[Value], length: int) -> Value:
    """Positions count from 1, 0 means 1, negative ones count from the end and may lie before the start."""
    text = as_array(args[0], length)
    if is_scalar(args[1]) and is_scalar(args[2]) and pa.types.is_string(text.type):
        return _constant_substring(text, constant(args[1]), constant(args[2]))
    (position, valid_position), (count, valid_count) = unpack(args[1]), unpack(args[2])
    characters = Characters.of(text)
    position, count = position.astype(np.int64), count.astype(np.int64)
    start = np.where(position > 0, position - 1, np.where(position < 0, characters.counts + position, 0))
    # A negative start eats into the count before it is moved to the front.
    stop = np.minimum(start + count, _FOREVER)
    result = characters.slice(start, np.maximum(stop, np.minimum(start, stop)))
    for valid in (valid_position, valid_count):
        if valid is not None:
            result = pc.if_else(pa.array(valid), result, pa.scalar(None, result.type))
    return result


def _constant_substring(text: pa.Array, position: int, count: int) -> pa.Array:
    if count <= 0:
        return pc.utf8_slice_codeunits(text, 0, 0)
    if position >= 0:
        start = max(position - 1, 0)
        return pc.utf8_slice_codeunits(text, start, min(start + count, _FOREVER))
    stop = position + count
    return pc.utf8_slice_codeunits(text, position, stop if stop < 0 else None)


def _concat_type(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    if not args:
        return t.StringType()
    result = args[0].data_type
    for arg in args[1:]:
        result = widest_nullability(result, arg.data_type)
    return result


@function("Concat", result=_concat_type)
def concatenate(call: Call, args: list[Value], length: int) -> Value:
    if not args:
        return pa.scalar("")
    if pa.types.is_list(args[0].type):
        return concatenate_arrays(call, args, length)
    empty = pa.scalar("" if pa.types.is_string(args[0].type) else b"", args[0].type)
    return pc.binary_join_element_wise(*args, empty)


@function("ConcatWs", result=_STRING, strict=False)
def concatenate_with(call: Call, args: list[Value], length: int) -> Value:
    """NULL only where the separator is; other NULLs, also inside of arrays, are left out."""
    separator, *parts = args
    if is_scalar(separator) and not separator.is_valid:
        return pa.scalar(None, pa.string())
    texts = [_joined(part, separator, length) if pa.types.is_list(part.type) else part for part in parts]
    # Every text takes a separator before it; the first one is cut off at the end.
    pieces = [pc.binary_join_element_wise(separator, as_array(text, length), "") for text in texts]
    filled = [
        pc.if_else(pc.is_valid(as_array(text, length)), piece, "")
        for text, piece in zip(texts, pieces, strict=True)
    ]
    joined = pc.binary_join_element_wise(*filled, pa.repeat("", length), "")
    if is_scalar(separator):
        return pc.utf8_slice_codeunits(joined, len(constant(separator)))
    start = np.asarray(pc.utf8_length(separator).fill_null(0), np.int64)
    result = Characters.of(joined).slice(start, np.full(length, _FOREVER, np.int64))
    return pc.if_else(pc.is_valid(separator), result, pa.scalar(None, pa.string()))


def _joined(part: Value, separator: Value, length: int, substitute: Value | None = None) -> pa.Array:
    """The strings of each array as one; NULL where there are none, so that it is left out."""
    lists = as_array(part, length)
    kept = pc.list_flatten(lists)
    parents = np.asarray(pc.list_parent_indices(lists))
    if substitute is not None:
        kept = pc.coalesce(kept, as_array(substitute, length).take(pa.array(parents)))
    present = np.asarray(pc.is_valid(kept).to_numpy(zero_copy_only=False), np.bool_)
    counts = np.bincount(parents[present], minlength=length)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    cleaned = pa.ListArray.from_arrays(pa.array(offsets), kept.filter(pa.array(present)))
    joined = pc.binary_join(cleaned, as_array(separator, length))
    return pc.if_else(pa.array(counts > 0), joined, pa.scalar(None, pa.string()))


@function("ArrayJoin", result=_STRING)
def array_join(call: Call, args: list[Value], length: int) -> Value:
    """The strings of an array with a separator between them; NULLs are left out or replaced."""
    joined = _joined(args[0], args[1], length, *args[2:])
    missing = [pc.is_null(as_array(arg, length)) for arg in args]
    result = joined.fill_null("")
    for rows in missing:
        result = pc.if_else(rows, pa.scalar(None, pa.string()), result)
    return result


_TRIMS = {"StringTrim": pc.utf8_trim, "StringTrimLeft": pc.utf8_ltrim, "StringTrimRight": pc.utf8_rtrim}


@function(*_TRIMS, result=_STRING)
def trim(call: Call, args: list[Value], length: int) -> Value:
    """Takes blanks off, or whichever of the given characters stand at the ends."""
    cut = _TRIMS[call.function]
    if len(args) == 1:
        return cut(args[0], " ")
    text = as_array(args[0], length)
    if is_scalar(args[1]):
        letters = constant(args[1])
        return cut(text, letters) if letters else text
    strip = {"StringTrim": str.strip, "StringTrimLeft": str.lstrip, "StringTrimRight": str.rstrip}
    one = strip[call.function]
    return map_distinct(lambda a, letters: one(a, letters) if letters else a, args, length, pa.string())


@function("StringLPad", "StringRPad", "ByteArray.lpad", "ByteArray.rpad", result=same_as_first)
def pad(call: Call, args: list[Value], length: int) -> Value:
    """Brings every string to the same number of characters, by repeating the pad or by cutting."""
    left = call.function.lower().endswith("lpad")
    binary = pa.types.is_binary(args[0].type)
    if binary or not (is_scalar(args[1]) and is_scalar(args[2])):
        return map_distinct(lambda s, n, p: _pad_one(s, n, p, left), args, length, args[0].type)
    text, width, filler = as_array(args[0], length), constant(args[1]), constant(args[2])
    cut = pc.utf8_slice_codeunits(text, 0, max(width, 0))
    if not filler or width <= 0:
        return cut
    missing = width - np.asarray(pc.utf8_length(cut).fill_null(width))
    # One string of padding for every length that is missing somewhere: at most as many as characters.
    needed, codes = np.unique(missing, return_inverse=True)
    distinct = [(filler * (n // len(filler) + 1))[:n] for n in needed.tolist()]
    paddings = pa.array(distinct, pa.string()).take(pa.array(codes))
    first, second = (paddings, cut) if left else (cut, paddings)
    return pc.binary_join_element_wise(first, second, "")


def _pad_one(text: Any, width: int, filler: Any, left: bool) -> Any:
    if len(text) >= width or not filler:
        return text[: max(width, 0)]
    padding = (filler * (width // len(filler) + 1))[: width - len(text)]
    return padding + text if left else text + padding


@function("StringReplace", result=_STRING)
def replace(call: Call, args: list[Value], length: int) -> Value:
    if is_scalar(args[1]) and is_scalar(args[2]):
        if not constant(args[1]):
            return args[0]
        return pc.replace_substring(args[0], pattern=constant(args[1]), replacement=constant(args[2]))
    return map_distinct(lambda s, a, b: s.replace(a, b) if a else s, args, length, pa.string())


@function("StringTranslate", result=_STRING)
def translate(call: Call, args: list[Value], length: int) -> Value:
    def one(text: str, old: str, new: str) -> str:
        table: dict[int, str | None] = {}
        for position, letter in enumerate(old):
            table.setdefault(ord(letter), new[position] if position < len(new) else None)
        return text.translate(table)

    return map_distinct(one, args, length, pa.string())


@function("StringRepeat", result=_STRING)
def repeat(call: Call, args: list[Value], length: int) -> Value:
    times, valid = unpack(args[1])
    counts = build(np.broadcast_to(np.maximum(times, 0), (length,)), valid, pa.int32())
    return pc.binary_repeat(as_array(args[0], length), counts)


@function("StringSpace", result=_STRING)
def spaces(call: Call, args: list[Value], length: int) -> Value:
    times, valid = unpack(args[0])
    return pc.binary_repeat(pa.scalar(" "), build(np.maximum(times, 0), valid, pa.int32()))


@function("Reverse", result=same_as_first)
def reverse(call: Call, args: list[Value], length: int) -> Value:
    value = as_array(args[0], length)
    if pa.types.is_string(value.type):
        return pc.utf8_reverse(value)
    if pa.types.is_binary(value.type):
        return map_distinct(lambda data: data[::-1], [value], length, pa.binary())
    lists = Lists(value)
    ends = np.cumsum(lists.lengths)
    index = np.repeat(ends + ends - lists.lengths - 1, lists.lengths) - np.arange(int(lists.lengths.sum()))
    return relist(lists.elements().take(pa.array(index)), lists.lengths, lists.valid, call.data_type)


@function("Ascii", result=_INTEGER)
def first_code(call: Call, args: list[Value], length: int) -> Value:
    """The code point of the first character, 0 for the empty string."""
    first = pc.utf8_slice_codeunits(as_array(args[0], length), 0, 1)
    return map_distinct(lambda letter: ord(letter) if letter else 0, [first], length, pa.int32())


@function("Chr", result=_STRING)
def character(call: Call, args: list[Value], length: int) -> Value:
    """The character of the low byte of the code; nothing for a negative code."""
    codes, valid = unpack(args[0])
    letters = pa.array([chr(code) for code in range(256)] + [""])
    index = np.where(codes < 0, 256, codes & 0xFF)
    result = letters.take(pa.array(index))
    return result if valid is None else pc.if_else(pa.array(valid), result, pa.scalar(None, pa.string()))


@function("Overlay", result=same_as_first)
def overlay(call: Call, args: list[Value], length: int) -> Value:
    """Replaces some characters from a position on; a negative count means the length of the replacement."""

    def one(text: Any, new: Any, position: int, count: int) -> Any:
        taken = len(new) if count < 0 else count
        head, rest = _sub(text, 1, position - 1), _sub(text, position + taken, _FOREVER)
        return head + new + rest

    return map_distinct(one, args, length, args[0].type)


def _sub(text: Any, position: int, count: int) -> Any:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    stop = start + count
    return text[max(start, 0) : max(stop, 0)] if stop > start else text[:0]
