"""What an operator sees of its worker while it runs: its own arrangements, and where to put what is new.

Nothing that an operator stages is part of an arrangement before the step is accepted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.circuit.circuit import Node
from penstock.circuit.layout import Layout
from penstock.schedule.state import Arrangements
from penstock.trace import Batch
from penstock.zset import Hashes, HashSeed

__all__ = ["NodeState", "StepScope"]


@dataclass(frozen=True)
class StepScope:
    """What the nodes of one worker share in one step."""

    seed: HashSeed
    layout: Layout
    worker: int
    arrangements: Arrangements
    opening: bool
    staged: list[tuple[str, Batch]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class NodeState:
    """The :class:`~penstock.circuit.operator.State` of one node in one step."""

    def __init__(self, scope: StepScope, node: Node) -> None:
        self._scope, self._node = scope, node
        self.seed, self.opening = scope.seed, scope.opening

    def before(self, slot: int) -> Sequence[Batch]:
        return () if self.opening else self.stored(slot)

    def stored(self, slot: int) -> Sequence[Batch]:
        return self._scope.arrangements.spine(self._node.slot(slot)).batches

    def stage(self, slot: int, batch: Batch) -> None:
        if len(batch):
            self._scope.staged.append((self._node.slot(slot), batch))

    def owns(self, key: Hashes) -> bool:
        return int(self._scope.layout.workers_of(key)[0]) == self._scope.worker

    def count(self, what: str, number: int) -> None:
        if number:
            self._scope.counters[what] += number
