"""The register of a HyperLogLog++ sketch that a value falls into, and what it leaves there.

A sketch of precision p has 2^p registers. Of a value's hash the first p bits name one, and the number of
leading zeros of the others, plus one, is the *rank*: a register holds the largest rank of its values. Both
are put into one number (``register << 6 | rank``), so that counting these numbers is all that is needed to
let values come and go.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.rules import always
from penstock.expr.functions.vectors import as_array, build, unpack, valid_mask
from penstock.expr.nodes import Call

__all__ = ["RANK_BITS"]

RANK_BITS = 6
"""A rank is at most 61."""


@function("HyperLogLogRegister", result=always(t.LongType()), options=("precision",))
def register(call: Call, args: list[Value], length: int) -> Value:
    """Of a 64-bit hash."""
    hashes = as_array(args[0], length)
    words = unpack(hashes)[0].astype(np.int64).view(np.uint64)
    bits = np.uint64(call.option("precision"))
    rest = (words << bits) | (np.uint64(1) << (bits - np.uint64(1)))
    packed = (words >> (np.uint64(64) - bits)) << np.uint64(RANK_BITS) | (_leading_zeros(rest) + np.uint64(1))
    return build(packed.view(np.int64), valid_mask(hashes), pa.int64())


def _leading_zeros(words: np.ndarray) -> np.ndarray:
    """Of words that are not zero, by halving."""
    zeros = np.zeros(len(words), np.uint64)
    for width in (32, 16, 8, 4, 2, 1):
        small = words < (np.uint64(1) << np.uint64(64 - width))
        zeros += np.where(small, np.uint64(width), np.uint64(0))
        words = np.where(small, words << np.uint64(width), words)
    return zeros
