"""Compiled encoders: all blocks of a buffer in one call.

Each takes the positions at which blocks begin (``cuts``, one more than there are blocks), writes the chunks
one after the other into ``out``, which must have room for :func:`room` bytes, notes where each ends, and
returns the bytes written. For every chunk the smallest of the encodings is chosen that decode quickly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.storage.encodings import HEADER, MOST_BITS, NEW_BYTES, Encoding, put_header, put_word
from penstock.zset.kernel import BYTES, INT64S, NEW_INT64S, inlined, kernel, part, word_at

__all__ = ["encode_bits", "encode_fixed", "encode_text", "room"]

Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]

_RAW, _STEPS, _FIELDS = (int(Encoding[n]) for n in ("RAW", "STEPS", "FIELDS"))
_ALPHABET, _DICTIONARY, _BITS = (int(Encoding[n]) for n in ("ALPHABET", "DICTIONARY", "BITS"))
_MOST_DISTINCT = 4096
_SLOTS = 4 * _MOST_DISTINCT
_LONGEST, _SHORTEST = 2**40, 255
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_NONE = np.uint64(0)


def room(blocks: int, size: int) -> int:
    """The most bytes that chunks of content of ``size`` bytes take."""
    return size + blocks * (HEADER + 16)


@inlined
def _bits_for(most: Any) -> Any:
    """How many bits numbers up to ``most`` need."""
    bits = 0
    while most > np.uint64(0):
        bits += 1
        most >>= np.uint64(1)
    return bits


@part
def _put_fields(out: Any, at: Any, fields: Any, count: Any, bits: Any) -> Any:
    """Packs fields, and puts the zero bytes behind them; returns the end."""
    pending, held = np.uint64(0), np.int64(0)
    for i in range(count):
        pending |= np.uint64(fields[i]) << np.uint64(held)
        put_word(out, at, pending)
        held += bits
        whole = held >> 3
        pending >>= np.uint64(8 * whole)
        at += whole
        held &= 7
    if held > 0:
        at += 1
    put_word(out, at, _NONE)
    return at + 8


@part
def _largest(cuts: Any) -> Any:
    most = np.int64(0)
    for block in range(len(cuts) - 1):
        most = max(most, cuts[block + 1] - cuts[block])
    return most


@part
def _put_numbers(out: Any, at: Any, values: Any, start: Any, count: Any, width: Any) -> Any:
    for i in range(start, start + count):
        word = np.uint64(values[i])
        for byte in range(min(width, 8)):
            out[at] = np.uint8((word >> np.uint64(8 * byte)) & np.uint64(255))
            at += 1
        if width == 16:
            put_word(out, at, np.uint64(values[i] >> np.int64(63)))
            at += 8
    return at


@part
def _number_letters(data: Any, begin: Any, end: Any, numbers: Any) -> Any:
    """Numbers the bytes that occur, in their order, the others are -1; returns how many there are."""
    numbers[:] = -1
    for i in range(begin, end):
        numbers[data[i]] = 0
    letters = np.int64(0)
    for letter in range(256):
        if numbers[letter] == 0:
            numbers[letter] = letters
            letters += 1
    return letters


@part
def _number_values(
    data: Any, offsets: Any, start: Any, stop: Any, best: Any, slots: Any, kept: Any, codes: Any
) -> Any:
    """Numbers the different values: ``kept`` has a row of each, ``codes`` the number of each row. Returns how
    many there are, 0 if a dictionary would take ``best`` bytes or more."""
    most = min((stop - start) // 2, _MOST_DISTINCT)
    slots[:] = -1
    distinct = size = longest = np.int64(0)
    shortest = np.int64(_LONGEST)
    for row in range(start, stop):
        begin, length = offsets[row], offsets[row + 1] - offsets[row]
        hashed = np.uint64(length)
        for i in range(begin, begin + length, 8):
            hashed = (hashed ^ word_at(data, i, begin + length)) * _PRIME
            hashed ^= hashed >> np.uint64(29)
        slot = np.int64(hashed % np.uint64(_SLOTS))
        while slots[slot] >= 0 and not _is_same(data, offsets, kept[slots[slot]], begin, length):
            slot = (slot + 1) % _SLOTS
        if slots[slot] < 0:
            if distinct >= most or size + length >= best:
                return np.int64(0)
            shortest, longest = min(shortest, length), max(longest, length)
            slots[slot] = distinct
            kept[distinct] = row
            distinct += 1
            size += length
        codes[row - start] = slots[slot]
    bits, length_bits = _bits_for(np.uint64(distinct - 1)), _bits_for(np.uint64(longest - shortest))
    size += (distinct * length_bits + 7) // 8 + ((stop - start) * bits + 7) // 8 + 16
    return distinct if size < best and shortest <= _SHORTEST else np.int64(0)


@part
def _is_same(data: Any, offsets: Any, row: Any, begin: Any, length: Any) -> Any:
    """Whether a row has the value at ``begin``."""
    if offsets[row + 1] - offsets[row] != length:
        return False
    other = offsets[row]
    for i in range(0, length, 8):
        if word_at(data, other + i, other + length) != word_at(data, begin + i, begin + length):
            return False
    return True


@part
def _put_dictionary(
    out: Any, at: Any, data: Any, offsets: Any, kept: Any, distinct: Any, codes: Any, count: Any
) -> Any:
    header = at
    lengths = np.empty(distinct, np.int64)
    for code in range(distinct):
        lengths[code] = offsets[kept[code] + 1] - offsets[kept[code]]
    shortest, size = lengths.min(), lengths.sum()
    lengths -= shortest
    length_bits, bits = _bits_for(np.uint64(lengths.max())), _bits_for(np.uint64(distinct - 1))
    at = _put_fields(out, at + HEADER, lengths, distinct, length_bits)
    for code in range(distinct):
        for i in range(offsets[kept[code]], offsets[kept[code] + 1]):
            out[at] = data[i]
            at += 1
    sizes = bits | length_bits << 8 | shortest << 16
    put_header(out, header, _DICTIONARY, sizes, count, np.uint64(distinct), np.uint64(size))
    return _put_fields(out, at, codes, count, bits)


@part
def _put_alphabet(
    out: Any, at: Any, data: Any, begin: Any, end: Any, numbers: Any, codes: Any, letters: Any, bits: Any
) -> Any:
    put_header(out, at, _ALPHABET, bits, end - begin, np.uint64(letters), _NONE)
    at += HEADER
    for letter in range(256):
        if numbers[letter] >= 0:
            out[at] = np.uint8(letter)
            at += 1
    for i in range(end - begin):
        codes[i] = numbers[data[begin + i]]
    return _put_fields(out, at, codes, end - begin, bits)


@kernel(types.int64(INT64S, INT64S, types.int64, types.int64, NEW_BYTES, NEW_INT64S))
def encode_fixed(values: Indices, cuts: Indices, shared: int, width: int, out: Bytes, ends: Indices) -> int:
    """Numbers of ``width`` bytes; those of 16 have the sign of their low half. A block also has the first
    ``shared`` values of the next one."""
    at = np.int64(0)
    fields = np.empty(_largest(cuts) + shared, np.int64)
    for block in range(len(cuts) - 1):
        start, count = cuts[block], cuts[block + 1] - cuts[block] + shared
        ends[block] = at
        if count == 0:
            continue
        low = high = values[start]
        least, most = ~_NONE, _NONE
        for i in range(start + 1, start + count):
            low, high = min(low, values[i]), max(high, values[i])
            step = np.uint64(values[i]) - np.uint64(values[i - 1])
            least, most = min(least, step), max(most, step)
        least = min(least, most)
        bits, step_bits = _bits_for(np.uint64(high) - np.uint64(low)), _bits_for(most - least)
        if step_bits <= min(bits, MOST_BITS) and step_bits + 1 < 8 * width:
            put_header(out, at, _STEPS, step_bits, count, least, np.uint64(values[start]))
            at += HEADER
            if step_bits:
                for i in range(count - 1):
                    step = np.uint64(values[start + i + 1]) - np.uint64(values[start + i])
                    fields[i] = np.int64(step - least)
                at = _put_fields(out, at, fields, count - 1, step_bits)
        elif bits <= MOST_BITS and bits + 1 < 8 * width:
            put_header(out, at, _FIELDS, bits, count, np.uint64(low), _NONE)
            for i in range(count):
                fields[i] = values[start + i] - low
            at = _put_fields(out, at + HEADER, fields, count, bits)
        else:
            put_header(out, at, _RAW, 0, count, _NONE, _NONE)
            at = _put_numbers(out, at + HEADER, values, start, count, width)
        ends[block] = at
    return int(at)


@kernel(types.int64(BYTES, INT64S, INT64S, NEW_BYTES, NEW_INT64S))
def encode_text(data: Bytes, offsets: Indices, cuts: Indices, out: Bytes, ends: Indices) -> int:
    """The bytes of strings, which are between ``offsets`` of ``data``."""
    at = np.int64(0)
    slots, kept = np.empty(_SLOTS, np.int32), np.empty(_MOST_DISTINCT, np.int64)
    numbers, codes = np.empty(256, np.int64), np.empty(max(_largest(cuts), _largest(offsets[cuts])), np.int64)
    for block in range(len(cuts) - 1):
        start, stop = cuts[block], cuts[block + 1]
        size = offsets[stop] - offsets[start]
        if size > 0:
            letters = _number_letters(data, offsets[start], offsets[stop], numbers)
            bits = max(_bits_for(np.uint64(letters - 1)), 1)
            best = min(size, size if bits > 6 else letters + (size * bits + 7) // 8 + 8)
            distinct = _number_values(data, offsets, start, stop, best, slots, kept, codes)
            if distinct:
                at = _put_dictionary(out, at, data, offsets, kept, distinct, codes, stop - start)
            elif best < size:
                begin, end = offsets[start], offsets[stop]
                at = _put_alphabet(out, at, data, begin, end, numbers, codes, letters, bits)
            else:
                put_header(out, at, _RAW, 0, size, _NONE, _NONE)
                at += HEADER
                out[at : at + size] = data[offsets[start] : offsets[stop]]
                at += size
        ends[block] = at
    return int(at)


@kernel(types.int64(BYTES, INT64S, types.int64, NEW_BYTES, NEW_INT64S))
def encode_bits(flags: Bytes, cuts: Indices, base: int, out: Bytes, ends: Indices) -> int:
    """Flags, a byte each, as bits. The first one belongs at the position ``base`` of the buffer."""
    at = np.int64(0)
    for block in range(len(cuts) - 1):
        start, stop = cuts[block], cuts[block + 1]
        if stop > start:
            is_constant = True
            for i in range(start, stop):
                is_constant &= flags[i] == flags[start]
            place = np.uint64(start - cuts[0] + base)
            if is_constant:
                put_header(out, at, _BITS, 0, stop - start, np.uint64(flags[start]), place)
                at += HEADER
            else:
                put_header(out, at, _BITS, 1, stop - start, _NONE, place)
                at += HEADER
                for i in range(start, stop):
                    if (i - start) & 7 == 0:
                        out[at] = 0
                        at += 1
                    out[at - 1] |= np.uint8(flags[i] << ((i - start) & 7))
        ends[block] = at
    return int(at)
