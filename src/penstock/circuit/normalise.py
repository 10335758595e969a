"""Makes rows that count as equal bit-identical before anything is stored or merged.

A Z-set treats -0.0 as 0.0 and all NaN as one, so where two such rows are added, the bits of one of them
survive. Which one depends on the order in which rows arrive, and so on the number of workers. Tables hold
normalised values (:mod:`penstock.intake`), but an expression can produce others: ``-x``, or a negative number
divided by infinity. So every row is normalised where it is indexed, that is before any state but a table's,
and at the end of a view. Columns that need no change are not copied.
"""

from __future__ import annotations

from penstock.expr.functions.floats import normalise_floats
from penstock.zset import ZSet

__all__ = ["normalised"]


def normalised(zset: ZSet) -> ZSet:
    """The same rows with 0.0 for -0.0 and one NaN."""
    columns = tuple(map(normalise_floats, zset.columns))
    if all(new is old for new, old in zip(columns, zset.columns, strict=True)):
        return zset
    return ZSet(zset.schema, columns, zset.weights)
