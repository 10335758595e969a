"""Versions: the state after a step, written durably in the background while the next steps run.

A version is started after a step: every worker writes the batches that it holds then, in a separate thread.
Its reply to a later step carries the references; when all have arrived, a driver thread publishes the
manifest, and the version is adopted when that is done. So a step waits for a version neither in the workers
nor here. At most one version is in progress at a time.

Until its manifest is published a version does not exist: a crash goes back to the one before, and to the
input log, which keeps the steps since. An error while writing a version fails no step: the version is late.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import StorageError
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.store import PipelineStore
from penstock.schedule.opening import Opening, Written
from penstock.spark.runtime import Runtime
from penstock.storage import (
    BatchRef,
    ChangeSegment,
    PageRef,
    StoredLayout,
    Version,
    sorted_refs,
    write_metrics,
)

__all__ = ["Moment", "Versions"]

METRICS_INTERVAL_S = 1.0
"""Metrics are stored with a version, but not more often than this: they are many more bytes than a step."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Moment:
    """What a version contains besides the state: the last step, the time of each step, and whether any table
    that is not static has received rows."""

    step: int
    times: Mapping[int, int]
    static_frozen: bool


class Versions:
    """Makes versions of the state that ``runtime`` holds. Not thread-safe."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        store: PipelineStore,
        runtime: Runtime,
        metrics: Metrics,
        *,
        catalog: Mapping[str, Any],
        retained_steps: int,
    ) -> None:
        self._program, self._layout, self._store, self._runtime = program, layout, store, runtime
        self._metrics, self._catalog, self._retained_steps = metrics, catalog, retained_steps
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="penstock-version")
        self._begun: Moment | None = None
        self._publishing: Future[None] | None = None
        # publishing it raised an error, and its outcome has not been checked since
        self._is_unsure = False
        self._cleaning: Future[None] | None = None
        self._at = time.monotonic()
        self._metrics_at = -math.inf

    @property
    def age_s(self) -> float:
        """Seconds since the last version was started."""
        return time.monotonic() - self._at

    @property
    def in_the_making(self) -> bool:
        """Whether a version was started and is not complete yet."""
        return self._begun is not None

    def make(self, moment: Moment) -> None:
        """Makes a version of the current state before returning. One in progress is finished first."""
        self.finish()
        self._at = time.monotonic()
        try:
            self._look_for_unsure()
            self._publish(moment, self._runtime.commit(self._store.version.number + 1))
            self._adopt()
            self._cleaned()
        except BaseException:
            self.forget()
            raise

    def begin(self, moment: Moment) -> None:
        """Starts a version of the current state, if none is in progress."""
        if self._begun is None:
            self._cleaned()
            self._at = time.monotonic()
            self._look_for_unsure()
            self._runtime.begin_commit(self._store.version.number + 1)
            self._begun = moment

    def advance(self) -> None:
        """Advances the version in progress as far as possible without waiting."""
        try:
            if self._publishing is not None:
                if self._publishing.done():
                    self._adopt()
            elif self._begun is not None and (replies := self._runtime.written()) is not None:
                self._publish(self._begun, replies)
        except BaseException:
            self.forget()
            raise

    def finish(self) -> None:
        """Waits until the version in progress is complete, if there is one."""
        try:
            if self._begun is not None and self._publishing is None:
                self._publish(self._begun, self._runtime.finish_commit())
            if self._publishing is not None:
                self._adopt()
            self._cleaned()
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Abandons the version in progress, unless it is already published."""
        publishing, self._publishing, self._begun = self._publishing, None, None
        if publishing is None:
            return
        if publishing.exception() is None:
            self._take()
        else:
            self._is_unsure = True
            with suppress(StorageError):  # then the next version starts by checking again
                self._look_for_unsure()

    def close(self) -> None:
        """Ends the thread, after what it is doing."""
        try:
            self.forget()
        finally:
            self._pool.shutdown()

    def _look_for_unsure(self) -> None:
        """A version whose publishing raised an error may exist anyway: perhaps only its last sync failed."""
        if self._is_unsure:
            if self._store.is_published():
                self._take()
            self._is_unsure = False

    def _take(self) -> None:
        self._store.adopt()
        self._runtime.committed(Opening.of(self._store.version))

    def _publish(self, moment: Moment, replies: Sequence[Written]) -> None:
        self._metrics.committed(replies)
        version = self._next(moment, replies)
        self._publishing = self._pool.submit(self._store.publish, version)

    def _adopt(self) -> None:
        assert self._publishing is not None
        self._publishing.result()
        self._publishing = self._begun = None
        self._take()
        try:
            self._store.rotate_log()
        except StorageError as problem:
            _log.warning(
                "version %d is complete, but the log could not be rotated: %s",
                self._store.version.number,
                problem,
            )
        self._cleaning = self._pool.submit(self._clean, self._metrics.to_json())

    def _cleaned(self) -> None:
        cleaning, self._cleaning = self._cleaning, None
        try:
            if cleaning is not None:
                cleaning.result()
        except StorageError as problem:
            _log.warning(
                "version %d is complete, but old files could not be deleted: %s",
                self._store.version.number,
                problem,
            )

    def _next(self, moment: Moment, replies: Sequence[Written]) -> Version:
        """The next version, from what the workers wrote."""
        before, oldest = self._store.version, moment.step - self._retained_steps
        pages, changes = self._retained(oldest)
        changes += [
            ChangeSegment(reply.changes.segment, before.step, moment.step, reply.changes.blocks)
            for reply in replies
            if reply.changes is not None
        ]
        return replace(
            self._store.next_version(),
            step=moment.step,
            arrangements=self._arrangements(replies),
            pages=tuple(pages),
            changes=tuple(changes),
            changes_after=max(before.changes_after, oldest),
            times=tuple(sorted((step, at) for step, at in moment.times.items() if step > oldest)),
            static_frozen=moment.static_frozen,
            catalog=self._catalog,
            layout=StoredLayout(self._layout.workers, tuple(self._layout.assignment)),
        )

    def _arrangements(self, replies: Sequence[Written]) -> dict[str, tuple[BatchRef, ...]]:
        written: dict[str, list[BatchRef]] = {}
        for reply in replies:
            for slot, refs in reply.arrangements.items():
                written.setdefault(slot, []).extend(refs)
        stored = self._store.version.arrangements
        return {
            slot: sorted_refs(written[slot]) if slot in written else stored.get(slot, ())
            for slot in self._program.slots
        }

    def _retained(self, oldest: int) -> tuple[list[PageRef], list[ChangeSegment]]:
        """Where the next version has the changes that it retains, of the views that there still are."""
        before, circuit = self._store.version, self._program.circuit
        if set(before.arrangements) == set(self._program.slots):
            pages = [page for page in before.pages if page.last > oldest]
            return pages, [found for found in before.changes if found.last > oldest]
        # Every view has an arrangement. One that is new here may have the name of one that was there before.
        views = {v for v, node in circuit.views.items() if circuit.nodes[node].slot(0) in before.arrangements}
        parts = [found.of_views(views) for found in self._store.changes() if found.last > oldest]
        return [], [found for found in parts if found.blocks]

    def _clean(self, metrics: Mapping[str, Any]) -> None:
        """Deletes what no version needs, and stores the metrics if they were not stored just now."""
        self._store.clean()
        if time.monotonic() - self._metrics_at >= METRICS_INTERVAL_S:
            write_metrics(self._store.backend, self._store.version.number, metrics)
            self._metrics_at = time.monotonic()

    def store_metrics(self) -> None:
        """Stores the metrics as they are now: after a commit that somebody asked for, and when a run ends."""
        try:
            write_metrics(self._store.backend, self._store.version.number, self._metrics.to_json())
        except StorageError as problem:
            _log.warning("the metrics of the run could not be stored: %s", problem)
