"""A running pipeline: push rows, step, read views and their changes."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.circuit.operation import Operation
from penstock.errors import EvaluationError, InputError, PenstockError, PipelineError, RowConflict
from penstock.intake.file_rows import files_in, is_parquet, read_rows
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
from penstock.pipeline.heartbeat import Heartbeat
from penstock.pipeline.ingest import to_batch, to_deletes
from penstock.pipeline.loop import Loop
from penstock.pipeline.opened_version import OpenedVersion
from penstock.pipeline.pushes import Push, Pushes, Waiting
from penstock.pipeline.relations import Relations
from penstock.pipeline.rendering import counted, html_table
from penstock.pipeline.reports import Status, StepReport, Verification
from penstock.pipeline.statements import change_of
from penstock.pipeline.step_input import pushed
from penstock.pipeline.tables import TableSchema
from penstock.pipeline.verify import batch_session, verified
from penstock.pipeline.version_list import VersionInfo, versions_in
from penstock.schedule.change_log import STEP_COLUMN, read_changes
from penstock.schedule.files import FileInput, Wanted
from penstock.schedule.state import open_segment
from penstock.sql import Catalog, ViewDefinition
from penstock.sql.lost_jvm import with_jvm
from penstock.sql.session import active_session_kept, quoted
from penstock.storage import Backend, local_folder
from penstock.zset import WEIGHT_COLUMN

__all__ = ["Run"]

_log = logging.getLogger(__name__)


class Run:
    """Made by :meth:`penstock.Pipeline.run`; use it in a ``with`` block.

    Leaving the block stops the loop if one runs, commits, and releases the workers. All methods may be called
    from any thread; pushes go into the next step that begins after them.
    """

    def __init__(
        self,
        spark: SparkSession,
        catalog: Catalog,
        settings: dict[str, str],
        coordinator: Coordinator | OpenedVersion,
        *,
        functions: Iterable[Any] = (),
        backend: Backend,
        describe: Callable[[], dict[str, object]],
        on_close: Callable[[], None],
    ) -> None:
        self._spark, self._relations, self._settings = spark, Relations(catalog), settings
        self._coordinator, self._functions = coordinator, tuple(functions)
        self._backend, self._describe, self._on_close = backend, describe, on_close
        self._pushes = Pushes(coordinator.store.seed)
        self._lock = threading.RLock()
        self._errors: list[PenstockError] = []
        self._loop: Loop | None = None
        self._attempt: tuple[int, Waiting] | None = None  # the last step that was attempted, and its input
        self._closed = False
        folder = self._folder()
        beats = folder is not None and isinstance(coordinator, Coordinator)
        self._heartbeat = Heartbeat(folder, self._look) if folder is not None and beats else None

    @property
    def _writer(self) -> Coordinator:
        """The coordinator, for what changes something."""
        if isinstance(self._coordinator, OpenedVersion):
            raise self._coordinator.refusal()
        return self._coordinator

    def _reading(self) -> AbstractContextManager[None]:
        """For reading files of a version."""
        opened = self._coordinator
        return opened.still_there() if isinstance(opened, OpenedVersion) else nullcontext()

    def _look(self) -> tuple[int, str]:
        """The last step, and what the run is doing."""
        if self._coordinator.recovering:
            return self._coordinator.step, "recovering"
        if isinstance(self._coordinator, OpenedVersion):
            return self._coordinator.step, f"reading version {self._coordinator.store.version.number}"
        return self._coordinator.step, "stepping by hand" if self._loop is None else self._loop.phase.value

    # ---- pushing ----------------------------------------------------------------------------------

    def insert(self, table: str, rows: object) -> int:
        """Adds rows to a table; returns how many. In a keyed table the keys must be new."""
        schema = self._relations.table(table)
        batch = to_batch(schema, rows, timezone=self._timezone)
        return self._push(schema, batch, Operation.INSERT)

    def upsert(self, table: str, rows: object) -> int:
        """Adds rows to a keyed table, replacing those with the same key; returns how many."""
        schema = self._relations.table(table)
        if not schema.keyed:
            raise InputError(
                schema.name, "the table has no primary key, so nothing can be replaced; use insert"
            )
        return self._push(schema, to_batch(schema, rows, timezone=self._timezone), Operation.UPSERT)

    def delete(self, table: str, rows: object) -> int:
        """Deletes by key from a keyed table (absent keys are ignored and counted), or whole rows, which must
        exist, from a keyless one. Returns how many were requested."""
        schema = self._relations.table(table)
        return self._push(schema, *to_deletes(schema, rows, timezone=self._timezone))

    def load(self, table: str, path: str | os.PathLike[str]) -> int:
        """Adds the rows of a file, or of all files in a folder, to a table (in a keyed table, replacing rows
        with the same key); returns how many. The extension selects the format: Parquet, CSV or JSON lines
        (``.jsonl``).

        Parquet is read by the workers during the next step, so they must be able to access it, and it must
        not change while the step can still be replayed, that is, before the next commit. Extra columns of
        such a file are not read, nor, for a table that does not keep its rows, columns that no view uses.
        Other files are read immediately, and may be deleted afterwards. What does not fit the table is
        rejected like pushed rows: columns and their types here, values of Parquet files by the step."""
        schema = self._relations.table(table)
        self._check_open()
        self._writer.static_tables.check({schema.name: 1})
        files = files_in(schema.name, Path(path))
        if schema.keyed and 0 < sum(map(is_parquet, files)) < len(files):
            raise InputError(
                schema.name,
                f"{path} holds Parquet and other files, between which there is no order; load them one by "
                "one, with a step in between",
            )
        wanted = Wanted(schema.name, StructType(list(schema.fields)), schema.primary_key, self._timezone)
        parquet = [FileInput.of(file, wanted, Operation.UPSERT) for file in files if is_parquet(file)]
        texts = [file for file in files if not is_parquet(file)]
        batches = [to_batch(schema, self._read(schema, file), timezone=self._timezone) for file in texts]
        for batch in batches:
            self._pushes.add(schema, batch, Operation.UPSERT)
        for file in parquet:
            self._pushes.add_file(schema, file)
        if self._loop is not None:
            self._loop.wake()
        return sum(file.rows for file in parquet) + sum(int(batch.num_rows) for batch in batches)

    def file_rows(self, table: str, path: str | os.PathLike[str]) -> pa.Table:
        """The rows of a file, or of all files in a folder, with the types of a table's columns, to be passed
        to ``insert``, ``upsert`` or ``delete``. Columns that the files lack are left out."""
        schema = self._relations.table(table)
        return pa.concat_tables(self._read(schema, file) for file in files_in(schema.name, Path(path)))

    def _read(self, schema: TableSchema, file: Path) -> pa.Table:
        return read_rows(schema.name, file, StructType(list(schema.fields)), self._timezone)

    def _push(self, schema: TableSchema, batch: pa.RecordBatch, operation: Operation) -> int:
        self._check_open()
        self._writer.static_tables.check({schema.name: batch.num_rows})
        self._pushes.add(schema, batch, operation)
        if self._loop is not None:
            self._loop.wake()
        return int(batch.num_rows)

    def discard(self) -> int:
        """Drops what was pushed since the last step; returns how many rows."""
        return self._pushes.clear()

    # ---- stepping ---------------------------------------------------------------------------------

    def step(self) -> StepReport:
        """Runs one step with everything pushed since the last one, possibly nothing.

        If the step fails on bad data (:class:`~penstock.errors.InputError`,
        :class:`~penstock.errors.EvaluationError`) it has no effect: what was pushed for it is dropped,
        everything before is untouched, and the pipeline continues. After any other error of Penstock it has
        no effect either, and what was pushed stays pending for the next call. An interrupt (Ctrl-C) may come
        when the step is already durable: before the next step, and before anything is read, the outcome is
        determined, and what was pushed for it is dropped or stays pending accordingly.
        """
        with self._lock:
            self._find_out()
            step = self._writer.step + 1
            taken = self._pushes.take()
            self._attempt = (step, taken)
            try:
                report = self._run_step(taken)
            except (InputError, EvaluationError):
                self._pushes.drop(taken)
                raise
            except BaseException:
                self._pushes.put_back()
                raise
            self._pushes.drop(taken)
            return report

    def _find_out(self) -> None:
        """Makes sure that it is known which steps have happened, and that their input is no longer
        pending."""
        self._check_open()
        self._coordinator.find_out()
        if self._attempt is not None:
            step, taken = self._attempt
            if self._coordinator.step >= step:
                self._pushes.drop(taken)
            self._attempt = None

    def _run_step(self, taken: Waiting) -> StepReport:
        try:
            return self._writer.run_step(taken.step_input(time.time_ns() // 1000))
        except RowConflict as conflict:
            raise Pushes.located(conflict, taken.pushes) from None

    @with_jvm()
    def sql(self, statement: str) -> StepReport:
        """Changes a table by an ``INSERT INTO … SELECT`` or ``VALUES``, an ``UPDATE … SET … WHERE`` or a
        ``DELETE FROM … WHERE``, in a separate step. What was pushed before goes into a step before it.

        Spark computes the change over the tables and views as they are after the last step, which costs as
        much as any query over them; only the resulting rows then go through the pipeline. ``INSERT`` into a
        keyed table needs new keys, as ``insert`` does.
        """
        with self._lock, active_session_kept(self._spark):
            self._find_out()
            seed = self._writer.store.seed
            if not self._pushes.empty:
                self.step()
            session = batch_session(self._spark, self._settings, self._functions)
            change = change_of(session, self._relations, self.read, self._folder(), statement, self._timezone)
            table = change.table
            pushes = [Push(table, op, pushed(table, rows, op, seed)) for rows, op in change.parts]
            return self._run_step(Waiting(tuple(pushes), ()))

    def start(self, *, interval_s: float = 0.2) -> None:
        """Runs steps in the background whenever something was pushed (checking at least every
        ``interval_s``)."""
        self._check_open()
        rest = self._writer.rest
        if self._loop is None:
            self._loop = Loop(
                lambda: self.step().step,
                lambda: not self._pushes.empty,
                lambda: self._rest(rest),
                self._errors.append,
                interval_s,
            )
        self._loop.start()

    def _rest(self, rest: Callable[[], None]) -> None:
        with self._lock:
            rest()

    def pause(self) -> int:
        """Pauses the background loop after the current step; returns the last step."""
        return self._running_loop().pause()

    def stop(self) -> int:
        """Ends the background loop, with a last step for rows that are still pending; returns the last step.
        Raises the first error of the loop."""
        last = self._running_loop().stop()
        self._loop = None
        if self._errors:
            error, self._errors = self._errors[0], []
            raise error
        return last if self._pushes.empty else self.step().step

    def _running_loop(self) -> Loop:
        if self._loop is None:
            raise PipelineError("the pipeline is not running in the background; call start() first")
        return self._loop

    def commit(self) -> int:
        """Makes the state durable as a version now; returns the version."""
        with self._lock:
            self._find_out()
            self._writer.commit()
            return self._writer.store.version.number

    def settle(self) -> None:
        """Waits until background merging is finished: workers merge stored batches while steps run, and after
        a load that may take seconds. Calling it is optional, merging also continues while no step runs; but a
        commit afterwards writes the least, and steps afterwards are as fast as possible."""
        with self._lock:
            self._find_out()
            self._writer.settle()

    def versions(self) -> tuple[VersionInfo, ...]:
        """The versions that can be opened with ``Pipeline(…, version=…)``, oldest first."""
        return versions_in(self._backend)

    # ---- reading ----------------------------------------------------------------------------------

    def read(self, name: str) -> pa.Table:
        """The rows of a table or view as an Arrow table, in the view's order if it has one."""
        with self._lock, self._reading():
            self._find_out()
            relation = self._relations.readable(name)
            zset = consolidated(self._coordinator.read(relation.name), self._coordinator.store.seed)
        table = expanded(zset, relation.schema.names)
        return sorted_by(table, relation.order_by) if isinstance(relation, ViewDefinition) else table

    @with_jvm()
    def view(self, name: str) -> DataFrame:
        """The rows of a table or view as a Spark DataFrame."""
        with active_session_kept(self._spark):
            return frame_of(self._spark, self.read(name), self._relations.stored(name).schema)

    @with_jvm()
    def create_temp_views(self, *names: str) -> tuple[str, ...]:
        """Registers tables and views (all that can be read, if none are named) as temporary views of the
        Spark session, for ``spark.table`` and ``spark.sql``. They hold the rows of the last step; call this
        again for later ones. Returns their names."""
        relations = [self._relations.readable(name) for name in names] or self._relations.all_readable
        for relation in relations:
            self.view(relation.name).createOrReplaceTempView(quoted(relation.name))
        return tuple(relation.name for relation in relations)

    def changes(self, name: str, since: int | None = None, *, format: ChangeFormat = "weights") -> pa.Table:
        """The changes of a view, or of a table that keeps them (``TBLPROPERTIES ('keepChanges' = 'true')``),
        in the steps after ``since``, by default in all steps for which they are kept (the pipeline's
        ``retained_steps``). Asking for older ones is an error that names the oldest.

        With ``format="weights"`` each row has a ``_weight`` (positive: inserted, negative: deleted) and the
        ``_step``; with ``"change_feed"`` a ``_change_type`` (insert, delete), the ``_commit_version`` (the
        step) and ``_commit_timestamp``. The first change of a view is its content when it was created, that
        of a table its content when it began to keep changes.
        """
        if format not in get_args(ChangeFormat):
            known = " or ".join(map(repr, get_args(ChangeFormat)))
            raise PipelineError(f"the format of changes is {known}, not {format!r}")
        with self._lock, self._reading():
            self._find_out()
            relation = self._relations.followed(name)
            since = self._since(relation.name, since)
            recent = self._coordinator.recent_changes(relation.name, since)
            stored = self._stored_changes(relation.name, since)
            times = dict(self._coordinator.times)
        names = [*relation.schema.names, WEIGHT_COLUMN, STEP_COLUMN]
        parts = pa.concat_tables([part.rename_columns(names) for part in [*stored, recent]])
        table = net_changes(parts, self._coordinator.store.seed)
        return table if format == "weights" else as_change_feed(table, times)

    def _since(self, view: str, since: int | None) -> int:
        last, kept = self._coordinator.step, self._coordinator.changes_after
        if since is None:
            return kept - 1 if kept == 0 else kept
        if since > last:
            raise PipelineError(f"there are no changes after step {since} yet: the last step is {last}")
        if since < 0:
            raise PipelineError(f"since is the number of a step, 0 or more, not {since}")
        if since < kept:
            raise PipelineError(
                f"the changes of {view} after step {since} are not all kept any more: the oldest step is "
                f"{kept + 1} (since={kept}). Read {view} and go on from the last step, or keep more with "
                "Pipeline(retained_steps=…)"
            )
        return since

    def _stored_changes(self, view: str, since: int) -> list[pa.Table]:
        store = self._coordinator.store
        parts = []
        for name, block in store.changes_of(view, since):
            segment = open_segment(store.backend, name)
            segment.expect(block.entry, block.crc32c)
            table = pa.Table.from_batches([read_changes(segment, block.entry)])
            parts.append(table.filter(pc.greater(table[STEP_COLUMN], since)))
        return parts

    @with_jvm()
    def verify(self, name: str | None = None) -> Verification:
        """Recomputes a view (or all) in batch Spark over the current tables and compares. Views over tables
        that do not keep their rows cannot be recomputed, and views that do not keep their own rows cannot be
        compared: when checking all, they are left out and listed in ``unchecked``; asking for one is an
        error."""
        with self._lock, active_session_kept(self._spark):
            session = batch_session(self._spark, self._settings, self._functions)
            return verified(session, self._relations, self.read, self._scratch(), name)

    def _folder(self) -> Path | None:
        """The folder of the state, which all executors can read; with state in memory they are all in one
        process."""
        return local_folder(str(self._describe()["storage"]))

    def _scratch(self) -> Path | None:
        """Where verifying may write large tables: next to the state, or, if that is only read, into the
        folder for temporary files, unless executors are on other machines."""
        is_local = str(self._spark.sparkContext.master).startswith("local")
        return None if is_local and isinstance(self._coordinator, OpenedVersion) else self._folder()

    def status(self) -> Status:
        """The state of the pipeline."""
        coordinator = self._coordinator
        version = coordinator.store.version
        return Status(
            step=coordinator.step,
            committed_step=coordinator.store.step,
            version=version.number,
            phase=self._look()[1],
            late="" if coordinator.late is None else str(coordinator.late),
            waiting_rows=self._pushes.waiting().rows,
            restarts=coordinator.restarts,
            tables=tuple(self._relations.catalog.tables),
            views=tuple(self._relations.catalog.views),
            arrangements=len(version.arrangements),
            stored_rows=sum(ref.rows for ref in version.batches()),
            alive_at=None if self._heartbeat is None else self._heartbeat.last.at,
            **self._describe(),  # type: ignore[arg-type] # name, storage, workers, mode: see Pipeline
        )

    @property
    def progress(self) -> tuple[dict[str, Any], ...]:
        """Progress records of the last steps (at most a hundred), newest last, with Structured Streaming's
        names where the meaning is the same: ``batchId`` is the step, ``durationMs`` where its time went,
        ``stateOperators`` what each stateful operator did and holds."""
        return self._coordinator.metrics.progress()

    def __repr__(self) -> str:
        return f"<Run of {self._title}>"

    def _repr_html_(self) -> str:
        catalog = self._relations.catalog
        rows = [(t.name, "table", ", ".join(t.schema.names)) for t in catalog.tables.values()]
        rows += [(v.name, "view", ", ".join(v.schema.names)) for v in catalog.views.values()]
        return html_table(f"Run of {self._title}", ("name", "kind", "columns"), rows)

    @property
    def _title(self) -> str:
        step, phase = self._look()
        return f"{self._describe()['name']!r}: after step {step}, {'closed' if self._closed else phase}"

    # ---- closing ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Ends the loop, commits, and releases the workers. If steps are taken by hand, rows pushed since the
        last one are dropped, with a warning."""
        if self._closed:
            return self.kill()
        try:
            if self._loop is not None:
                self.stop()
            if dropped := self._pushes.clear():
                _log.warning(
                    "dropped %s pushed since the last step: no step took them", counted(dropped, "row")
                )
        finally:
            self._closed = True
            try:
                self._coordinator.close()
            finally:
                self.kill()

    def kill(self) -> None:
        """Releases the workers without a commit, as a crash would: the next run replays the input log. If
        releasing one thing fails, the others are released nevertheless. Safe to call again, which finishes
        what an interrupt left undone."""
        self._closed = True
        with ExitStack() as closing:
            closing.callback(self._on_close)
            if self._heartbeat is not None:
                closing.callback(self._heartbeat.stop)
            closing.callback(self._coordinator.kill)

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
