"""Rows that come and never go: nothing has to be found again, so they are kept as they come.

Such rows need no identity: no hashing, and where nobody looks them up no sorting. Each batch has words of its
own, random starts and then counting, so that rows of different batches never look equal.
"""

from __future__ import annotations

import secrets

import numpy as np

from penstock.trace import Batch
from penstock.zset import Hashes, ZSet

__all__ = ["FAN", "as_they_come", "own_numbers"]

FAN = 64
"""Batches of similar size that are put together at once: nobody searches them."""


def as_they_come(zset: ZSet) -> Batch:
    """The rows as a batch, in their own order."""
    size = len(zset)
    first, lane = np.uint64(secrets.randbits(63)), np.uint64(secrets.randbits(64))
    order = first + np.arange(size, dtype=np.uint64)
    return Batch(order, np.full(size, lane), None, zset.weights, zset.columns)


def own_numbers(size: int) -> Hashes:
    """For each row two words in the place of its hash, which no other row has."""
    count = np.arange(size, dtype=np.uint64)
    return Hashes(*(np.uint64(secrets.randbits(64)) + count for _ in range(2)))
