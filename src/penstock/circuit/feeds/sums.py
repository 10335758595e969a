"""Totals per group: partial sums in, answers of linear functions out.

A batch holds one entry per group, whose additive columns are named ``<position of the total>.<column>``.
Reading a group adds its entries; merging batches adds them for good. Cost: the touched groups, in one lookup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.circuit.accumulators import Linear, Sums, Total
from penstock.circuit.delta import Delta
from penstock.circuit.feeds.base import Answers, Feed
from penstock.trace import Batch, build_batch, lookup_sums
from penstock.zset import Hashes, HashSeed

__all__ = ["SumsFeed", "totals_of"]

Weights = NDArray[np.int64]


def totals_of(functions: Iterable[Linear]) -> tuple[Total, ...]:
    """The totals that functions need, each once."""
    return tuple(dict.fromkeys(total for function in functions for total in function.totals))


@dataclass(frozen=True)
class SumsFeed(Feed):
    """Fed by a partial aggregate of ``totals_of(functions)``."""

    functions: tuple[Linear, ...]

    def batch(self, delta: Delta, seed: HashSeed) -> Batch:
        """The change, with the groups' key columns beside it."""
        return build_batch(
            delta.index.hi, delta.index.lo, None, delta.zset.weights, delta.zset.columns, delta.sums
        )

    def stored(self, batch: Batch) -> Batch:
        """Without the key columns: a reader of a group already knows its key."""
        return Batch(batch.order, batch.key_lo, None, batch.weights, (), batch.sums)

    def answers(self, before: Sequence[Batch], batch: Batch, groups: Hashes) -> Answers:
        return self.read(before, batch, groups)[0]

    def read(self, before: Sequence[Batch], batch: Batch, groups: Hashes) -> tuple[Answers, Weights, Weights]:
        """The answers, and the number of rows of each group before and after the step."""
        rows, sums = lookup_sums(before, groups)
        if len(batch) == 0:
            old = self._results(rows, sums)
            return Answers(old, old), rows, rows
        added, changes = _of_groups(batch, groups)
        after = rows + added
        # Both results in one call: most of the cost is per call.
        zero, size = np.zeros(len(rows), np.int64), len(rows)
        both = {
            name: np.concatenate((before_, before_ + changes[name] if name in changes else before_))
            for name in dict.fromkeys((*sums, *changes))
            for before_ in (sums.get(name, zero),)
        }
        results = self._results(np.concatenate((rows, after)), both)
        answers = Answers([r.slice(0, size) for r in results], [r.slice(size) for r in results])
        return answers, rows, after

    def _results(self, rows: Weights, sums: Sums) -> list[pa.Array]:
        number, places = self._places
        by_total: list[dict[str, Weights]] = [{} for _ in range(number)]
        for name, total in sums.items():
            position, _, column = name.partition(".")
            by_total[int(position)][column] = total
        return [
            function.result(rows, [by_total[i] for i in place])
            for function, place in zip(self.functions, places, strict=True)
        ]

    @cached_property
    def _places(self) -> tuple[int, list[list[int]]]:
        """How many totals there are, and which of them each function reads."""
        totals = totals_of(self.functions)
        place = {total: i for i, total in enumerate(totals)}
        return len(totals), [[place[total] for total in function.totals] for function in self.functions]

    def __str__(self) -> str:
        return ", ".join(map(str, self.functions))


def _of_groups(batch: Batch, groups: Hashes) -> tuple[Weights, Sums]:
    """The entries of a batch for each group; it usually has exactly these groups."""
    if np.array_equal(batch.order, groups.hi) and np.array_equal(batch.key_lo, groups.lo):
        return batch.weights, batch.sums
    return lookup_sums([batch], groups)
