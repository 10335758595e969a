"""Versions: the state after a step, made durable, while the next steps go on.

A version is begun after a step: every worker writes the batches that it holds then, in a thread of its own.
Its reply to a later step brings what it wrote; when all have, the manifest is published by a thread of the
driver, and adopted when that is done. So a step waits for a version neither in the workers nor here. At most
one version is in the making: the next is begun after it.

Until its manifest is there a version does not exist: a crash goes back to the one before, and to the input
log, which keeps the steps since. What can go wrong while it is made therefore harms nothing, and is raised
after a step that is itself safe.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.store import PipelineStore
from penstock.spark.runtime import Runtime

__all__ = ["Moment", "Versions"]


@dataclass(frozen=True)
class Moment:
    """What a version is made of: the last step in it, when each step took place, and whether rows have come
    to a table that is not static."""

    step: int
    times: Mapping[int, int]
    moving: bool


class Versions:
    """Makes versions of the state that ``runtime`` holds. One thread at a time may call it."""

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
        self._publishing: tuple[Mapping[str, Any], Future[None]] | None = None
        self._cleaning: Future[None] | None = None
        self._at = time.monotonic()

    @property
    def age_s(self) -> float:
        """Seconds since the last version was begun."""
        return time.monotonic() - self._at

    @property
    def in_the_making(self) -> bool:
        """Whether a version was begun that is not there yet."""
        return self._begun is not None

    def make(self, moment: Moment) -> None:
        """Makes a version of the state as it is, before returning. One that was begun is finished first."""
        self.finish()
        self._at = time.monotonic()
        try:
            self._publish(moment, self._runtime.commit(self._store.version + 1))
            self._adopt()
            self._cleaned()
        except BaseException:
            self.forget()
            raise

    def begin(self, moment: Moment) -> None:
        """Begins a version of the state as it is, if none is in the making."""
        if self._begun is None:
            self._cleaned()
            self._at = time.monotonic()
            self._runtime.begin_commit(self._store.version + 1)
            self._begun = moment

    def advance(self) -> None:
        """Does what can be done for the version in the making without waiting."""
        try:
            if self._publishing is not None:
                if self._publishing[1].done():
                    self._adopt()
            elif self._begun is not None and (replies := self._runtime.written()) is not None:
                self._publish(self._begun, replies)
        except BaseException:
            self.forget()
            raise

    def finish(self) -> None:
        """Waits until the version in the making is there, if there is one."""
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
        """Gives the version in the making up, unless it is published already."""
        publishing, self._publishing, self._begun = self._publishing, None, None
        if publishing is not None and publishing[1].exception() is None:
            self._store.adopt(publishing[0])

    def close(self) -> None:
        """Ends the thread; what it is doing it finishes."""
        self.forget()
        self._pool.shutdown()

    def _publish(self, moment: Moment, replies: list[dict[str, Any]]) -> None:
        self._metrics.committed(replies)
        body = self._body(moment, replies)
        self._publishing = (body, self._pool.submit(self._store.publish, body))

    def _adopt(self) -> None:
        assert self._publishing is not None
        body, published = self._publishing
        published.result()
        self._publishing = self._begun = None
        kept = self._store.adopt(body)
        self._runtime.committed(self._store.version, body)
        self._cleaning = self._pool.submit(self._store.clean, kept)

    def _cleaned(self) -> None:
        cleaning, self._cleaning = self._cleaning, None
        if cleaning is not None:
            cleaning.result()

    def _body(self, moment: Moment, replies: list[dict[str, Any]]) -> dict[str, Any]:
        """The manifest of the next version, from what the workers wrote."""
        program, store = self._program, self._store
        written = {slot for reply in replies for slot in reply["arrangements"]}
        stored = store.body["arrangements"]
        arrangements: dict[str, list[Any]] = {
            slot: [] if slot in written else stored.get(slot, []) for slot in program.slots
        }
        changes: dict[str, list[Any]] = {view: [] for view in program.circuit.views}
        oldest = moment.step - self._retained_steps
        for view, node in program.circuit.views.items():
            if program.circuit.nodes[node].slot(0) in stored:  # not another view of the same name
                refs = store.body["changes"].get(view, ())
                changes[view] += [ref for ref in refs if ref["last"] > oldest]
        for reply in replies:
            for slot, refs in reply["arrangements"].items():
                arrangements[slot] += refs
            for view, ref in reply["changes"].items():
                changes[view].append({**ref, "first": store.step, "last": moment.step})
        layout = {"workers": self._layout.workers, "assignment": list(self._layout.assignment)}
        return {
            **store.body,
            "step": moment.step,
            "arrangements": arrangements,
            "changes": changes,
            "times": sorted((step, at) for step, at in moment.times.items() if step > oldest),
            "moving": moment.moving,
            "catalog": self._catalog,
            "layout": layout,
            "metrics": self._metrics.to_json(),
        }
