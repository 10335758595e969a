"""A running pipeline: push rows, step, read views and their changes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.circuit.keyed import DELETE, INSERT, UPSERT
from penstock.errors import InputError, PenstockError, PipelineError, RowConflict
from penstock.pipeline.contents import (
    ChangeFormat,
    as_change_feed,
    consolidated,
    expanded,
    frame_of,
    net_changes,
    sorted_by,
)
from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.ingest import to_batch, to_keys
from penstock.pipeline.loop import Loop
from penstock.pipeline.pushes import Pushes
from penstock.pipeline.relations import Relations
from penstock.pipeline.reports import Status, StepReport, Verification
from penstock.pipeline.step_input import StepInput
from penstock.pipeline.tables import TableSchema
from penstock.pipeline.verify import batch_session, verified
from penstock.schedule.change_log import STEP_COLUMN
from penstock.schedule.files import FileInput, Wanted
from penstock.schedule.state import open_segment
from penstock.sql import Catalog, ViewDefinition
from penstock.sql.session import active_session_kept
from penstock.zset import WEIGHT_COLUMN

__all__ = ["Run"]


class Run:
    """Made by :meth:`penstock.Pipeline.run`; use it in a ``with`` block.

    Leaving the block stops the loop if one runs, commits, and lets the workers go. All methods may be
    called from any thread; pushes go into the next step that begins after them.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalog: Catalog,
        settings: dict[str, str],
        coordinator: Coordinator,
        *,
        functions: Iterable[Any] = (),
        describe: Callable[[], dict[str, object]],
        on_close: Callable[[], None],
    ) -> None:
        self._spark, self._relations, self._settings = spark, Relations(catalog), settings
        self._coordinator, self._functions = coordinator, tuple(functions)
        self._describe, self._on_close = describe, on_close
        self._pushes = Pushes(coordinator.store.seed)
        self._lock = threading.RLock()
        self._errors: list[PenstockError] = []
        self._loop: Loop | None = None
        self._closed = False

    # ---- pushing ----------------------------------------------------------------------------------

    def insert(self, table: str, rows: object) -> int:
        """Adds rows to a table; returns how many. In a keyed table the keys must be new."""
        schema = self._relations.table(table)
        batch = to_batch(schema, rows, timezone=self._timezone)
        return self._push(schema, batch, INSERT if schema.keyed else 1)

    def upsert(self, table: str, rows: object) -> int:
        """Adds rows to a keyed table, replacing those with the same key; returns how many."""
        schema = self._relations.table(table)
        if not schema.keyed:
            raise InputError(
                schema.name, "the table has no primary key, so nothing can be replaced; use insert"
            )
        return self._push(schema, to_batch(schema, rows, timezone=self._timezone), UPSERT)

    def delete(self, table: str, rows: object) -> int:
        """Deletes by key from a keyed table (absent keys are ignored and counted), or whole rows, which must
        be there, from a keyless one. Returns how many were asked for."""
        schema = self._relations.table(table)
        if schema.append_only:
            raise InputError(schema.name, "the table is append-only: nothing can be deleted from it")
        if not schema.keyed:
            return self._push(schema, to_batch(schema, rows, timezone=self._timezone), -1)
        keys = to_keys(schema, rows, timezone=self._timezone)
        place = {name: i for i, name in enumerate(schema.primary_key)}
        columns = [
            keys.column(place[field.name]) if field.name in place else pa.nulls(keys.num_rows, field.type)
            for field in schema.arrow_schema
        ]
        return self._push(schema, pa.RecordBatch.from_arrays(columns, schema=schema.arrow_schema), DELETE)

    def load(self, table: str, path: str | os.PathLike[str]) -> int:
        """Adds the rows of a Parquet file (in a keyed table, replacing rows with the same key); returns how
        many. The workers read the file during the next step, so it must be where they can reach it, and it
        must not change while the step can still be replayed, that is, before the next commit. Further columns
        of the file are not read, nor, of a table that does not keep its rows, are those that no view uses.
        What does not fit the table is refused as pushed rows are: columns and their types here, values by the
        step."""
        schema = self._relations.table(table)
        self._check_open()
        self._coordinator.standing.check({schema.name: 1})
        wanted = Wanted(schema.name, StructType(list(schema.fields)), schema.primary_key, self._timezone)
        file = FileInput.of(Path(path), wanted, UPSERT)
        self._pushes.add_file(schema, file)
        if self._loop is not None:
            self._loop.wake()
        return file.rows

    def _push(self, schema: TableSchema, batch: pa.RecordBatch, operation: int) -> int:
        self._check_open()
        self._coordinator.standing.check({schema.name: batch.num_rows})
        self._pushes.add(schema, batch, operation)
        if self._loop is not None:
            self._loop.wake()
        return int(batch.num_rows)

    def discard(self) -> int:
        """Forgets what was pushed since the last step; returns how many rows."""
        return self._pushes.clear()

    # ---- stepping ---------------------------------------------------------------------------------

    def step(self) -> StepReport:
        """Runs one step with everything pushed since the last one, possibly nothing.

        If the step fails on bad data (:class:`~penstock.errors.InputError`,
        :class:`~penstock.errors.EvaluationError`) it did not happen: what was pushed for it is dropped,
        everything before is untouched, and the pipeline goes on.
        """
        with self._lock:
            self._check_open()
            pushes, files = self._pushes.take()
            inputs = StepInput.of(
                [(push.table.name, push.delta) for push in pushes], time.time_ns() // 1000, files
            )
            try:
                return self._coordinator.run_step(inputs)
            except RowConflict as conflict:
                raise Pushes.located(conflict, pushes) from None

    def start(self, *, interval_s: float = 0.2) -> None:
        """Steps in the background whenever something was pushed (looking at least every ``interval_s``)."""
        self._check_open()
        if self._loop is None:
            self._loop = Loop(
                lambda: self.step().step,
                lambda: not self._pushes.empty,
                self._rest,
                self._errors.append,
                interval_s,
            )
        self._loop.start()

    def _rest(self) -> None:
        with self._lock:
            self._coordinator.rest()

    def pause(self) -> int:
        """Lets the background loop come to rest; returns the last step."""
        return self._running_loop().pause()

    def stop(self) -> int:
        """Ends the background loop; returns the last step. Raises the first error the loop met."""
        last = self._running_loop().stop()
        self._loop = None
        if self._errors:
            error, self._errors = self._errors[0], []
            raise error
        return last

    def _running_loop(self) -> Loop:
        if self._loop is None:
            raise PipelineError("the pipeline is not running in the background; call start() first")
        return self._loop

    def commit(self) -> int:
        """Makes the state durable as a version now; returns the version."""
        with self._lock:
            self._check_open()
            self._coordinator.commit()
            return self._coordinator.store.version

    def settle(self) -> None:
        """Waits until what steps left for later is done: the workers merge stored batches while steps go on,
        and after a load there may be seconds of that. It needs no call, they also do it while no step comes;
        but a commit after it writes the least, and steps after it are as fast as they get."""
        with self._lock:
            self._check_open()
            self._coordinator.settle()

    # ---- reading ----------------------------------------------------------------------------------

    def read(self, name: str) -> pa.Table:
        """The rows of a table or view as an Arrow table, in the view's order if it has one."""
        with self._lock:
            self._check_open()
            relation = self._relations.readable(name)
            zset = consolidated(self._coordinator.read(relation.name), self._coordinator.store.seed)
        table = expanded(zset, relation.schema.names)
        return sorted_by(table, relation.order_by) if isinstance(relation, ViewDefinition) else table

    def view(self, name: str) -> DataFrame:
        """The rows of a table or view as a Spark DataFrame."""
        with active_session_kept(self._spark):
            return frame_of(self._spark, self.read(name), self._relations.stored(name).schema)

    def changes(self, view: str, since: int = -1, *, format: ChangeFormat = "weights") -> pa.Table:
        """The changes of a view in the steps after ``since``.

        With ``format="weights"`` each row has a ``_weight`` (positive: inserted, negative: deleted) and the
        ``_step``; with ``"change_feed"`` a ``_change_type`` (insert, delete), the ``_commit_version`` (the
        step) and ``_commit_timestamp``. How far back one can look is set by the pipeline's
        ``retained_steps``. The first change of a view is its content when it was created.
        """
        with self._lock:
            self._check_open()
            relation = self._relations.stored_view(view)
            stored = self._stored_changes(relation.name, since)
            recent = self._coordinator.recent_changes(relation.name, since)
            times = dict(self._coordinator.times)
        names = [*relation.schema.names, WEIGHT_COLUMN, STEP_COLUMN]
        parts = pa.concat_tables([part.rename_columns(names) for part in [*stored, recent]])
        table = net_changes(parts, self._coordinator.store.seed)
        # Step by step, and in a step what goes before what comes.
        table = table.sort_by([(STEP_COLUMN, "ascending"), (WEIGHT_COLUMN, "ascending")])
        return table if format == "weights" else as_change_feed(table, times)

    def _stored_changes(self, view: str, since: int) -> list[pa.Table]:
        store = self._coordinator.store
        parts = []
        for ref in store.body["changes"].get(view, ()):
            if ref["last"] > since:
                batch = open_segment(store.backend, ref["segment"]).read(ref["entry"])
                table = pa.Table.from_batches([batch])
                parts.append(table.filter(pc.greater(table[STEP_COLUMN], since)))
        return parts

    def verify(self, name: str | None = None) -> Verification:
        """Recomputes a view (or all) in batch Spark over the current tables and compares. Views over tables
        that do not keep their rows cannot be recomputed, and views that do not keep their own cannot be
        compared: of all they are left out and named in ``unchecked``, and asking for one is an error."""
        with self._lock, active_session_kept(self._spark):
            session = batch_session(self._spark, self._settings, self._functions)
            # Beside the state, where all executors can read; state in memory has them all in one process.
            storage = Path(str(self._describe()["storage"]))
            return verified(session, self._relations, self.read, storage if storage.is_dir() else None, name)

    def status(self) -> Status:
        """Where the pipeline stands."""
        coordinator = self._coordinator
        body = coordinator.store.body
        sizes = [ref["stop"] - ref["start"] for refs in body["arrangements"].values() for ref in refs]
        return Status(
            step=coordinator.step,
            committed_step=coordinator.store.step,
            version=coordinator.store.version,
            phase="stepping by hand" if self._loop is None else self._loop.phase.value,
            restarts=coordinator.restarts,
            tables=tuple(self._relations.catalog.tables),
            views=tuple(self._relations.catalog.views),
            arrangements=len(body["arrangements"]),
            stored_rows=sum(sizes),
            **self._describe(),  # type: ignore[arg-type] # name, storage, workers, mode: see Pipeline
        )

    @property
    def progress(self) -> tuple[dict[str, Any], ...]:
        """Progress records of the last steps (a hundred at most), the newest at the end, with Structured
        Streaming's names where they mean the same: ``batchId`` is the step, ``durationMs`` where its time
        went, ``stateOperators`` what each operator that keeps state did and holds."""
        return self._coordinator.metrics.progress()

    # ---- closing ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the loop, commits, and lets the workers go."""
        if self._closed:
            return
        try:
            if self._loop is not None:
                self.stop()
        finally:
            self._closed = True
            try:
                self._coordinator.close()
            finally:
                self._on_close()

    def kill(self) -> None:
        """Lets the workers go without a commit, as a crash would: the next run replays the input log."""
        if not self._closed:
            self._closed = True
            self._coordinator.kill()
            self._on_close()

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.kill()

    @property
    def _timezone(self) -> str:
        return self._settings["spark.sql.session.timeZone"]

    def _check_open(self) -> None:
        if self._closed:
            raise PipelineError("this run is closed; call run() on the pipeline for a new one")
