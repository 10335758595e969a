"""Rows that come and never go: nothing has to be found again, so they are kept as they come.

Such rows need no identity: no hashing and no sorting. Each batch lies under order words of its own, a random
start and then counting, with a random second lane, so that rows of different batches never look equal.
"""

from __future__ import annotations

import secrets

import numpy as np

from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["FAN", "as_they_come"]

FAN = 64
"""Batches of similar size that are put together at once: nobody searches them."""


def as_they_come(zset: ZSet) -> Batch:
    """The rows as a batch, in their own order."""
    size = len(zset)
    first, lane = np.uint64(secrets.randbits(63)), np.uint64(secrets.randbits(64))
    order = first + np.arange(size, dtype=np.uint64)
    return Batch(order, np.full(size, lane), None, zset.weights, zset.columns)
