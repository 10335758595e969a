"""What all casts share: the mode, the zone, and what happens to a value that cannot be converted.

A converter computes a result for every row and a mask of rows that failed. ``resolve_failures`` turns
that into Spark's behaviour: an error in ANSI mode, NULL otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.functions.registry import ANSI, LEGACY
from penstock.expr.functions.vectors import Mask, fail_where, invalidate, valid_mask
from penstock.expr.nodes import Call

__all__ = ["INVALID_INPUT", "OUT_OF_RANGE", "OVERFLOW", "Conversion"]

INVALID_INPUT = "CAST_INVALID_INPUT"
OVERFLOW = "CAST_OVERFLOW"
OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"


@dataclass(frozen=True, slots=True)
class Conversion:
    """One cast: from which type to which, in which mode and time zone."""

    call: Call
    source: t.DataType
    target: t.DataType
    mode: str
    zone: str

    @property
    def legacy(self) -> bool:
        """Whether integers wrap around instead of failing."""
        return self.mode == LEGACY

    @property
    def shortest(self) -> bool:
        """Whether Java prints large whole numbers with as few digits as others."""
        return bool(self.call.option("shortest"))

    def resolve_failures(
        self, result: pa.Array, bad: Mask, given: pa.Array, condition: str, *, in_legacy_too: bool = False
    ) -> pa.Array:
        """The result, once the rows in ``bad`` have raised or become NULL. ``in_legacy_too``: they raise
        whenever the cast is not ``try_cast``."""
        if not bad.any():
            return result
        if self.mode == ANSI or (in_legacy_too and self.legacy):
            words = {INVALID_INPUT: "is not a valid", OVERFLOW: "is out of range for"}
            text = f"the value {words.get(condition, 'does not fit')} {self.target.simpleString()}"
            fail_where(bad, valid_mask(given), self.call, [given], condition, text)
        return invalidate(result, bad)

    def within(self, source: t.DataType, target: t.DataType) -> Conversion:
        """The same cast applied to a part of a nested value."""
        return Conversion(self.call, source, target, self.mode, self.zone)
