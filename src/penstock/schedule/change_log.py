"""The changes of views that a worker holds until a version has them.

A change is told for as many steps as the pipeline retains. Those that no manifest names yet can only be told
by the worker that made them; what was written for a version is held until the next version is made, because
only that shows that somebody published the one before.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa

from penstock.zset import ZSet

__all__ = ["STEP_COLUMN", "ChangeLog", "with_step"]

STEP_COLUMN = "_step"


class ChangeLog:
    """Changes by view, step after step."""

    def __init__(self, retained_steps: int) -> None:
        self._retained_steps = retained_steps
        self.clear()

    def clear(self) -> None:
        """Forgets everything: the state was opened anew."""
        self._changes: dict[str, list[tuple[int, pa.RecordBatch]]] = defaultdict(list)
        self._last = -1  # step that was accepted
        self._written = (0, -1)  # the last version that was written, and the last step in it

    def accept(self, step: int, changes: dict[str, ZSet]) -> None:
        """Adds what a step changed; what is too old is nobody's to ask for any more."""
        for view, zset in changes.items():
            if len(zset):
                self._changes[view].append((step, with_step(zset, step)))
        self._last = step
        self._forget(step - self._retained_steps)

    def unwritten(self, version: int) -> dict[str, tuple[pa.RecordBatch, ...]]:
        """What belongs into a version. The same version again means that nobody published what was written
        for it; another one, that somebody did."""
        written, step = self._written
        if version != written:
            self._forget(step)
        self._written = (version, self._last)
        return {view: tuple(part for _, part in parts) for view, parts in self._changes.items() if parts}

    def since(self, view: str, step: int) -> list[pa.RecordBatch]:
        """The changes of a view after a step, as far as they are here."""
        return [part for made, part in self._changes.get(view, ()) if made > step]

    def _forget(self, last: int) -> None:
        """Lets the changes of steps up to ``last`` go."""
        for parts in self._changes.values():
            while parts and parts[0][0] <= last:
                del parts[0]


def with_step(zset: ZSet, step: int) -> pa.RecordBatch:
    """Rows with their weights and the step that changed them."""
    return zset.to_batch().append_column(STEP_COLUMN, pa.array(np.full(len(zset), step, np.int64)))
