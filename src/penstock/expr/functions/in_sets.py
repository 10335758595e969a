"""IN with a long list of constants, which Catalyst makes a set.

The list is hashed and sorted once. Rows are looked up in it by their own hashes, so a step does not pay for
the length of the list, and any type that can be grouped by will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as t

from penstock.expr.functions.registry import Value, function
from penstock.expr.functions.vectors import as_array
from penstock.expr.nodes import Call, Expr, Literal
from penstock.expr.types import to_arrow
from penstock.zset import Hashes, HashSeed, hash_columns

__all__: list[str] = []

_SEED = HashSeed(0, 0)


@dataclass(frozen=True)
class _Members:
    """The items that are not NULL, by their hashes in ascending order. Up to ``alike`` of them agree in the
    half of the hash that is searched: nearly always one."""

    hashes: Hashes
    alike: int
    has_null: bool

    @classmethod
    def of(cls, items: Sequence[Any], data_type: t.DataType) -> _Members:
        known = [item for item in items if item is not None]
        hashes = hash_columns([pa.array(known, to_arrow(data_type))], len(known), _SEED)
        hashes = hashes.take(np.argsort(hashes.hi))
        alike = int(np.unique(hashes.hi, return_counts=True)[1].max(initial=0))
        return cls(hashes, alike, len(known) < len(items))

    def has(self, subject: pa.Array) -> npt.NDArray[np.bool_]:
        """Which values are among the items."""
        found = np.zeros(len(subject), np.bool_)
        wanted = hash_columns([subject], len(subject), _SEED)
        first = np.searchsorted(self.hashes.hi, wanted.hi)
        for further in range(self.alike):
            places = np.minimum(first + further, len(self.hashes) - 1)
            found |= (self.hashes.hi[places] == wanted.hi) & (self.hashes.lo[places] == wanted.lo)
        return found


@lru_cache(maxsize=256)
def _members(call: Call) -> _Members:
    value, items = call.args
    assert isinstance(items, Literal)
    return _Members.of(items.value, value.data_type)


def _boolean(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    return t.BooleanType()


def _can_be_null(args: Sequence[Expr], options: Mapping[str, Any]) -> bool:
    items = args[1]
    return args[0].nullable or (isinstance(items, Literal) and None in items.value)


@function("InSet", result=_boolean, strict=False, nullable=_can_be_null)
def contained_in_set(call: Call, args: list[Value], length: int) -> Value:
    """NULL where the value is, and where it is not found but NULL is among the items."""
    members, subject = _members(call), as_array(args[0], length)
    found = members.has(subject)
    unknown = np.asarray(pc.is_null(subject).to_numpy(zero_copy_only=False), np.bool_)
    if members.has_null:
        unknown |= ~found
    return pa.array(found, mask=unknown)
