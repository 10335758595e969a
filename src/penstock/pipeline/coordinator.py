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
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.store import PipelineStore
from penstock.schedule.worker import STEP_COLUMN
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
        self.step = store.step
        self.times: dict[int, int] = dict(store.body["times"])
        self.restarts = 0
        self.metrics = Metrics.of(store.body["pipeline"], program)
        self._committed_at = time.monotonic()

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
        opening = sorted(set(self.program.slots) - set(self.store.body["arrangements"]))
        self.runtime.open({**self.store.body, "version": self.store.version, "opening": opening})
        if opening:
            self.runtime.step(self.step, [])
            self.runtime.accept()
            self.times.setdefault(self.step, time.time_ns() // 1000)
        if opening or self.store.body["catalog"] != self._catalog:
            self._commit()
        for step, buffer in self.store.recorded(self.step):
            inputs = StepInput.from_buffer(buffer, self.program)
            self.runtime.step(step, inputs.messages(self.program, self.layout))
            self._accept(step, inputs.at_us)
            if self.runtime.commits_every_step:
                self._commit()

    def _accept(self, step: int, at_us: int) -> None:
        self.runtime.accept()
        self.step = step
        self.times[step] = at_us

    def _recover(self, loss: WorkerLost) -> None:
        """The next gang, at the newest version, with the steps since run again."""
        for attempt in range(1, RESTARTS_IN_A_ROW + 1):
            self.restarts += 1
            _log.warning("a worker was lost (%s); starting the next gang, attempt %d", loss, attempt)
            try:
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
        self._commit_what_is_left()
        messages = inputs.messages(self.program, self.layout)
        record: list[Part] = []

        def meanwhile() -> None:
            record.extend(inputs.to_parts(self.program))
            self.metrics.settle()

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
            self._accept(step, inputs.at_us)
        except WorkerLost as loss:
            self._recover(loss)  # the step is in the log: it happens there
        logged = time.perf_counter()
        due = self.runtime.commits_every_step or self._since_commit_s() >= self._commit_interval_s
        if due:
            self._commit_after(step)
        ended = time.perf_counter()
        report = StepReport(
            step=step,
            input_rows=inputs.rows,
            changed_rows=_total(reply["views"] for reply in replies),
            duration_ms={
                "step": (ended - started) * 1000,
                "run": (ran - started) * 1000,
                "log": (logged - ran) * 1000,
                "commit": (ended - logged) * 1000 if due else 0.0,
                "exchange": sum(reply.get("exchange_ms", 0.0) for reply in replies) / len(replies),
            },
            absent_keys={
                name.removeprefix("absent_keys:"): count
                for name, count in _total(reply["counters"] for reply in replies).items()
                if name.startswith("absent_keys:")
            },
            committed=due,
        )
        self.metrics.stepped(report, replies, inputs.at_us, inputs.rows_by_table)
        return report

    def _since_commit_s(self) -> float:
        return time.monotonic() - self._committed_at

    def _commit_after(self, step: int) -> None:
        """A commit whose failure must not look like the failure of the step."""
        try:
            self.commit()
        except PenstockError as error:
            raise PipelineError(
                f"step {step} is done and safe in the input log, but no version could be made of it: {error}"
            ) from error

    def _commit_what_is_left(self) -> None:
        """A runtime that keeps nothing in memory cannot go on from, or show, a step that no version has: if
        the commit after it failed, it is made now."""
        if self.runtime.commits_every_step and self.step > self.store.step:
            self.commit()

    def commit(self) -> None:
        """Makes the state as of the last accepted step a version."""
        try:
            self._commit()
        except WorkerLost as loss:
            self._recover(loss)
            self._commit()

    def _commit(self) -> None:
        version = self.store.version + 1
        replies = self.runtime.commit(version)
        self.metrics.committed(replies)
        body = self._body(replies)
        self.store.commit(body)
        self.runtime.committed(version, body)
        self._committed_at = time.monotonic()

    def _body(self, replies: list[dict[str, Any]]) -> dict[str, Any]:
        """The manifest of the next version, from what the workers wrote."""
        written = {slot for reply in replies for slot in reply["arrangements"]}
        stored = self.store.body["arrangements"]
        arrangements: dict[str, list[Any]] = {
            slot: [] if slot in written else stored.get(slot, []) for slot in self.program.slots
        }
        changes: dict[str, list[Any]] = {view: [] for view in self.program.circuit.views}
        oldest = self.step - self._retained_steps
        for view, node in self.program.circuit.views.items():
            if self.program.circuit.nodes[node].slot(0) in stored:  # not another view of the same name
                refs = self.store.body["changes"].get(view, ())
                changes[view] += [ref for ref in refs if ref["last"] > oldest]
        for reply in replies:
            for slot, refs in reply["arrangements"].items():
                arrangements[slot] += refs
            for view, ref in reply["changes"].items():
                changes[view].append({**ref, "first": self.store.step, "last": self.step})
        self.times = {step: at for step, at in self.times.items() if step > oldest}
        layout = {"workers": self.layout.workers, "assignment": list(self.layout.assignment)}
        return {
            **self.store.body,
            "step": self.step,
            "arrangements": arrangements,
            "changes": changes,
            "times": sorted(self.times.items()),
            "catalog": self._catalog,
            "layout": layout,
            "metrics": self.metrics.to_json(),
        }

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
            if self.step > self.store.step:
                self.commit()
        finally:
            self.kill()

    def kill(self) -> None:
        """Lets the workers go without a commit: the log has what the last version lacks."""
        self.runtime.close()
        self.store.close()


def _total(parts: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            total[name] = total.get(name, 0) + int(number)
    return total
