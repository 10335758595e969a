"""A value of any Arrow type as one word per lane: the first half of hashing, before positions are mixed in.

Equal words must mean "equal under Spark's grouping": integers of any width, booleans, dates, timestamps and
durations are their 64-bit value; a float is the bits of its double with one zero and one NaN; a decimal is
its unscaled value, and one that needs more than 64 bits folds the upper half in with a keyed mix, so small
decimals of any precision agree. Strings see :mod:`.hash_strings`. A list is ``length * key`` plus the mixed
words of its items by index, a struct the sum over its fields, a map the list of its (key, value) entries in
stored order; a dictionary-encoded array has the words of what it decodes to.
NULL is a flag beside the word here; where the word is added to a hash, the lane's secret NULL word is used
instead, so NULL, a list holding NULL and a struct of NULLs all differ.

Cost: fixed-width types of 8 bytes are views of the Arrow buffer; the others make one or two columns of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numba import types
from numpy.typing import NDArray

from penstock.zset.hash_mix import LaneKeys, UInt64s, mix, scramble
from penstock.zset.hash_strings import string_words
from penstock.zset.kernel import BOOLS, NEW_WORDS, WORDS, inlined, kernel

__all__ = ["Words", "add_mixed", "words_of"]

_Lanes = tuple[LaneKeys, LaneKeys]
_Int64s = NDArray[np.int64]
_BYTE_TYPES = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
_NAN_BITS = np.uint64(0x7FF8000000000000)
_DECIMAL = np.dtype([("low", "<u8"), ("high", "<u8")])
_SIGN_SHIFT = np.int64(63)
_NO_NULLS = np.zeros(0, np.bool_)
_WHOLE_NUMBERS = {
    kind.id: np.dtype(f"<{'u' if pa.types.is_unsigned_integer(kind) else 'i'}{kind.bit_width // 8}")
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("us"), pa.duration("us")),
    )
}


@dataclass(frozen=True)
class Words:
    """One word per row and lane (often the same array twice) and which rows are NULL (None: none is)."""

    hi: UInt64s
    lo: UInt64s
    nulls: NDArray[np.bool_] | None


def words_of(array: pa.Array, lanes: _Lanes) -> Words:
    """The words of every row of ``array``; words of NULL rows are arbitrary."""
    kind, arrow = array.type, pa.types
    nulls = None if array.null_count == 0 else _nulls(array)
    plain = _WHOLE_NUMBERS.get(kind.id)
    if plain is not None:
        words = _values(array, plain).astype(np.int64, copy=False).view(np.uint64)
        return Words(words, words, nulls)
    if arrow.is_null(kind):
        zeros = np.zeros(len(array), np.uint64)
        return Words(zeros, zeros, nulls)
    if arrow.is_dictionary(kind):
        return _dictionary_words(array, lanes)
    if kind in _BYTE_TYPES:
        return Words(*string_words(array, lanes), nulls)
    if arrow.is_decimal128(kind):
        return Words(*_decimal_words(array, lanes), nulls)
    if arrow.is_struct(kind):
        fields = [array.field(i) for i in range(kind.num_fields)]
        return Words(*_sum_fields(fields, len(array), lanes), nulls)
    if arrow.is_list(kind) or arrow.is_large_list(kind) or arrow.is_map(kind):
        return Words(*_list_words(array, lanes), nulls)
    words = _fixed_width_words(array)
    return Words(words, words, nulls)


def add_mixed(
    totals: tuple[UInt64s, UInt64s], words: Words, lanes: _Lanes, keys: tuple[UInt64s, UInt64s]
) -> None:
    """Add ``mix(word ^ key)`` of every row to ``totals``; a lane has one position key, or one per row."""
    nulls = _NO_NULLS if words.nulls is None else words.nulls
    hi = _aligned(words.hi)
    lo = hi if words.lo is words.hi else _aligned(words.lo)
    _add(hi, lo, nulls, *keys, lanes[0].mixing, lanes[1].mixing, *totals)


@inlined
def _add_lane(
    words: UInt64s, nulls: NDArray[np.bool_], keys: UInt64s, mixing: UInt64s, totals: UInt64s
) -> None:
    first, second, null = mixing[0], mixing[1], mixing[2]
    by_row = len(keys) > 1
    key = keys[0] if len(keys) else np.uint64(0)
    for i in range(len(words)):
        if by_row:
            key = keys[i]
        word = null if len(nulls) and nulls[i] else words[i]
        totals[i] += scramble(word ^ key, first, second)


@kernel(types.void(WORDS, WORDS, BOOLS, WORDS, WORDS, WORDS, WORDS, NEW_WORDS, NEW_WORDS))
def _add(
    hi: UInt64s,
    lo: UInt64s,
    nulls: NDArray[np.bool_],
    hi_places: UInt64s,
    lo_places: UInt64s,
    hi_mixing: UInt64s,
    lo_mixing: UInt64s,
    hi_totals: UInt64s,
    lo_totals: UInt64s,
) -> None:
    _add_lane(hi, nulls, hi_places, hi_mixing, hi_totals)
    _add_lane(lo, nulls, lo_places, lo_mixing, lo_totals)


def _aligned(words: UInt64s) -> UInt64s:
    """Memory from elsewhere need not start at a multiple of eight."""
    return words if words.flags.aligned else words.copy()


def _nulls(array: pa.Array) -> NDArray[np.bool_]:
    nulls: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _fixed_width_words(array: pa.Array) -> UInt64s:
    kind, arrow = array.type, pa.types
    if arrow.is_boolean(kind):
        return _bits(array).astype(np.uint64)
    if arrow.is_floating(kind):
        with np.errstate(invalid="ignore"):  # signalling NaNs would warn
            doubles = _values(array, np.dtype(kind.to_pandas_dtype())).astype(np.float64)
            doubles += 0.0  # -0.0 becomes 0.0
        words: UInt64s = doubles.view(np.uint64)
        np.copyto(words, _NAN_BITS, where=np.isnan(doubles))
        return words
    raise TypeError(f"values of type {kind} cannot be hashed")


def _values(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)


def _bits(array: pa.Array) -> NDArray[np.uint8]:
    buffer = array.buffers()[1]
    if buffer is None:
        return np.zeros(len(array), np.uint8)
    first, end = array.offset // 8, -(-(array.offset + len(array)) // 8)
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8)[first:end], bitorder="little")
    skip = array.offset - first * 8
    return bits[skip : skip + len(array)]


def _decimal_words(array: pa.Array, lanes: _Lanes) -> tuple[UInt64s, UInt64s]:
    pairs = _values(array, _DECIMAL)
    low = np.ascontiguousarray(pairs["low"])
    # What the upper half holds beyond the sign of the lower: zero for all values that fit 64 bits.
    excess = pairs["high"] - (low.view(np.int64) >> _SIGN_SHIFT).view(np.uint64)
    wide = np.flatnonzero(excess)
    if len(wide) == 0:
        return low, low
    words = (low.copy(), low.copy())
    for lane_words, keys in zip(words, lanes, strict=True):
        upper = excess[wide] ^ keys.decimal
        mix(upper, keys.mixing)
        lane_words[wide] += upper
    return words


def _sum_fields(fields: Sequence[pa.Array], rows: int, lanes: _Lanes) -> tuple[UInt64s, UInt64s]:
    totals = (np.zeros(rows, np.uint64), np.zeros(rows, np.uint64))
    hi, lo = lanes
    for position, field in enumerate(fields):
        keys = (hi.position_key(hi.field_base, position), lo.position_key(lo.field_base, position))
        add_mixed(totals, words_of(field, lanes), lanes, keys)
    return totals


def _list_words(array: pa.Array, lanes: _Lanes) -> tuple[UInt64s, UInt64s]:
    bounds = array.offsets.to_numpy().astype(np.int64)
    first, last = int(bounds[0]), int(bounds[-1])
    items = words_of(array.values.slice(first, last - first), lanes)
    starts, lengths = bounds[:-1] - first, np.diff(bounds)
    positions = (np.arange(last - first) - np.repeat(starts, lengths)).view(np.uint64)
    mixed = (np.zeros(last - first, np.uint64), np.zeros(last - first, np.uint64))
    hi, lo = lanes
    keys = (hi.position_keys(hi.item_base, positions), lo.position_keys(lo.item_base, positions))
    add_mixed(mixed, items, lanes, keys)
    return _sum_runs(mixed[0], starts, lengths, hi), _sum_runs(mixed[1], starts, lengths, lo)


def _sum_runs(mixed: UInt64s, starts: _Int64s, lengths: _Int64s, keys: LaneKeys) -> UInt64s:
    """Sums of consecutive runs as differences of one running sum: exact, because both wrap modulo 2^64."""
    running = np.zeros(len(mixed) + 1, np.uint64)
    np.cumsum(mixed, out=running[1:])
    words = lengths.view(np.uint64) * keys.length
    words += running[starts + lengths]
    words -= running[starts]
    return words


def _dictionary_words(array: pa.Array, lanes: _Lanes) -> Words:
    nulls = None if array.null_count == 0 else _nulls(array)
    if len(array.dictionary) > len(array):
        return words_of(array.dictionary_decode(), lanes)
    entries = words_of(array.dictionary, lanes)
    if len(array.dictionary) == 0:  # then every row is NULL
        zeros = np.zeros(len(array), np.uint64)
        return Words(zeros, zeros, nulls)
    indices = array.indices.fill_null(0).to_numpy()
    if entries.nulls is not None:
        null_entries = entries.nulls[indices]
        nulls = null_entries if nulls is None else nulls | null_entries
    hi = entries.hi[indices]
    return Words(hi, hi if entries.lo is entries.hi else entries.lo[indices], nulls)
