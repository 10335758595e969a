"""Order words of rows and sessions: by key, and within a key by time.

The low half of an order word is the start in units of two seconds, counted so that 1970 is in the middle:
that covers the years 1834 to 2105, and timestamps outside share the first word or the last. So a stretch of
time is a range of words, at whose ends a few rows too many are found, which are filtered by their exact
start.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.trace.batch import HIGH
from penstock.zset import Hashes

__all__ = ["IMAGE", "time_words"]

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

IMAGE = "starts to 2^21 microseconds"
"""The version of the low half of a word: part of the operator's identity, because stored state depends on
it."""

_UNIT = 21
_MIDDLE = 1 << 31
_LAST = (1 << 32) - 1


def time_words(keys: Hashes, moments: Indices) -> Words:
    """The order words of the timestamps under the keys."""
    image = np.clip((moments >> _UNIT) + _MIDDLE, 0, _LAST)
    words: Words = (keys.hi & HIGH) | image.astype(np.uint64)
    return words
