"""The coordinator: takes workers through steps and versions, and brings them back after a crash.

A step is run by the workers, its input is made durable, and only then is it accepted and its output can
be seen. A step that fails on bad data is forgotten everywhere and its number is used again. Every so
often a commit makes the state durable as a new version; a crash goes back to the last version and runs
the logged steps again, which gives the same output because a step's input is fixed.

An exception can end any of this at any point (Ctrl-C raises between two byte codes). So the coordinator is
*uncertain* from the moment an operation begins until it is known how it ended, and an operation that finds
it uncertain first throws away everything that is only in memory, workers included, and derives it again from
the newest version and the input log: what is durable decides what happened.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import CorruptionError, InputError, PenstockError, PipelineError, VersionLate, WorkerLost
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.reports import StepReport
from penstock.pipeline.static_tables import StaticTables
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.versions import Moment, Versions
from penstock.schedule.change_log import with_step
from penstock.schedule.opening import Opening
from penstock.spark.runtime import Runtime
from penstock.storage import Part
from penstock.zset import ZSet

__all__ = ["Coordinator"]

RESTARTS_IN_A_ROW = 3

_Answer = TypeVar("_Answer")
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
        self._late: VersionLate | None = None
        self._certain = False
        self.recovering = False
        self.restarts = 0
        self.step = store.step
        self.times: dict[int, int] = {}
        self.static_tables = StaticTables.of(program, store.version)
        self.metrics = Metrics.of(store.version.pipeline, program)
        self._versions = self._new_versions()

    def _new_versions(self) -> Versions:
        return Versions(
            self.program,
            self.layout,
            self.store,
            self.runtime,
            self.metrics,
            catalog=self._catalog,
            retained_steps=self._retained_steps,
        )

    # ---- opening and recovery ---------------------------------------------------------------------

    def open(self) -> None:
        """Starts the workers at the newest version and runs the logged steps since."""
        self.store.open_log()
        try:
            self._bring_up()
        except WorkerLost as loss:
            self._recover(str(loss))
        self._certain = True

    def find_out(self) -> None:
        """If an operation was interrupted, so that nobody knows how it ended: derives from what is durable
        where the pipeline stands, and brings new workers there."""
        if not self._certain:
            self._recover("an operation was interrupted")
            self._certain = True

    def has_logged_steps(self) -> bool:
        """Whether the input log holds steps that the newest version lacks."""
        self.store.open_log()
        return any(True for _ in self.store.recorded(self.store.step))

    def _bring_up(self) -> None:
        """Workers at the newest version, arrangements that it lacks filled from those that it has and made a
        version at once, then the logged steps."""
        self.step = self.store.step
        self.times = dict(self.store.version.times)
        self.static_tables = StaticTables.of(self.program, self.store.version)
        opening = Opening.of(self.store.version, self.program.slots)
        self.runtime.open(opening)
        if opening.missing:
            replies = self.runtime.step(self.step, [])
            self.runtime.accept()
            ran = {node for reply in replies for node in reply["node_ms"]}
            _log.info(
                "filled %d new arrangements; %d of %d operators ran",
                len(opening.missing),
                len(ran),
                len(self.program.circuit.nodes),
            )
            self.times.setdefault(self.step, time.time_ns() // 1000)
        if opening.missing or self.store.version.catalog != self._catalog:
            self._versions.make(self._moment())
        for step, buffer in self.store.recorded(self.step):
            _log.info("replaying step %d of %d", step, self.store.recorded_step)
            inputs = self._logged_input(step, buffer).without_files(self.store.skipped(step))
            self._run_again(step, inputs)
            self._accept(step, inputs)
            if self.runtime.commits_every_step:
                self._versions.make(self._moment())

    def _logged_input(self, step: int, buffer: pa.Buffer) -> StepInput:
        try:
            return StepInput.from_buffer(buffer, self.program)
        except (ValueError, KeyError, OSError, StopIteration, pa.ArrowException) as error:
            raise CorruptionError(
                f"{self.store.log_file_of(step)}: step {step} cannot be read, although its checksum is right "
                f"({error}). Restore {self.store.input_folder}/ from a backup; or see what would be lost, "
                f"and go on without it: penstock recover {self.store.backend.url}"
            ) from error

    def _run_again(self, step: int, inputs: StepInput) -> None:
        try:
            self.runtime.step(step, inputs.messages(self.program, self.layout))
        except InputError as error:
            raise PipelineError(
                f"step {step} was acknowledged and cannot be run again, as it must after a crash: {error}. "
                "See what would be lost without the file, and go on without it: "
                f"penstock recover {self.store.backend.url}"
            ) from error

    def _accept(self, step: int, inputs: StepInput) -> None:
        self.runtime.accept()
        self.step = step
        self.times[step] = inputs.at_us
        self.static_tables = self.static_tables.after(inputs.rows_by_table)
        self.times.pop(step - self._retained_steps, None)

    def _recover(self, reason: str) -> None:
        """The next gang, at the newest version, with the steps since run again. If there is none to be had,
        ``step`` is still the last one that was acknowledged, not the one that the attempt had reached."""
        self.recovering, acknowledged = True, self.step
        try:
            for attempt in range(1, RESTARTS_IN_A_ROW + 1):
                self.restarts += 1
                _log.warning("starting the next gang, attempt %d: %s", attempt, reason)
                try:
                    self._start_over()
                    return
                except WorkerLost as again:
                    reason = str(again)
            self.runtime.close()
        finally:
            self.recovering, self.step = False, max(self.step, acknowledged)
        raise PipelineError(
            f"workers were lost {RESTARTS_IN_A_ROW} times in a row: {reason}. "
            "The state is safe in the storage; look at the executors' logs, then run the pipeline again"
        )

    def _start_over(self) -> None:
        """Derives all that is in memory from what is durable."""
        self._versions.close()
        self.runtime.close()
        self.store.open_log()
        self.store.reread()
        self._versions = self._new_versions()
        self._bring_up()

    @contextmanager
    def _undone_by_an_error(self) -> Iterator[None]:
        """For what leaves everything as it was if it raises an error of ours, other than a lost worker."""
        try:
            yield
        except WorkerLost:
            raise
        except PenstockError:
            self._certain = True
            raise

    def _asked(self, ask: Callable[[], _Answer]) -> _Answer:
        """What the workers say, or if they are lost, the next ones."""
        self.find_out()
        self._certain = False
        try:
            with self._undone_by_an_error():
                answer = ask()
        except WorkerLost as loss:
            self._recover(str(loss))
            with self._undone_by_an_error():
                answer = ask()
        self._certain = True
        return answer

    # ---- steps ------------------------------------------------------------------------------------

    def run_step(self, inputs: StepInput) -> StepReport:
        """One step. An error of ours other than a lost worker means that it did not happen; after any other
        exception it may have, and ``find_out`` tells: then ``step`` is that of the step, or not."""
        started = time.perf_counter()
        self.find_out()
        self.static_tables.check(inputs.rows_by_table)
        self._commit_what_is_left()
        self._certain = False
        replies, record = self._run(inputs)
        ran = time.perf_counter()
        step = self.step + 1
        try:
            self.store.record(step, record)
        except BaseException as error:
            with suppress(WorkerLost):  # then the next step finds out; what matters now is the record
                self.runtime.abort()
            self._certain = isinstance(error, PenstockError) and self.store.log_is_certain
            raise
        accepted = self._accepted(step, inputs)
        logged = time.perf_counter()
        if accepted:
            self._make_version_when_due(soon=any(reply.get("commit_soon") for reply in replies))
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
            late=self.late,
        )
        self.metrics.stepped(report, replies, inputs.at_us, inputs.rows_by_table)
        return report

    def _accepted(self, step: int, inputs: StepInput) -> bool:
        """Accepts a step whose input is in the log, or if the workers are lost, has the next ones run it
        again. If there are none to be had (Spark is gone), the step has happened nevertheless, so this does
        not raise: the next operation tries once more, and it is that one which fails."""
        try:
            self._accept(step, inputs)
        except WorkerLost as loss:
            try:
                self._recover(str(loss))
            except PenstockError as problem:
                _log.warning("step %d is safe in the input log, but workers are gone: %s", step, problem)
                return False
        return True

    def _run(self, inputs: StepInput) -> tuple[list[dict[str, Any]], list[Part]]:
        """Has the workers run a step; their reports, and the step's record for the log."""
        messages = inputs.messages(self.program, self.layout)
        record: list[Part] = []

        def meanwhile() -> None:
            if not inputs.files:  # or the workers have yet to tell what is in them
                record.extend(inputs.to_parts(self.program))
            self.metrics.process_pending()
            self._advance()

        try:
            with self._undone_by_an_error():
                replies = self.runtime.step(self.step + 1, messages, meanwhile)
        except WorkerLost as loss:
            self._recover(str(loss))
            with self._undone_by_an_error():
                replies = self.runtime.step(self.step + 1, messages)
        if not record:
            read = {k: v for reply in replies for k, v in reply.get("file_checksums", {}).items()}
            record.extend(inputs.with_checksums(read).to_parts(self.program))
        return replies, record

    # ---- versions ---------------------------------------------------------------------------------

    @property
    def late(self) -> VersionLate | None:
        """Why the newest version is older than it should be, if it is."""
        return self._late if self._late is not None and self.store.step < self._late.step else None

    def _note_late(self, error: PenstockError) -> VersionLate:
        late = VersionLate(self.step, str(error), in_log=self.store.has_log())
        late.__cause__ = error
        if self.late is None:
            _log.warning("%s", late)
        self._late = late
        return late

    def _moment(self) -> Moment:
        return Moment(self.step, dict(self.times), self.static_tables.moving)

    def _advance(self) -> None:
        """Goes on with the version in the making while the workers run a step, which must not fail for it."""
        try:
            self._versions.advance()
        except WorkerLost:
            raise
        except PenstockError as problem:
            self._note_late(problem)

    def _make_version_when_due(self, *, soon: bool) -> None:
        """Begins a version, or makes one if there has to be one after every step. That it could not be made
        must not look like the failure of the step. If a worker wants one ``soon``, because it holds many
        changes of views that are in none, it is not put off until the one in the making is complete."""
        self._certain = False
        try:
            if self.runtime.commits_every_step or self._commit_interval_s <= 0:
                self._make_version()
            elif soon:
                self._finish_version()
                self._begin_version()
            elif self._versions.age_s >= self._commit_interval_s:
                self._begin_version()
        except PenstockError as error:
            self._note_late(error)
        else:
            self._certain = True

    def _make_version(self) -> None:
        try:
            with self._undone_by_an_error():
                self._versions.make(self._moment())
        except WorkerLost as loss:
            self._recover(str(loss))
            with self._undone_by_an_error():
                self._versions.make(self._moment())

    def _begin_version(self) -> None:
        try:
            with self._undone_by_an_error():
                self._versions.begin(self._moment())
        except WorkerLost as loss:
            self._recover(str(loss))

    def _finish_version(self) -> None:
        try:
            with self._undone_by_an_error():
                self._versions.finish()
        except WorkerLost as loss:
            self._recover(str(loss))

    def _commit_what_is_left(self) -> None:
        """A runtime that keeps nothing in memory cannot go on from, or show, a step that no version has: if
        the commit after it failed, it is made now. If that fails again, it is not a VersionLate: the caller
        asked for something else, which did not happen."""
        if self.runtime.commits_every_step and self.step > self.store.step:
            try:
                self.commit()
            except VersionLate as late:
                raise PipelineError(
                    f"staged workers go on from versions, and that of step {self.step} could not be made: "
                    f"{late.reason}. Steps up to {self.step} are done; nothing has happened since, and what "
                    "was pushed stays pending. Try again when the cause is gone"
                ) from late

    def commit(self) -> None:
        """Makes the state as of the last accepted step a version; VersionLate if that fails."""
        self.find_out()
        self._certain = False
        try:
            self._make_version()
        except PenstockError as error:
            raise self._note_late(error) from error
        self._certain = True
        self._versions.store_metrics()

    def settle(self) -> None:
        """Waits until the workers have merged what steps left for later."""
        self._asked(self.runtime.settle)

    def rest(self) -> None:
        """There is nothing to do at the moment: a version in the making is finished."""
        if not (self._certain and self._versions.in_the_making):
            return
        self._certain = False
        try:
            self._finish_version()
        except PenstockError as error:
            self._note_late(error)
        self._certain = True

    # ---- reading ----------------------------------------------------------------------------------

    def read(self, name: str) -> pa.Table:
        """The rows of a table or view with their weights, not yet summed over workers."""
        self.find_out()
        self._commit_what_is_left()
        return self._asked(lambda: self.runtime.read(name))

    @property
    def changes_after(self) -> int:
        """The changes of views are known for all steps after this one."""
        return max(self.store.version.changes_after, self.step - self._retained_steps)

    def recent_changes(self, view: str, since: int) -> pa.Table:
        """The changes of a view after ``since`` that are not in a version yet."""
        self.find_out()
        self._commit_what_is_left()
        if max(since, self.store.step) >= self.step:
            return self._no_changes(view)
        # Asked again after a loss, the newest version may be another.
        return self._asked(lambda: self.runtime.changes(view, max(since, self.store.step)))

    def _no_changes(self, view: str) -> pa.Table:
        node = self.program.circuit.nodes[self.program.circuit.views[view]]
        return pa.Table.from_batches(with_step(ZSet.empty(node.operator.schema), 0))

    def close(self) -> None:
        """Commits what is not yet in a version and lets the workers go. After an interrupted operation it
        only lets them go: the input log has everything."""
        try:
            if self._certain:
                self.rest()
                if self.step > self.store.step:
                    self.commit()
                self._versions.store_metrics()
        finally:
            self.kill()

    def kill(self) -> None:
        """Lets the workers go without a commit: the log has what the last version lacks. Every part is let go
        whatever becomes of the others. Safe to call again."""
        self._certain = False
        with ExitStack() as closing:
            closing.callback(self.store.close)
            closing.callback(self._versions.close)
            closing.callback(self.runtime.close)


def _total(parts: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            total[name] = total.get(name, 0) + int(number)
    return total
