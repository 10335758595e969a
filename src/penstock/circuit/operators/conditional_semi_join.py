"""Semi join by key and condition: like :mod:`~penstock.circuit.operators.semi_join`, but decided per row.

With a condition over both sides the rows of one key no longer share a result, so the matches of each left row
are counted. The sum of the weights of a left row's pairs is its own weight times the number of its matches,
and it follows the product rule like any join: its change comes from the pairs of the changed rows. A row
matches if that sum is not zero. State: the sum, for the rows that have a match.

Cost: the pairs that the keys of the change bring together, each tested once, and a lookup per touched row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.delta import Delta, arranged_of
from penstock.circuit.matching import Pairs, changed_pairs, too_many_rows
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.semi_join import SemiJoin
from penstock.expr.nodes import Expr
from penstock.trace import Batch, build_batch, lookup_sums
from penstock.zset import Hashes, ZSet

__all__ = ["ConditionalSemiJoin"]

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

_ROWS = "rows"


@operator("conditional semi join", Incremental.GROUPS, state="the number of matches per left row")
@dataclass(frozen=True)
class ConditionalSemiJoin(SemiJoin):
    """Both inputs are arranged by key; ``condition`` is over the left columns followed by the right ones."""

    condition: Expr | None = None

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        left, right = map(arranged_of, inputs)
        sources = [left.batch, *left.before]
        touched = _touched(sources, changed_pairs(left, right, self.condition))
        row_lo = touched.row_lo
        assert row_lo is not None
        identity = Hashes(touched.order, touched.key_lo)
        old_rows, _ = lookup_sums(left.before, identity, row_lo)
        old_pairs, _ = lookup_sums(state.before(0), identity, row_lo)
        new_rows = old_rows + touched.sums.get(_ROWS, 0)
        new_pairs = old_pairs + touched.weights
        if self.single and (new_pairs > new_rows).any():
            raise too_many_rows()
        matched = new_rows * (new_pairs > 0) - old_rows * (old_pairs > 0)
        unmatched = new_rows * (new_pairs <= 0) - old_rows * (old_pairs <= 0)
        parts = list(self._emit_from(sources, touched.values[0].to_numpy(), matched, unmatched))
        changed = np.flatnonzero(touched.weights)
        state.stage(
            0,
            Batch(touched.order[changed], touched.key_lo[changed], row_lo[changed], touched.weights[changed]),
        )
        return Delta(ZSet.concat(self.schema, parts))

    def _emit_from(
        self, sources: Sequence[Batch], places: Indices, matched: Indices, unmatched: Indices
    ) -> Iterator[ZSet]:
        """The rows that change, each gathered from the batch it was found in."""
        changing = np.flatnonzero((matched != 0) | (unmatched != 0))
        start = 0
        for batch in sources:
            inside = (places[changing] >= start) & (places[changing] < start + len(batch))
            rows = changing[inside]
            if len(rows):
                yield from self.emit(batch, places[rows] - start, matched[rows], unmatched[rows])
            start += len(batch)

    def describe(self) -> str:
        return f"{super().describe()} where {self.condition}"


def _touched(sources: Sequence[Batch], pairs: Sequence[Pairs]) -> Batch:
    """The left rows that the step touches, each once: the change of their pairs as weight, that of the rows
    themselves as an additional sum, and as value a position where the row can be found, numbered through
    ``sources``.
    """
    starts = dict(zip(map(id, sources), _starts(sources), strict=True))
    delta = sources[0]
    parts = [(delta, np.arange(len(delta)), np.zeros(len(delta), np.int64))]
    parts += [(part.left, *_per_row(part)) for part in pairs]
    rows = np.zeros(sum(len(index) for _, index, _ in parts), np.int64)
    rows[: len(delta)] = delta.weights
    places = np.concatenate([starts[id(batch)] + index for batch, index, _ in parts])
    return build_batch(
        np.concatenate([batch.order[index] for batch, index, _ in parts]),
        np.concatenate([batch.key_lo[index] for batch, index, _ in parts]),
        np.concatenate([_row_lo(batch)[index] for batch, index, _ in parts]),
        np.concatenate([weights for _, _, weights in parts]),
        (pa.array(places),),
        {_ROWS: rows},
    )


def _starts(sources: Sequence[Batch]) -> list[int]:
    sizes = [0, *(len(batch) for batch in sources[:-1])]
    return [int(start) for start in np.cumsum(sizes)]


def _per_row(pairs: Pairs) -> tuple[Indices, Indices]:
    """The left rows of pairs, each once, with the sum of its pairs' weights."""
    order = np.argsort(pairs.left_rows, kind="stable")
    rows = pairs.left_rows[order]
    starts = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
    return rows[starts], np.add.reduceat(pairs.weights[order], starts)


def _row_lo(batch: Batch) -> Words:
    assert batch.row_lo is not None, "an arrangement for joins tells the rows of a key apart"
    return batch.row_lo
