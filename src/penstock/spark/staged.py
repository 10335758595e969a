"""The staged runtime: a step is one ordinary Spark job, and each level is one of its stages.

Nothing stays up between steps: tasks open the last version (files that a Python process has open stay open in
it) and write what they add. So a step must be committed before the next one, and it costs what a Spark job
costs, some tens of milliseconds for each level. It is meant for one-off refreshes, for loads too big for the
memory of resident workers, and for clusters where task slots cannot be held.

Reading needs no job: everything is in the last version, which the driver can open like any task (it needs
access to the storage anyway, for the manifests), and the result ends up in the driver in any case.

The exchange between levels is Spark's shuffle: ``repartitionById`` takes each row to the partition of its
target. Every worker sends itself at least one row at every level, so no partition is ever empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PenstockError, PipelineError, WorkerLost
from penstock.schedule.message import Message, first_level
from penstock.schedule.opening import Opening, Written
from penstock.spark.faults import python_problem, rebuild_fault, spark_reason
from penstock.spark.rows import ROW_DDL, Row, encode_batch, json_row, message_rows, pack, unpack
from penstock.spark.runtime import Crew, StepWorker, rows_of
from penstock.spark.session import require_classic
from penstock.spark.stages import Fed, Level, Task, Together
from penstock.sql.lost_jvm import with_jvm

__all__ = ["StagedRuntime"]

TINY_BYTES = 256 << 10

_SETTINGS = {
    # Adaptive execution would run every stage as a job of its own and merge small partitions.
    "spark.sql.adaptive.enabled": "false",
    # A row can be large; few of them make a batch.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
# Spark's messages when a process died, as opposed to an exception in it.
_DEATHS = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed to connect back")


class StagedRuntime:
    """A :class:`~penstock.spark.runtime.Runtime` that runs each step as a Spark job.

    A step whose input is at most ``tiny_bytes`` runs in one task with all messages in memory.
    """

    commits_every_step = True

    def __init__(self, spark: SparkSession, crew: Crew, *, tiny_bytes: int = TINY_BYTES) -> None:
        require_classic(spark)
        # A separate session over the same SparkContext, so that its settings affect nobody else.
        self._session = spark.newSession()
        for key, value in _SETTINGS.items():
            self._session.conf.set(key, value)
        self._crew, self._tiny_bytes = crew, tiny_bytes
        self._version: Opening | None = None  # what a step writes is named after the next one
        self._pending: list[Written] | None = None
        self._accepted: list[Written] | None = None
        self._readers: list[StepWorker] = []

    def open(self, opening: Opening) -> None:
        self._version, self._pending, self._accepted = opening, None, None
        self._readers = []

    def step(
        self, step: int, inputs: Sequence[Message], meanwhile: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        if self._pending is not None or self._accepted is not None:
            raise PipelineError("the last step was neither accepted and committed nor aborted")
        if meanwhile is not None:
            meanwhile()
        opened = self._opened
        stage = (self._crew, json.dumps(opened.to_json()), opened.version + 1, step)
        first = first_level(inputs)
        # A step that fills new arrangements has no input, one that reads files a short one: neither is tiny.
        small = sum(m.batch.nbytes for m in inputs) <= self._tiny_bytes
        tiny = small and first == 0 and not opened.missing
        tasks: list[Task] = (
            [Together(*stage)] if tiny else [Level(*stage, n, first) for n in range(first, self._crew.levels)]
        )
        rows = self._run(f"step {step}", inputs, tasks, 1 if tiny else self._crew.workers)
        _raise_error(rows)
        self._pending = [Written.from_json(json.loads(row.payload)) for row in rows if row.kind == "written"]
        return _merged(rows, self._crew.workers)

    def accept(self) -> None:
        if self._pending is None:
            raise PipelineError("there is no step to accept")
        self._accepted, self._pending = self._pending, None

    def abort(self) -> None:
        self._pending = None

    def settle(self) -> None:
        """Nothing to wait for: a task leaves no background work."""

    def commit(self, version: int) -> list[Written]:
        return list(self._accepted or ())

    def begin_commit(self, version: int) -> None:
        """Nothing to start: the tasks of the step have already written everything."""

    def written(self) -> list[Written] | None:
        return list(self._accepted or ())

    def finish_commit(self) -> list[Written]:
        return list(self._accepted or ())

    def committed(self, version: Opening) -> None:
        self._version, self._accepted = version, None
        self._readers = []

    def read(self, name: str) -> pa.Table:
        return pa.Table.from_batches([part for reader in self._reading() for part in rows_of(reader, name)])

    def changes(self, view: str, since: int) -> pa.Table:
        parts = [part for reader in self._reading() for part in reader.changes(view, since)]
        return pa.Table.from_batches(parts)

    def close(self) -> None:
        self._version, self._pending, self._accepted = None, None, None
        self._readers = []

    @property
    def _opened(self) -> Opening:
        if self._version is None:
            raise PipelineError("the workers have not been opened")
        return self._version

    def _reading(self) -> list[StepWorker]:
        """The workers as of the last version, in this process. They map only what is read."""
        if not self._readers:
            opened = self._opened
            readers = [self._crew.factory(index) for index in range(self._crew.workers)]
            for reader in readers:
                reader.open(opened)
            self._readers = readers
        return self._readers

    @with_jvm()
    def _run(self, what: str, inputs: Sequence[Message], tasks: Sequence[Task], partitions: int) -> list[Row]:
        """Run the task functions one after the other, with an exchange in between, and collect the rows."""
        rows = [json_row(worker, -1, "start", None) for worker in range(self._crew.workers)]
        rows += [row for message in inputs for row in message_rows(message, -1)]
        boxes = tuple(
            tuple(
                encode_batch(batch).to_pybytes()
                for batch in pack([r for r in rows if r.target % partitions == n])
            )
            for n in range(partitions)
        )
        frame = self._session.range(0, partitions, 1, partitions).mapInArrow(Fed(tasks[0], boxes), ROW_DDL)
        for task in tasks[1:]:
            frame = frame.repartitionById(partitions, "target").mapInArrow(task, ROW_DDL)
        context = self._session.sparkContext
        before = context.getLocalProperty("spark.job.description")
        context.setJobDescription(f"penstock {self._crew.name} {what}")
        try:
            return unpack(frame.toArrow().to_batches())
        except (PySparkException, Py4JJavaError) as error:
            raise self._translated(error) from error
        finally:
            context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]

    def _translated(self, error: Exception) -> PenstockError:
        """Translates Spark's error: a process that died may be replaced, anything else must not be
        retried."""
        reason = spark_reason(error)
        for line in reason.splitlines():
            if any(death in line for death in _DEATHS):
                return WorkerLost(f"a worker died: {line.strip()}")
        problem = python_problem(reason, self._session.sparkContext.pythonExec)
        return problem or PipelineError(f"the Spark job of a step failed: {reason}")


def _raise_error(rows: Sequence[Row]) -> None:
    """Raise the error that a step ended with: that of the first level that failed, and there of the first
    worker."""
    faults = [json.loads(row.payload) for row in rows if row.kind == "error"]
    if faults:
        fault = min(faults, key=lambda fault: (fault["level"], fault["worker"]))
        raise rebuild_fault(fault, fault["worker"])


def _merged(rows: Sequence[Row], workers: int) -> list[dict[str, Any]]:
    """One report for each worker. Each level reported separately: counters of the same name are added."""
    merged: list[dict[str, Any]] = [{} for _ in range(workers)]
    for row in rows:
        if row.kind != "report":
            continue
        for key, value in json.loads(row.payload).items():
            if isinstance(value, dict):
                counts = merged[row.source].setdefault(key, {})
                for name, number in value.items():
                    counts[name] = counts.get(name, 0) + number
            else:
                merged[row.source][key] = value
    return merged
