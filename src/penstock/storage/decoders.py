"""Compiled decoders: many chunks of a buffer in one call.

Each takes where the chunks are in ``data`` and where their values belong in ``target``, and returns the
number of the first chunk that cannot be decoded, or -1. The chunks were checked, so one that cannot be
decoded was written wrong; still nothing outside of it and of its place in the target is touched.

Chunks in other encodings than a decoder's own are left alone: :func:`decode_raw` does those that are the same
for all buffers, and ``ZSTD`` is left to the library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.storage.encodings import HEADER, MOST_BITS, NEW_BYTES, Encoding, field_at, get_word, put_word
from penstock.zset.kernel import BYTES, INT64S, kernel, part

__all__ = ["decode_bits", "decode_fixed", "decode_raw", "decode_text"]

Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]

_RAW, _STEPS, _FIELDS = (int(Encoding[n]) for n in ("RAW", "STEPS", "FIELDS"))
_ALPHABET, _DICTIONARY, _BITS = (int(Encoding[n]) for n in ("ALPHABET", "DICTIONARY", "BITS"))
_GOOD = -1


_BYTES_SIGNATURE = types.int64(BYTES, INT64S, INT64S, INT64S, INT64S, NEW_BYTES)
_NUMBERS = [types.Array(getattr(types, f"int{bits}"), 1, "C") for bits in (8, 16, 32, 64)]


@part
def _count(data: Any, at: Any) -> Any:
    return np.int64(get_word(data, at) >> np.uint64(32))


@part
def _mask(bits: Any) -> Any:
    return (np.uint64(1) << np.uint64(bits)) - np.uint64(1)


@part
def _bytes_of(count: Any, bits: Any) -> Any:
    """The bytes of so many fields, with the zero bytes behind them."""
    return (count * bits + 7) // 8 + 8


@part
def _spell(data: Any, at: Any, end: Any, size: Any, start: Any, target: Any) -> Any:
    """Bytes from their numbers in the alphabet."""
    bits, letters = np.int64(data[at + 1]), np.int64(get_word(data, at + 8))
    fields = at + HEADER + letters
    if not 0 < letters <= 64 or bits > 6 or _count(data, at) != size:
        return False
    if fields + _bytes_of(size, bits) != end:
        return False
    mask = _mask(bits)
    alphabet = np.zeros(64, np.uint64)
    for letter in range(letters):
        alphabet[letter] = data[at + HEADER + letter]
    i = 0
    while i + 8 <= size:  # eight bytes have at most 48 bits, and begin at a whole byte
        word = get_word(data, fields + ((i * bits) >> 3))
        spelled = np.uint64(0)
        for j in range(8):
            spelled |= alphabet[(word >> np.uint64(j * bits)) & mask] << np.uint64(8 * j)
        put_word(target, start + i, spelled)
        i += 8
    while i < size:
        target[start + i] = np.uint8(alphabet[field_at(data, fields, i, bits, mask)])
        i += 1
    return True


@part
def _repeat(data: Any, at: Any, end: Any, size: Any, start: Any, target: Any) -> Any:
    """Values from their numbers in the dictionary."""
    bits, count = np.int64(data[at + 1]), _count(data, at)
    distinct, known = np.int64(get_word(data, at + 8)), np.int64(get_word(data, at + 16))
    length_bits, shortest = np.int64(data[at + 2]), np.int64(data[at + 3])
    if not 0 < distinct <= end - at or known < 0 or bits > 32 or length_bits > MOST_BITS:
        return False
    texts = at + HEADER + _bytes_of(distinct, length_bits)
    fields = texts + known
    if fields + _bytes_of(count, bits) != end:
        return False
    ends = np.empty(distinct + 1, np.int64)
    ends[0] = 0
    mask = _mask(length_bits)
    for code in range(distinct):
        more = np.int64(field_at(data, at + HEADER, code, length_bits, mask))
        ends[code + 1] = ends[code] + shortest + more
    if ends[distinct] != known:
        return False
    mask, reached = _mask(bits), start
    for i in range(count):
        number = np.int64(field_at(data, fields, i, bits, mask))
        if number >= distinct or reached + ends[number + 1] - ends[number] > start + size:
            return False
        place, length = texts + ends[number], ends[number + 1] - ends[number]
        if length <= 8 and reached + 8 <= start + size:  # what is too much is overwritten by the next row
            put_word(target, reached, get_word(data, place))
        else:
            for byte in range(length):
                target[reached + byte] = data[place + byte]
        reached += length
    return reached == start + size


@kernel(_BYTES_SIGNATURE)
def decode_raw(
    data: Bytes, offsets: Indices, lengths: Indices, starts: Indices, sizes: Indices, target: Bytes
) -> int:
    """Chunks of bytes as they are: ``sizes`` bytes, that belong at ``starts``."""
    for chunk in range(len(offsets)):
        at, size = offsets[chunk], sizes[chunk]
        if lengths[chunk] < HEADER:
            return chunk
        if data[at] == _RAW:
            if lengths[chunk] != HEADER + size or starts[chunk] + size > len(target):
                return chunk
            for i in range(size):
                target[starts[chunk] + i] = data[at + HEADER + i]
    return _GOOD


@kernel(*(types.int64(BYTES, INT64S, INT64S, INT64S, INT64S, types.int64, numbers) for numbers in _NUMBERS))
def decode_fixed(
    data: Bytes,
    offsets: Indices,
    lengths: Indices,
    starts: Indices,
    counts: Indices,
    lanes: int,
    target: Any,
) -> int:
    """Numbers: ``counts`` of them, from number ``starts`` on. With two ``lanes``, a number is two words, the
    second of which is the sign of the first."""
    for chunk in range(len(offsets)):
        at, count = offsets[chunk], counts[chunk]
        encoding, bits = data[at], np.int64(data[at + 1])
        if encoding == _RAW or encoding > _FIELDS:
            continue
        if _count(data, at) != count or (starts[chunk] + count) * lanes > len(target):
            return chunk
        fields = count - 1 if encoding == _STEPS else count
        size = 0 if encoding == _STEPS and bits == 0 else _bytes_of(fields, bits)
        if count == 0 or bits > MOST_BITS or lengths[chunk] != HEADER + size:
            return chunk
        base, reached = get_word(data, at + 8), get_word(data, at + 16)
        place, mask = starts[chunk] * lanes, _mask(bits)
        if encoding == _FIELDS:
            for i in range(count):
                target[place + i * lanes] = np.int64(base + field_at(data, at + HEADER, i, bits, mask))
        elif bits:
            target[place] = np.int64(reached)
            for i in range(count - 1):
                reached += base + field_at(data, at + HEADER, i, bits, mask)
                target[place + (i + 1) * lanes] = np.int64(reached)
        else:
            for i in range(count):
                target[place + i * lanes] = np.int64(reached + np.uint64(i) * base)
        if lanes == 2:
            for i in range(count):
                target[place + 2 * i + 1] = target[place + 2 * i] >> 63
    return _GOOD


@kernel(_BYTES_SIGNATURE)
def decode_text(
    data: Bytes, offsets: Indices, lengths: Indices, starts: Indices, sizes: Indices, target: Bytes
) -> int:
    """Bytes of strings: ``sizes`` bytes, that belong at ``starts``."""
    for chunk in range(len(offsets)):
        at, size, start = offsets[chunk], sizes[chunk], starts[chunk]
        encoding = data[at]
        if encoding not in (_ALPHABET, _DICTIONARY):
            continue
        if start + size > len(target):
            return chunk
        end = at + lengths[chunk]
        if encoding == _ALPHABET:
            good = _spell(data, at, end, size, start, target)
        else:
            good = _repeat(data, at, end, size, start, target)
        if not good:
            return chunk
    return _GOOD


@kernel(types.int64(BYTES, INT64S, INT64S, NEW_BYTES))
def decode_bits(data: Bytes, offsets: Indices, lengths: Indices, target: Bytes) -> int:
    """Bits, which say themselves where they belong. Those of neighbouring blocks may share a byte, so they
    are added to what is there."""
    for chunk in range(len(offsets)):
        at = offsets[chunk]
        if lengths[chunk] < HEADER:
            return chunk
        count, place = _count(data, at), np.int64(get_word(data, at + 16))
        if place < 0 or place + count > 8 * len(target):
            return chunk
        if data[at] != _BITS or lengths[chunk] != HEADER + (count + 7) // 8 * data[at + 1]:
            return chunk
        if data[at + 1]:
            for i in range(count):
                bit = (data[at + HEADER + (i >> 3)] >> np.uint8(i & 7)) & np.uint8(1)
                target[(place + i) >> 3] |= np.uint8(bit << np.uint8((place + i) & 7))
        elif get_word(data, at + 8):
            for i in range(place, place + count):
                target[i >> 3] |= np.uint8(1 << (i & 7))
    return _GOOD
