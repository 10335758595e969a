"""A limit over insert-only input: rows beyond it can never come back, so they are not kept.

The arrangement is as small as the limit times the number of keys, however many rows have come. A step adds
the rows that are now within the limit and removes those they displace. It removes rows that it has just found
there, so no row needs a hash to be found by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.circuit.delta import Delta, delta_of
from penstock.circuit.operator import Flow, Incremental, State, operator
from penstock.circuit.operators.top_k import TopK
from penstock.circuit.ordering import distinct_keys
from penstock.circuit.ranked_rows import within
from penstock.circuit.unsorted import unique_words
from penstock.trace import gather_batch, gather_rows, lookup_prefix

__all__ = ["AppendTopK"]


@operator("append-only top k", Incremental.GROUPS, state="rows per key within the limit, in order")
@dataclass(frozen=True)
class AppendTopK(TopK):
    """The same as :class:`TopK`, with a limit, for insert-only input."""

    def step(self, inputs: Sequence[Flow], state: State) -> Delta:
        delta = delta_of(inputs[0])
        assert self.limit is not None
        if len(delta) == 0:
            return self.nothing
        last = self.offset + self.limit
        before = state.before(0)
        batches = [*before, self.ordering.batch(delta, unique_words(len(delta)), whole=False)]
        keys = distinct_keys(delta.index)
        old, new = lookup_prefix(before, keys, last), lookup_prefix(batches, keys, last)
        state.count("rows read", len(old.probe) + len(new.probe))
        held = within(new, 0, last, numbered=False).minus(within(old, 0, last, numbered=False))
        if last > 1 or len(held.row) == 0:
            state.stage(0, gather_batch(batches, held.batch, held.row, held.weights))
            return Delta(self.changed(batches, old, new))
        # With a limit of one, changes of the arrangement are the changes of the output.
        values = gather_rows(batches, held.batch, held.row, 0)
        state.stage(0, gather_batch(batches, held.batch, held.row, held.weights, values))
        return Delta(self.answers(values[1:], held))
