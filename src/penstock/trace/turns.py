"""Turns: steps go before merges that run beside them.

A merge in the background proceeds piece by piece. Between two pieces it waits while a step is running, but
not for long: then one piece is its turn even if steps follow one another without a break. So a step is
delayed by at most the rest of one piece, and merging never stops. When somebody waits for the merge itself,
because too many batches have piled up, it does not wait for anybody.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Turns"]

LONGEST_WAIT_S = 0.05


class Turns:
    """Shared by the thread that runs steps and the one that merges."""

    def __init__(self) -> None:
        self._may_merge = threading.Event()
        self._may_merge.set()
        self._is_step = False
        self._hurried = 0

    def step_began(self) -> None:
        """From now on merges wait."""
        self._is_step = True
        self._may_merge.clear()

    def step_ended(self) -> None:
        """Until now."""
        self._is_step = False
        self._may_merge.set()

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """While the caller waits for a merge, merges do not wait for steps."""
        self._hurried += 1
        self._may_merge.set()
        try:
            yield
        finally:
            self._hurried -= 1
            if self._is_step and not self._hurried:
                self._may_merge.clear()

    def give_way(self) -> None:
        """To be called by a merge between two pieces."""
        self._may_merge.wait(LONGEST_WAIT_S)
