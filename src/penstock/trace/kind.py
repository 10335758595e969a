"""The four kinds of batches, by the columns that they have.

A batch is a trie in columns. Its levels are *layers*: a **column layer** holds keys with weights, an
**ordered layer** holds keys with offsets into the layer below. The last layer is always a column layer, and
what it holds next to the weights is what tells the last rows apart:

* ``OrdZSet``: rows with weights (one column layer);
* ``OrdIndexedZSet``: keys, for each its values with weights (ordered over column);
* ``OrdKeyBatch``: keys, for each its times with weights (ordered over column);
* ``OrdValBatch``: keys, for each its values, for each its times with weights (ordered over ordered over
  column).

A key's rows are neighbours because all of them begin with the same bits of the order word, so offsets need
not be stored: they are where those bits change. docs/layers.md draws it.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["Kind"]


class Kind(Enum):
    """What a row of a batch consists of besides its weight. Two rows that agree in it are one row."""

    ZSET = "OrdZSet"
    """A key. No ``row_lo``, no ``times``."""
    INDEXED_ZSET = "OrdIndexedZSet"
    """A key and a value: with ``row_lo``."""
    KEY = "OrdKeyBatch"
    """A key and a time: with ``times``."""
    VAL = "OrdValBatch"
    """A key, a value and a time: with both."""

    @staticmethod
    def of(*, has_values: bool, has_times: bool) -> Kind:
        """By whether a key has several values, and whether updates have times."""
        if has_times:
            return Kind.VAL if has_values else Kind.KEY
        return Kind.INDEXED_ZSET if has_values else Kind.ZSET
