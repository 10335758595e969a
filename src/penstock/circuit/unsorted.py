"""Batches of insert-only rows: no row has to be found again, so they are stored in order of arrival.

Such rows need no identity: no hashing, and if nothing looks them up no sorting. Each batch has its own words,
counted up from random starts, so that rows of different batches are never equal.
"""

from __future__ import annotations

import secrets

import numpy as np

from penstock.trace import Batch
from penstock.zset import Hashes, ZSet

__all__ = ["FAN", "arrival_batch", "unique_words"]

FAN = 64
"""How many batches of similar size are merged at once: no step searches them."""


def arrival_batch(zset: ZSet) -> Batch:
    """The rows as a batch, in their own order."""
    size = len(zset)
    first, lane = np.uint64(secrets.randbits(63)), np.uint64(secrets.randbits(64))
    order = first + np.arange(size, dtype=np.uint64)
    return Batch(order, np.full(size, lane), None, zset.weights, zset.columns)


def unique_words(size: int) -> Hashes:
    """Two unique words for each row, in place of its hash."""
    count = np.arange(size, dtype=np.uint64)
    return Hashes(*(np.uint64(secrets.randbits(64)) + count for _ in range(2)))
