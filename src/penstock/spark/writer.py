"""A worker's commits, written by a second thread, so that the next steps need not wait for the disk."""

from __future__ import annotations

import threading
from typing import Any

from penstock.spark.allocation import give_back_excess
from penstock.spark.faults import describe_fault
from penstock.spark.runtime import StepWorker

__all__ = ["CommitWriter"]


class CommitWriter:
    """Writes the state of ``worker`` as it is now, to become part of ``version``."""

    def __init__(self, worker: StepWorker, index: int, version: int, memory: int | None = None) -> None:
        self._index, self._memory = index, memory
        self._snapshot = worker.snapshot(version)
        self._outcome: dict[str, Any] = {}
        self._told = False
        self._thread = threading.Thread(target=self._write, name="penstock-commit", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        try:
            self._outcome = self._snapshot.write().to_json()
            give_back_excess(self._memory)
        except Exception as error:  # whatever it is, the driver must know
            self._outcome = {"fault": describe_fault(error), "worker": self._index}

    def wait(self) -> dict[str, Any]:
        """What was written, for the wire, or ``{"fault": …}``, once writing has ended."""
        self._thread.join()
        return self._outcome

    def news(self) -> dict[str, Any] | None:
        """The same, once, if writing has ended."""
        if self._told or self._thread.is_alive():
            return None
        self._told = True
        return self._outcome
