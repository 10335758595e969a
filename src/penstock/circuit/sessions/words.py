"""Where rows and sessions lie in their arrangements: by key, and within a key by time.

The low half of an order word is the start in units of two seconds, counted so that 1970 is in the middle:
that covers the years 1834 to 2105, and moments outside share the first word or the last. So a stretch of time
is a range of words, at whose ends a few rows too many are found, and those are told by their exact start.
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
"""What the low half of a word is: part of the operator's identity, because state is found by it."""

_UNIT = 21
_MIDDLE = 1 << 31
_LAST = (1 << 32) - 1


def time_words(keys: Hashes, moments: Indices) -> Words:
    """The order words of the moments under the keys."""
    image = np.clip((moments >> _UNIT) + _MIDDLE, 0, _LAST)
    words: Words = (keys.hi & HIGH) | image.astype(np.uint64)
    return words
