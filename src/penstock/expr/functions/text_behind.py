"""What stands behind a given text, up to a given letter: ``regexp_extract(url, '(&|^)user=([^&]*)', 2)``.

People take a parameter out of an address this way, or a field out of a log line. A machine for regular
expressions needs some 700 nanoseconds to say where the groups of one match lie. Such a pattern needs no
machine: the least frequent byte of the text is searched for in the whole column at once, and the few places
that are found are looked at.
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
from penstock.zset.kernel import BYTES, INT32S, INT64S, NEW_INT64S, Number, kernel

__all__ = ["Behind", "behind"]

_LETTER = r"[A-Za-z0-9,;: /_#@!%&=<>~'\"-]"  # such a letter stands for itself
_PATTERN = re.compile(
    rf"(?:\((?:(?P<before>{_LETTER})\|\^|\^\|(?P<after>{_LETTER}))\))?"
    rf"(?P<text>{_LETTER}+)\(\[\^(?P<until>{_LETTER})\]\*\)"
)
_SAMPLE = 1 << 14
_ANYTHING = -1


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
            inside = letters[offsets[0] : offsets[-1]]
            rarest = int(np.argmin(np.bincount(inside[:_SAMPLE], minlength=256)[wanted]))
            places = np.flatnonzero(inside == wanted[rarest]) + (int(offsets[0]) - rarest)
            _behind(letters, offsets, places, wanted, self.before, self.until, begin, end)
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


@kernel(types.void(BYTES, INT32S, INT64S, BYTES, types.int64, types.int64, NEW_INT64S, NEW_INT64S))
def _behind(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int32],
    places: npt.NDArray[np.int64],
    text: npt.NDArray[np.uint8],
    before: Number,
    until: Number,
    begin: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
) -> None:
    """``places``, in order, are where the text may begin, in any of the strings or across two of them."""
    at = 0
    for row in range(len(begin)):
        first, last = offsets[row], offsets[row + 1]
        while at < len(places) and places[at] < first:
            at += 1
        while at < len(places) and places[at] + len(text) <= last:
            place = places[at]
            at += 1
            if before >= 0 and place > first and data[place - 1] != before:
                continue
            if stands(data, place, text):
                begin[row] = place + len(text)
                end[row] = begin[row]
                while end[row] < last and data[end[row]] != until:
                    end[row] += 1
                break
