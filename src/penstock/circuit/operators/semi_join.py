"""Semi join by key: the left rows whose key occurs on the right side, does not occur, or both with a flag.

This is the part of outer, semi and anti joins that is not bilinear: semi and anti joins are this operator,
and an outer join is an inner join plus the rows without a match. Whether a left row matches depends only on
the *number* of right rows with its key, so the state is one additive count per key and the right rows
themselves are never read: a key with a million of them costs as much as a key with one.

Cost: a lookup per changed row, and the left rows of the keys whose count went from or to zero, which is what
changes in the output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.delta import Arranged, Delta, arranged_of
from penstock.circuit.matching import keys_of, too_many_rows
from penstock.circuit.operator import Flow, Incremental, Operator, State, operator
from penstock.trace import Batch, build_batch, lookup_rows, lookup_sums
from penstock.trace.batch import HIGH
from penstock.zset import Hashes, ZSet, gather, numbers

__all__ = ["SemiJoin", "Wanted"]

Wanted = Literal["matched", "unmatched", "flagged"]
Indices = NDArray[np.int64]

_WANTED = {
    "matched": "rows with a match",
    "unmatched": "rows without a match",
    "flagged": "all rows, and whether they have a match",
}


@operator("semi join", Incremental.GROUPS, state="the number of right rows per key")
@dataclass(frozen=True)
class SemiJoin(Operator):
    """The first input is arranged by key, the second arranged or indexed by key (and may be pre-aggregated).
    ``keep`` lists the left columns of the output; if all rows are ``wanted``, with a flag, the flag is the
    column after the last left one. With ``single`` a second match of a row is an error.
    """

    wanted: Wanted
    keep: tuple[int, ...]
    single: bool = False

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        left, change = arranged_of(inputs[0]), _counts(inputs[1])
        keys = Hashes(change.order, change.key_lo)
        old, _ = lookup_sums(state.before(0), keys)
        new = old + change.weights
        here, _ = lookup_sums([*state.before(0), change], keys_of(left.batch))
        if self.single:
            self._check(left, keys.take(np.flatnonzero(new > 1)), here)
        parts = list(self._flipped(left, keys, old > 0, new > 0))
        weights, has = left.batch.weights, here > 0
        parts += self.emit(left.batch, np.arange(len(left.batch)), weights * has, weights * ~has)
        state.stage(0, change)
        return Delta(ZSet.concat(self.schema, parts))

    def _flipped(
        self, left: Arranged, keys: Hashes, had: NDArray[np.bool_], has: NDArray[np.bool_]
    ) -> Iterator[ZSet]:
        """The change of earlier left rows whose key appears on the right side, or disappears from it."""
        turned = np.flatnonzero(had != has)
        if len(turned) == 0:
            return
        sign = np.where(has[turned], 1, -1)
        for found in lookup_rows(left.before, keys.take(turned)):
            weights = found.batch.weights[found.row] * sign[found.probe]
            yield from self.emit(found.batch, found.row, weights, -weights)

    def emit(self, batch: Batch, rows: Indices, matched: Indices, unmatched: Indices) -> Iterator[ZSet]:
        """Rows of a left batch, by how much their matched and their unmatched occurrences change."""
        verdicts = ((True, matched, "unmatched"), (False, unmatched, "matched"))
        for flag, weights, excluded in verdicts:
            if self.wanted == excluded:
                continue
            some = np.flatnonzero(weights)
            index = numbers(rows[some])
            columns = tuple(
                gather(batch.values[i], index)
                if i < len(batch.values)
                else pa.array(np.full(len(some), flag))
                for i in self.keep
            )
            yield ZSet(self.schema, columns, weights[some])

    def _check(self, left: Arranged, crowded: Hashes, here: Indices) -> None:
        """Raises if a left row has more than one match after the step; ``here`` counts those of new rows."""
        if ((here > 1) & (left.batch.weights > 0)).any():
            raise too_many_rows()
        rows = np.zeros(len(crowded), np.int64)
        for found in lookup_rows([*left.before, left.batch], crowded):
            np.add.at(rows, found.probe, found.batch.weights[found.row])
        if (rows > 0).any():
            raise too_many_rows()

    def describe(self) -> str:
        return _WANTED[self.wanted] + (", at most one" if self.single else "")


def _counts(right: Flow) -> Batch:
    """The change of the number of right rows per key."""
    if isinstance(right, Arranged):
        keys, weights = keys_of(right.batch), right.batch.weights
        return build_batch(keys.hi, keys.lo, None, weights)
    return build_batch(right.index.hi & HIGH, right.index.lo, None, right.zset.weights)
