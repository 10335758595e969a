"""The coordinator: takes workers through steps and versions, and brings them back after a crash.

A step is run by the workers, its input is made durable, and only then is it accepted and its output can
be seen. A step that fails on bad data is forgotten everywhere and its number is used again. Every so
often a commit makes the state durable as a new version; a crash goes back to the last version and runs
the logged steps again, which gives the same output because a step's input is fixed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import PenstockError, PipelineError, WorkerLost
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.reports import StepReport
from penstock.pipeline.standing import StandingTables
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.versions import Moment, Versions
from penstock.schedule.change_log import STEP_COLUMN
from penstock.spark.runtime import Runtime
from penstock.storage import Part
from penstock.zset import ZSet

__all__ = ["Coordinator"]

RESTARTS_IN_A_ROW = 3

_log = logging.getLogger(__name__)


class Coordinator:
    """Runs ``program`` on ``runtime`` with the state in ``store``."""

    def __init__(
        self,
        program: Program,
        layout: Layout,
        store: PipelineStore,
        runtime: Runtime,
        *,
        catalog: Mapping[str, Any],
        commit_interval_s: float,
        retained_steps: int,
    ) -> None:
        self.program, self.layout, self.store, self.runtime = program, layout, store, runtime
        self._catalog = catalog
        self._commit_interval_s = commit_interval_s
        self._retained_steps = retained_steps
        self._problem: PenstockError | None = None
        self.step = store.step
        self.times: dict[int, int] = dict(store.body["times"])
        self.standing = StandingTables.of(program, store.body)
        self.restarts = 0
        self.metrics = Metrics.of(store.body["pipeline"], program)
        self._versions = Versions(
            *(program, layout, store, runtime, self.metrics), catalog=catalog, retained_steps=retained_steps
        )

    # ---- opening and recovery ---------------------------------------------------------------------

    def open(self) -> None:
        """Starts the workers at the newest version and runs the logged steps since."""
        self.store.open_log()
        try:
            self._bring_up()
        except WorkerLost as loss:
            self._recover(loss)

    def has_logged_steps(self) -> bool:
        """Whether the input log holds steps that the newest version lacks."""
        self.store.open_log()
        return any(True for _ in self.store.recorded(self.store.step))

    def _bring_up(self) -> None:
        """Workers at the newest version, arrangements that it lacks filled from the tables as they are there
        and made a version at once, then the logged steps."""
        self.step = self.store.step
        self.standing = StandingTables.of(self.program, self.store.body)
        opening = sorted(set(self.program.slots) - set(self.store.body["arrangements"]))
        self.runtime.open({**self.store.body, "version": self.store.version, "opening": opening})
        if opening:
            self.runtime.step(self.step, [])
            self.runtime.accept()
            self.times.setdefault(self.step, time.time_ns() // 1000)
        if opening or self.store.body["catalog"] != self._catalog:
            self._versions.make(self._moment())
        for step, buffer in self.store.recorded(self.step):
            inputs = StepInput.from_buffer(buffer, self.program)
            self.runtime.step(step, inputs.messages(self.program, self.layout))
            self._accept(step, inputs)
            if self.runtime.commits_every_step:
                self._versions.make(self._moment())

    def _accept(self, step: int, inputs: StepInput) -> None:
        self.runtime.accept()
        self.step = step
        self.times[step] = inputs.at_us
        self.standing = self.standing.after(inputs.rows_by_table)
        self.times.pop(step - self._retained_steps, None)

    def _recover(self, loss: WorkerLost) -> None:
        """The next gang, at the newest version, with the steps since run again."""
        for attempt in range(1, RESTARTS_IN_A_ROW + 1):
            self.restarts += 1
            _log.warning("a worker was lost (%s); starting the next gang, attempt %d", loss, attempt)
            try:
                self._versions.forget()
                self.runtime.close()
                self._bring_up()
                return
            except WorkerLost as again:
                loss = again
        self.runtime.close()
        raise PipelineError(
            f"workers were lost {RESTARTS_IN_A_ROW} times in a row: {loss}. "
            "The state is safe in the storage; look at the executors' logs, then run the pipeline again"
        ) from loss

    # ---- steps ------------------------------------------------------------------------------------

    def run_step(self, inputs: StepInput) -> StepReport:
        """One step. Raises what a worker raised on bad data; then the step did not happen."""
        started = time.perf_counter()
        self.standing.check(inputs.rows_by_table)
        self._commit_what_is_left()
        messages = inputs.messages(self.program, self.layout)
        record: list[Part] = []

        def meanwhile() -> None:
            record.extend(inputs.to_parts(self.program))
            self.metrics.settle()
            self._advance()

        try:
            replies = self.runtime.step(self.step + 1, messages, meanwhile)
        except WorkerLost as loss:
            self._recover(loss)
            replies = self.runtime.step(self.step + 1, messages)
        step = self.step + 1
        ran = time.perf_counter()
        try:
            self.store.record(step, record or inputs.to_parts(self.program))
        except BaseException:
            with suppress(WorkerLost):  # then the next step finds out; what matters now is the record
                self.runtime.abort()
            raise
        try:
            self._accept(step, inputs)
        except WorkerLost as loss:
            self._recover(loss)  # the step is in the log: it happens there
        logged = time.perf_counter()
        self._make_version_when_due()
        ended = time.perf_counter()
        report = StepReport(
            step=step,
            input_rows=inputs.rows,
            changed_rows=_total(reply["views"] for reply in replies),
            duration_ms={
                "step": (ended - started) * 1000,
                "run": (ran - started) * 1000,
                "log": (logged - ran) * 1000,
                "commit": (ended - logged) * 1000,
                "exchange": sum(reply.get("exchange_ms", 0.0) for reply in replies) / len(replies),
            },
            absent_keys={
                name.removeprefix("absent_keys:"): count
                for name, count in _total(reply["counters"] for reply in replies).items()
                if name.startswith("absent_keys:")
            },
            committed=self.store.step == step,
        )
        self.metrics.stepped(report, replies, inputs.at_us, inputs.rows_by_table)
        return report

    # ---- versions ---------------------------------------------------------------------------------

    def _moment(self) -> Moment:
        return Moment(self.step, dict(self.times), self.standing.moving)

    def _advance(self) -> None:
        """Goes on with the version in the making while the workers run a step, which must not fail for it."""
        try:
            self._versions.advance()
        except PenstockError as problem:
            self._problem = problem

    def _make_version_when_due(self) -> None:
        """Begins a version, or makes one if there has to be one after every step. That it could not be made
        must not look like the failure of the step."""
        try:
            if self._problem is not None:
                problem, self._problem = self._problem, None
                raise problem
            if self.runtime.commits_every_step or self._commit_interval_s <= 0:
                self.commit()
            elif self._versions.age_s >= self._commit_interval_s:
                self._begin_version()
        except PenstockError as error:
            raise PipelineError(
                f"step {self.step} is done and safe in the input log, but no version could be made: {error}"
            ) from error

    def _begin_version(self) -> None:
        try:
            self._versions.begin(self._moment())
        except WorkerLost as loss:
            self._recover(loss)

    def _commit_what_is_left(self) -> None:
        """A runtime that keeps nothing in memory cannot go on from, or show, a step that no version has: if
        the commit after it failed, it is made now."""
        if self.runtime.commits_every_step and self.step > self.store.step:
            self.commit()

    def commit(self) -> None:
        """Makes the state as of the last accepted step a version."""
        try:
            self._versions.make(self._moment())
        except WorkerLost as loss:
            self._recover(loss)
            self._versions.make(self._moment())

    def settle(self) -> None:
        """Waits until the workers have merged what steps left for later."""
        try:
            self.runtime.settle()
        except WorkerLost as loss:
            self._recover(loss)
            self.runtime.settle()

    def rest(self) -> None:
        """There is nothing to do at the moment: a version in the making is finished."""
        if self._versions.in_the_making:
            try:
                self._versions.finish()
            except WorkerLost as loss:
                self._recover(loss)

    # ---- reading ----------------------------------------------------------------------------------

    def read(self, name: str) -> pa.Table:
        """The rows of a table or view with their weights, not yet summed over workers."""
        self._commit_what_is_left()
        try:
            return self.runtime.read(name)
        except WorkerLost as loss:
            self._recover(loss)
            return self.runtime.read(name)

    def recent_changes(self, view: str, since: int) -> pa.Table:
        """The changes of a view after ``since`` that are not in a version yet."""
        self._commit_what_is_left()
        since = max(since, self.store.step)
        if since >= self.step:
            return self._no_changes(view)
        try:
            return self.runtime.changes(view, since)
        except WorkerLost as loss:
            self._recover(loss)
            return self.runtime.changes(view, since)

    def _no_changes(self, view: str) -> pa.Table:
        node = self.program.circuit.nodes[self.program.circuit.views[view]]
        rows = ZSet.empty(node.operator.schema).to_batch()
        return pa.Table.from_batches([rows.append_column(STEP_COLUMN, pa.array([], pa.int64()))])

    def close(self) -> None:
        """Commits what is not yet in a version and lets the workers go."""
        try:
            self.rest()
            if self.step > self.store.step:
                self.commit()
        finally:
            self.kill()

    def kill(self) -> None:
        """Lets the workers go without a commit: the log has what the last version lacks."""
        self.runtime.close()
        self._versions.close()
        self.store.close()


def _total(parts: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            total[name] = total.get(name, 0) + int(number)
    return total
