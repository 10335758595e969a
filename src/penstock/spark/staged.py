"""The staged runtime: a step is one ordinary Spark job, a level one of its stages.

Nothing stays up between steps: tasks open the last version (files that a Python process has open stay open
in it) and write what they add. So a step must be committed before the next one, and it costs what a Spark
job costs, some tens of milliseconds for each level. It is the way for one-off refreshes, for loads too big
for the memory of resident workers, and where task slots cannot be held.

Reading needs no job: everything is in the last version, which the driver can open as well as any task (it has
to reach the storage anyway, for the manifests), and what is read ends up in the driver in any case.

The exchange between levels is Spark's shuffle: ``repartitionById`` takes each row to the partition of its
target. Every worker sends itself at least one row at every level, so no partition is ever empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PenstockError, PipelineError, WorkerLost
from penstock.schedule.message import Message, first_level
from penstock.spark.faults import python_problem, rebuild_fault, spark_reason
from penstock.spark.rows import ROW_DDL, Row, encode_batch, json_row, message_rows, pack, unpack
from penstock.spark.runtime import Crew, StepWorker
from penstock.spark.session import require_classic
from penstock.spark.stages import Fed, Level, Task, Together

__all__ = ["StagedRuntime"]

TINY_BYTES = 256 << 10

_SETTINGS = {
    # Adaptive execution would run every stage as a job of its own and merge small partitions.
    "spark.sql.adaptive.enabled": "false",
    # A row can be large; few of them make a batch.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
}
# What Spark says when a process died, as opposed to an exception in it.
_DEATHS = ("Python worker exited unexpectedly", "ExecutorLostFailure", "Python worker failed to connect back")


class StagedRuntime:
    """A :class:`~penstock.spark.runtime.Runtime` that runs each step as a Spark job.

    A step whose input is at most ``tiny_bytes`` runs in one task with all messages in memory.
    """

    commits_every_step = True

    def __init__(self, spark: SparkSession, crew: Crew, *, tiny_bytes: int = TINY_BYTES) -> None:
        require_classic(spark)
        # A session of its own over the same SparkContext: its settings are nobody else's.
        self._session = spark.newSession()
        for key, value in _SETTINGS.items():
            self._session.conf.set(key, value)
        self._crew, self._tiny_bytes = crew, tiny_bytes
        self._body: Mapping[str, Any] | None = None
        self._version = 0  # of the body; what a step writes is named after the next one
        self._pending: list[dict[str, Any]] | None = None
        self._accepted: list[dict[str, Any]] | None = None
        self._readers: list[StepWorker] = []

    def open(self, body: Mapping[str, Any]) -> None:
        self._body, self._pending, self._accepted = dict(body), None, None
        self._version = int(body.get("version", 0))
        self._readers = []

    def step(
        self, step: int, inputs: Sequence[Message], meanwhile: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        if self._pending is not None or self._accepted is not None:
            raise PipelineError("the last step was not settled and committed")
        if meanwhile is not None:
            meanwhile()
        body = self._opened
        stage = (self._crew, json.dumps(body), self._version + 1, step)
        first = first_level(inputs)
        # A step that fills new arrangements has no input, one that reads files a short one: neither is tiny.
        small = sum(m.batch.nbytes for m in inputs) <= self._tiny_bytes
        tiny = small and first == 0 and not body.get("opening")
        tasks: list[Task] = (
            [Together(*stage)] if tiny else [Level(*stage, n, first) for n in range(first, self._crew.levels)]
        )
        rows = self._run(f"step {step}", inputs, tasks, 1 if tiny else self._crew.workers)
        _raise_error(rows)
        self._pending = [json.loads(row.payload) for row in rows if row.kind == "refs"]
        return _merged(rows, self._crew.workers)

    def accept(self) -> None:
        if self._pending is None:
            raise PipelineError("there is no step to accept")
        self._accepted, self._pending = self._pending, None

    def abort(self) -> None:
        self._pending = None

    def settle(self) -> None:
        """Nothing to wait for: a task that ends with the step leaves nothing for later."""

    def commit(self, version: int) -> list[dict[str, Any]]:
        return list(self._accepted or ())

    def begin_commit(self, version: int) -> None:
        """Nothing to begin: the tasks of the step wrote all there is to write."""

    def written(self) -> list[dict[str, Any]] | None:
        return list(self._accepted or ())

    def finish_commit(self) -> list[dict[str, Any]]:
        return list(self._accepted or ())

    def committed(self, version: int, body: Mapping[str, Any]) -> None:
        self._version, self._body, self._accepted = version, dict(body), None
        self._readers = []

    def read(self, name: str) -> pa.Table:
        return pa.Table.from_batches([reader.read(name) for reader in self._reading()])

    def changes(self, view: str, since: int) -> pa.Table:
        return pa.Table.from_batches([reader.changes(view, since) for reader in self._reading()])

    def close(self) -> None:
        self._body, self._pending, self._accepted = None, None, None
        self._readers = []

    @property
    def _opened(self) -> Mapping[str, Any]:
        if self._body is None:
            raise PipelineError("the workers have not been opened")
        return self._body

    def _reading(self) -> list[StepWorker]:
        """The workers as of the last version, in this process. They map what is read of it and no more."""
        if not self._readers:
            body = self._opened
            readers = [self._crew.factory(index) for index in range(self._crew.workers)]
            for reader in readers:
                reader.open(body)
            self._readers = readers
        return self._readers

    def _run(self, what: str, inputs: Sequence[Message], tasks: Sequence[Task], partitions: int) -> list[Row]:
        """Run one task function after the other, with an exchange in between, and collect the rows."""
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
        """Spark's error as ours: a process that died may be replaced, anything else may not be retried."""
        reason = spark_reason(error)
        for line in reason.splitlines():
            if any(death in line for death in _DEATHS):
                return WorkerLost(f"a worker died: {line.strip()}")
        problem = python_problem(reason, self._session.sparkContext.pythonExec)
        return problem or PipelineError(f"the Spark job of a step failed: {reason}")


def _raise_error(rows: Sequence[Row]) -> None:
    """Raise the error that a step ended with: of the first level that failed, the first worker's."""
    faults = [json.loads(row.payload) for row in rows if row.kind == "error"]
    if faults:
        fault = min(faults, key=lambda fault: (fault["level"], fault["worker"]))
        raise rebuild_fault(fault, fault["worker"])


def _merged(rows: Sequence[Row], workers: int) -> list[dict[str, Any]]:
    """One report for each worker. Each level reported for itself: numbers that are counted by name add up."""
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
