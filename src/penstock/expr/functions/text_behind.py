"""Extracts what follows a given string, up to a given character: ``regexp_extract(url, '(&|^)user=([^&]*)',
2)``.

People extract a parameter of a URL this way, or a field of a log line. A regex engine needs about 700
nanoseconds to locate the groups of one match. Such a pattern needs no engine: the least frequent byte of the
string is searched for, eight bytes at a time, and only the few positions where it occurs are examined.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import types

from penstock.expr.functions.text_search import bytes_of, stands
from penstock.expr.functions.text_slices import concatenate_slices
from penstock.expr.functions.vectors import valid_mask
from penstock.zset.kernel import (
    BYTES,
    INT32S,
    LITTLE_ENDIAN,
    NEW_INT64S,
    Number,
    inlined,
    kernel,
    load_word,
)

__all__ = ["Behind", "behind"]

_LETTER = r"[A-Za-z0-9,;: /_#@!%&=<>~'\"-]"  # such a letter stands for itself
_PATTERN = re.compile(
    rf"(?:\((?:(?P<before>{_LETTER})\|\^|\^\|(?P<after>{_LETTER}))\))?"
    rf"(?P<text>{_LETTER}+)\(\[\^(?P<until>{_LETTER})\]\*\)"
)
_SAMPLE = 1 << 14
_ANYTHING = -1
_LOW_BITS = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_HIGH_BYTE = np.uint64(56)


@dataclass(frozen=True)
class Behind:
    """``text`` and all behind it up to ``until`` or the end. With ``before``, that letter stands before the
    text, or nothing does."""

    text: bytes
    until: int
    before: int

    def found(self, column: pa.Array) -> pa.Array:
        """What stands behind the first such text of each string; nothing if there is none, NULL of NULL."""
        begin, end = np.zeros(len(column), np.int64), np.zeros(len(column), np.int64)
        letters = np.empty(0, np.uint8)
        if len(column):
            letters, offsets = bytes_of(column)
            wanted = np.frombuffer(self.text, np.uint8)
            sample = letters[offsets[0] : offsets[-1]][:_SAMPLE]
            rarest = int(np.argmin(np.bincount(sample, minlength=256)[wanted]))
            _behind(letters, offsets, wanted, rarest, self.before, self.until, begin, end)
        return concatenate_slices(letters, begin, end, valid_mask(column), column.type)


@lru_cache(maxsize=1024)
def behind(pattern: str, group: int) -> Behind | None:
    """A pattern and the group that is wanted of it, if it asks for nothing else."""
    match = _PATTERN.fullmatch(pattern)
    if match is None:
        return None
    before = match["before"] or match["after"]
    if group != (1 if before is None else 2):
        return None
    return Behind(match["text"].encode(), ord(match["until"]), _ANYTHING if before is None else ord(before))


@inlined
def _next_place(data: Number, letter: Number, place: Number, stop: Number) -> Number:
    """Where the byte ``letter`` stands first, from ``place`` on; ``stop`` if it does not before that.

    The lowest byte of a word that becomes zero when the letter is taken from all of them is found without a
    branch: subtracting one borrows through its highest bit."""
    place, stop = np.int64(place), np.int64(stop)
    pattern = np.uint64(letter) * _LOW_BITS
    while place < stop:
        if LITTLE_ENDIAN and place + 8 <= len(data):
            word = load_word(data, place) ^ pattern
            hits = (word - _LOW_BITS) & ~word & _HIGH_BITS
            if hits:
                below = (hits & (~hits + np.uint64(1))) - np.uint64(1)
                found = place + np.int64(((below & _LOW_BITS) * _LOW_BITS) >> _HIGH_BYTE) - 1
                return min(found, stop)
            place += 8
        elif data[place] == letter:
            return place
        else:
            place += 1
    return stop


@kernel(types.void(BYTES, INT32S, BYTES, types.int64, types.int64, types.int64, NEW_INT64S, NEW_INT64S))
def _behind(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int32],
    text: npt.NDArray[np.uint8],
    rarest: Number,
    before: Number,
    until: Number,
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> None:
    """``rarest`` is the number of the byte of the text that is searched for."""
    for row in range(len(begin)):
        first, last = offsets[row], offsets[row + 1]
        stop = np.int64(last) - len(text) + 1 + rarest
        at = _next_place(data, text[rarest], first + rarest, stop)
        while at < stop:
            place = at - rarest
            alone = before < 0 or place == first or data[place - 1] == before
            if alone and stands(data, place, text):
                begin[row] = place + len(text)
                end[row] = _next_place(data, until, begin[row], last)
                break
            at = _next_place(data, text[rarest], at + 1, stop)
