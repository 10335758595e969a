"""An operator's view of its worker while it runs: its own arrangements, and where to stage additions.

Nothing that an operator stages is part of an arrangement before the step is accepted. In a fill only new
arrangements take anything: an operator that runs because something new needs its output keeps what it has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.circuit.circuit import Node
from penstock.circuit.layout import Layout
from penstock.schedule.fill import Fill
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
    fill: Fill | None = None
    """If the step fills new arrangements: how."""
    staged: list[tuple[str, Batch]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def keeps(self, slot: str) -> bool:
        """Whether the step adds to an arrangement."""
        return self.fill is None or slot in self.fill.slots


class NodeState:
    """The :class:`~penstock.circuit.operator.State` of one node in one step."""

    def __init__(self, scope: StepScope, node: Node) -> None:
        self._scope, self._node = scope, node
        self.seed, self.opening = scope.seed, scope.fill is not None

    def before(self, slot: int) -> Sequence[Batch]:
        return () if self.opening else self.stored(slot)

    def stored(self, slot: int) -> Sequence[Batch]:
        return self._scope.arrangements.spine(self._node.slot(slot)).batches

    def stage(self, slot: int, batch: Batch) -> None:
        name = self._node.slot(slot)
        if len(batch) and self._scope.keeps(name):
            self._scope.staged.append((name, batch))

    def owns(self, key: Hashes) -> bool:
        return int(self._scope.layout.workers_of(key)[0]) == self._scope.worker

    def count(self, what: str, number: int) -> None:
        if number:
            self._scope.counters[what] += number
