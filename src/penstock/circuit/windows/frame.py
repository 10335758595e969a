"""Frames: the rows of its partition that a row's result depends on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.windows.base import WHOLE, Reach
from penstock.circuit.windows.run import Run
from penstock.expr.nodes import Column, Expr
from penstock.trace.order import dense_rank
from penstock.trace.sort_key import Direction, sort_key

__all__ = ["Frame"]

Indices = NDArray[np.int64]
_ASCENDING = Direction()


@dataclass(frozen=True)
class Frame:
    """``lower`` and ``upper`` are None where the frame is unbounded.

    With ``rows`` they are numbers of rows, negative for those before the current one. Otherwise they are 0
    for the current row's peers, or expressions for the value of ``key`` (sorted in ``direction``) at which
    the frame begins or ends.
    """

    rows: bool
    lower: int | Expr | None
    upper: int | Expr | None
    key: Column | None = None
    direction: Direction = _ASCENDING

    @property
    def reach(self) -> Reach:
        """How far a change reaches, if only totals are needed of rows before a stretch."""
        if self.upper is None or isinstance(self.lower, Expr) or isinstance(self.upper, Expr):
            return WHOLE
        if not self.rows:
            return Reach(0, None, 0, peers=True) if self.lower is None else Reach(0, 0, 0, peers=True)
        # The current row counts as if it were in the frame: what comes between the two moves the frame.
        back, behind = max(self.upper, 0), max(-self.upper, 0)
        if self.lower is None:
            return Reach(back, None, behind, read_back=behind, read_forth=back)
        forth = max(-self.lower, 0)
        return Reach(back, forth, forth, read_back=forth, read_forth=back)

    @property
    def local(self) -> bool:
        """Whether the frame has a number of rows on both sides."""
        return self.rows and isinstance(self.lower, int) and isinstance(self.upper, int)

    def bounds(self, run: Run) -> tuple[Indices, Indices]:
        """The first and one-past-last row of each row's frame, within its stretch."""
        low = self._bound(run, self.lower, upper=False)
        high = self._bound(run, self.upper, upper=True)
        low = np.clip(low, run.first, run.last)
        return low, np.clip(high, low, run.last)

    def _bound(self, run: Run, bound: int | Expr | None, *, upper: bool) -> Indices:
        if bound is None:
            return run.last if upper else run.first
        if isinstance(bound, Expr):
            return self._value_bound(run, bound, upper=upper)
        if self.rows:
            return run.place + bound + upper
        return run.past_peers if upper else run.first_peer

    def _value_bound(self, run: Run, bound: Expr, *, upper: bool) -> Indices:
        """The first row whose key is not before the bound, or the first that is after it."""
        assert self.key is not None
        size = len(run)
        limit = run.value(bound)
        # The sum of two decimals may be a wider type.
        both = pa.concat_arrays([run.value(self.key).cast(limit.type), limit])
        rank = dense_rank(sort_key([(both, self.direction)], 2 * size), descending=False)
        # One number for stretch and rank: ranks within a stretch grow, so the whole is sorted.
        width = np.int64(2 * size + 2)
        keys, wanted = run.stretch * width + rank[:size], run.stretch * width + rank[size:]
        return np.searchsorted(keys, wanted, "right" if upper else "left")

    def __str__(self) -> str:
        return f"{'rows' if self.rows else 'range'} from {_text(self.lower)} to {_text(self.upper)}"


def _text(bound: int | Expr | None) -> str:
    return "the end" if bound is None else str(bound)
