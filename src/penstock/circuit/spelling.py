"""Rows that count as equal are made equal to the bit before anything is kept or merged.

A Z-set takes -0.0 for 0.0 and all NaN for one, so where two such rows are added, the bits of one of them go.
Which one depends on the order in which rows arrive, and so on the number of workers. Tables hold one spelling
(:mod:`penstock.intake`), but an expression can make the other: ``-x``, or a negative number divided by
infinity. So every row is respelled where it is indexed, that is before any state but a table's, and at the
end of a view. What nothing has to be done for is passed on as it is.
"""

from __future__ import annotations

from penstock.expr.functions.floats import one_spelling
from penstock.zset import ZSet

__all__ = ["spelled"]


def spelled(zset: ZSet) -> ZSet:
    """The same rows with 0.0 for -0.0 and one NaN."""
    columns = tuple(map(one_spelling, zset.columns))
    if all(new is old for new, old in zip(columns, zset.columns, strict=True)):
        return zset
    return ZSet(zset.schema, columns, zset.weights)
