"""Runs one operator alone, step after step, as a worker would: what it stages is visible in the next step.

What goes in are changes of plain Python rows; what comes out is read back as a reference Z-set, to be
compared with a recomputation from scratch on everything that went in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from penstock.circuit.delta import Arranged, Delta, delta_of
from penstock.circuit.operator import Flow, Operator
from penstock.trace import Batch, Spine
from penstock.zset import Hashes, HashSeed, ReferenceZSet, ZSet, hash_columns

SEED = HashSeed(0x0F1E2D3C4B5A6978, 0x1122334455667788)

Rows = Sequence[tuple[Any, ...]]
Change = list[tuple[tuple[Any, ...], int]]


class Alone:
    """An operator with its arrangements. ``opening`` is for the step in which new state is filled."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.seed = SEED
        self.opening = False
        self.counters: Counter[str] = Counter()
        self.owner = True
        self.spines: dict[int, Spine] = defaultdict(Spine)
        self._staged: list[tuple[int, Batch]] = []

    def step(self, *inputs: Flow) -> Flow:
        """One accepted step."""
        flow = self.operator.step(inputs, self)
        for slot, batch in self._staged:
            self.spines[slot].insert(batch)
        self._staged = []
        return flow

    def before(self, slot: int) -> Sequence[Batch]:
        return () if self.opening else self.spines[slot].batches

    def stored(self, slot: int) -> Sequence[Batch]:
        return self.spines[slot].batches

    def stage(self, slot: int, batch: Batch) -> None:
        assert slot < self.operator.slots, "the operator does not declare this arrangement"
        self._staged.append((slot, batch))

    def owns(self, key: Hashes) -> bool:
        return self.owner

    def count(self, what: str, number: int) -> None:
        self.counters[what] += number


def delta(schema: pa.Schema, change: Change, key: Sequence[int] | None = None) -> Delta:
    """A change as a delta, indexed by the columns ``key`` if given."""
    columns = tuple(pa.array([row[i] for row, _ in change], field.type) for i, field in enumerate(schema))
    zset = ZSet(schema, columns, np.array([weight for _, weight in change], np.int64))
    keys = None if key is None else hash_columns([columns[i] for i in key], len(zset), SEED)
    return Delta(zset, keys)


def colliding(part: Delta) -> Delta:
    """The same rows with keys that all agree in the half of the hash that batches are sorted by."""
    assert part.keys is not None
    return Delta(part.zset, Hashes(part.keys.hi & np.uint64(3), part.keys.lo), part.sums)


def meaning(flow: Flow) -> ReferenceZSet:
    """What a flow changes."""
    return ReferenceZSet.of(delta_of(flow).zset)


def contents(flow: Flow) -> ReferenceZSet:
    """Everything an arranged stream holds after the step."""
    assert isinstance(flow, Arranged)
    batches = [*flow.before, flow.batch]
    parts = [ZSet(flow.schema, batch.values, batch.weights) for batch in batches if len(batch)]
    return ReferenceZSet.of(ZSet.concat(flow.schema, parts))


def reference(rows: Rows) -> ReferenceZSet:
    """Rows, each as often as it is listed."""
    return ReferenceZSet.of_rows((row, 1) for row in rows)


def changes_of(history: Sequence[Rows]) -> list[Change]:
    """The change that leads from each content to the next, starting from nothing; not consolidated."""
    previous: Rows = ()
    found: list[Change] = []
    for rows in history:
        found.append([*((row, -1) for row in previous), *((row, 1) for row in rows)])
        previous = rows
    return found


def histories(row: st.SearchStrategy[tuple[Any, ...]], most: int = 10) -> st.SearchStrategy[list[Rows]]:
    """Contents of a table after each of a few steps."""
    return st.lists(st.lists(row, max_size=most), min_size=1, max_size=5)


def check_follows(
    operator: Operator,
    history: Sequence[Rows],
    expected: Callable[[ReferenceZSet], ReferenceZSet],
    feed: Callable[[Change], Sequence[Flow]],
) -> None:
    """After every step the sum of all output is what ``expected`` makes of all input."""
    alone = Alone(operator)
    total = ReferenceZSet({})
    for rows, change in zip(history, changes_of(history), strict=True):
        total = total.add(meaning(alone.step(*feed(change))))
        assert total == expected(reference(rows))
