"""The pipeline: tables and views declared in Spark SQL or as DataFrames, and where their state lives."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import EvaluationError, PipelineError
from penstock.pipeline.arguments import check_arguments, parse_memory
from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.explain import explain_text
from penstock.pipeline.filling import check_can_be_filled
from penstock.pipeline.growing_circuit import GrowingCircuit
from penstock.pipeline.opened_version import OpenedVersion, open_state
from penstock.pipeline.rendering import counted, html_table
from penstock.pipeline.retention import Retain, RetainFor
from penstock.pipeline.run import Run
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.stored_state import StoredState
from penstock.pipeline.suspended import check_can_run, taken_up
from penstock.pipeline.version_list import VersionInfo, versions_in
from penstock.schedule.memory import MemoryBudget
from penstock.schedule.worker import make_worker
from penstock.spark import Crew, ResidentRuntime, StagedRuntime, find_or_make_session
from penstock.spark.runtime import Runtime
from penstock.sql import (
    Catalog,
    PlanningSession,
    TableDefinition,
    Tables,
    ViewDefinition,
    apply_script,
    bound,
    catalog_from_json,
    catalog_to_json,
    declare_function,
    declare_view,
    relation_rows,
)
from penstock.sql.catalog import register, restored_on_error
from penstock.sql.lost_jvm import with_jvm
from penstock.storage import open_backend

__all__ = ["Mode", "Pipeline"]

Mode = Literal["resident", "staged"]


class Pipeline:
    """Tables, views, and the state behind them.

    ``storage`` is a folder that the driver and all workers can reach; state found there is resumed, with the
    tables and views stored in it. ``workers`` is how many Spark tasks share the work (any number can resume
    any state). ``mode`` is ``"resident"`` (workers stay up between steps) or ``"staged"`` (each step is one
    Spark job). ``spark`` is a classic session; by default the active one, or else an embedded ``local[W+2]``.

    State becomes a new version every ``commit_interval_s`` seconds (a crash loses nothing in between: the
    input log has it). Changes of views can be read for ``retained_steps`` steps. With ``compact`` state is
    stored compressed: it takes a fraction of the space, but commits cost more, and opening must unpack it
    instead of mapping it. ``memory`` is what the state of one worker may take in memory (a number of bytes,
    or a text such as ``"2g"``); what exceeds it is on disk, and read when it is needed. Without it, workers
    share half of the machine's memory. Both can be chosen for each run.

    The newest two versions can always be opened. ``retain_versions`` and ``retain_for`` keep more: so many,
    and those made in that time (a timedelta, seconds, or a text such as ``"2h"``). Both are stored with the
    state and apply until a run gives others. ``version`` opens one of them to be read, also while the
    pipeline runs: see :meth:`versions`.

    >>> import penstock as ps
    >>> pipe = ps.Pipeline("shop", storage=tmp_path / "shop")
    >>> pipe.sql('''
    ...   CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(12,2));
    ...   CREATE MATERIALIZED VIEW revenue AS
    ...     SELECT customer, count(*) AS orders, sum(amount) AS total FROM orders GROUP BY customer;
    ... ''')
    """

    def __init__(
        self,
        name: str,
        storage: str | os.PathLike[str],
        *,
        workers: int = 2,
        mode: Mode = "resident",
        spark: SparkSession | None = None,
        commit_interval_s: float = 1.0,
        retained_steps: int = 1000,
        compact: bool = False,
        memory: int | str | None = None,
        retain_versions: int | None = None,
        retain_for: RetainFor | None = None,
        version: int | None = None,
    ) -> None:
        check_arguments(name, workers, mode, commit_interval_s, retained_steps)
        self._retain = Retain.of(retain_versions, retain_for)
        self.name, self.workers, self.mode = name, workers, mode
        self._layout = Layout.even(workers)
        self._commit_interval_s, self._retained_steps = commit_interval_s, retained_steps
        self._compact, self._memory = compact, parse_memory(memory)
        url = str(storage)
        self._backend = open_backend(str(Path(url).absolute()) if "://" not in url else url)
        # A version that is only read; None if the pipeline is to go on from the newest one.
        self._opened = None if version is None else open_state(self._backend, name, version)
        stored = (self._opened or PipelineStore(self._backend, name)).version.catalog
        with with_jvm():
            self.spark = find_or_make_session(name, workers)[0] if spark is None else spark
            self._planning = PlanningSession(self.spark, stored["settings"] if stored else None)
        self._unplanned: dict[str, Any] | None = None if stored is None else dict(stored)
        # the declared catalogue; the one that the state in the storage belongs to
        self._known = self._stored = Catalog()
        self._registered = True  # whether the planning session has the relations of the catalogue
        self._circuit = GrowingCircuit()
        self._run: Run | None = None

    def clone(
        self, storage: str | os.PathLike[str], *, workers: int | None = None, mode: Mode | None = None
    ) -> Pipeline:
        """The same tables and views over another, empty storage, with other workers or another mode.

        Nothing is planned again, which for many views saves most of the time to open them."""
        other = Pipeline(
            self.name,
            storage,
            workers=self.workers if workers is None else workers,
            mode=self.mode if mode is None else mode,
            spark=self.spark,
            commit_interval_s=self._commit_interval_s,
            retained_steps=self._retained_steps,
            compact=self._compact,
            memory=self._memory,
            retain_versions=self._retain.versions,
            retain_for=None if self._retain.for_us is None else timedelta(microseconds=self._retain.for_us),
        )
        if other._unplanned is not None:
            raise PipelineError(f"{other._backend.url} is not empty: it holds a pipeline with its own tables")
        other._planning = PlanningSession(self.spark, self._planning.settings)
        other._known, other._registered = self.catalog, False
        return other

    # ---- declaring --------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """All tables and views. On first use, those stored with the state are planned again; views that need
        functions which this program has not declared yet are pending."""
        if self._unplanned is not None:
            with with_jvm():
                self._known = catalog_from_json(self._planning, self._unplanned)
            self._stored, self._unplanned = self._known, None
        return self._known

    @property
    def tables(self) -> dict[str, TableDefinition]:
        """The tables by name."""
        return self.catalog.tables

    @property
    def views(self) -> dict[str, ViewDefinition]:
        """The views by name, without those that need a function which is not declared yet."""
        return self.catalog.views

    @with_jvm()
    def sql(self, script: str, *, replace: bool = False) -> tuple[str, ...]:
        """Applies a script of CREATE TABLE, CREATE [MATERIALIZED] VIEW and DROP statements.

        If any statement is rejected, nothing of the script takes effect. Declaring again what already exists
        is fine, so a script can be run again to resume its pipeline. A definition that differs from the
        stored one is a :class:`~penstock.errors.DefinitionChanged`; with ``replace``, views that differ are
        dropped and created again, and so are the views that read them. The next run fills them from the
        tables. Tables are never replaced. Returns the names of the views that were replaced.
        """
        self._check_not_running()
        self._register()
        before = self.catalog
        with restored_on_error(self._planning, before):
            catalog = apply_script(self._planning, before, script, allow_same=True, replace_views=replace)
            catalog = bound(self._planning, catalog)
            self._circuit.plan(catalog)
        self._known = catalog
        return self._replaced(before) if replace else ()

    def _replaced(self, before: Catalog) -> tuple[str, ...]:
        """The views whose definition has changed, or that read one whose definition has."""
        changed = [
            relation.name
            for relation in self._known.relations
            if (old := before.find(relation.name)) is not None
            and isinstance(relation, ViewDefinition)
            and not isinstance(old, TableDefinition)
            and relation.fingerprint != old.fingerprint
        ]
        affected = {*changed, *(reader for name in changed for reader in self._known.readers(name))}
        return tuple(
            relation.name
            for relation in self._known.relations
            if relation.name in affected and before.find(relation.name) is not None
        )

    @with_jvm()
    def function(
        self, name: str, function: Callable[..., Any], *, returns: DataType | str | None = None
    ) -> None:
        """Declares a Python function that views can call in SQL: the result of ``udf`` or ``pandas_udf`` of
        ``pyspark.sql.functions``, or a plain function and the SQL type it ``returns``.

        It must return one value for each row, and be deterministic. It is not stored: when the pipeline is
        opened again, declare it again before ``run()``.
        """
        self._check_not_running()
        users = [
            view.name for view in self._known.views.values() if name.lower() in map(str.lower, view.functions)
        ]
        if users:
            raise PipelineError(f"function {name} is used by {', '.join(users)}; drop those views first")
        declare_function(self._planning, name, function, returns)
        if self._known.pending:
            self._register()
            self._known = bound(self._planning, self._known)

    @with_jvm()
    def view(
        self,
        name: str,
        function: Callable[[Tables], DataFrame],
        *,
        comment: str = "",
        keeps_rows: bool = True,
        replace: bool = False,
    ) -> None:
        """Declares a materialised view by a function from the pipeline's tables to a DataFrame. A view that
        does not keep its rows (``TBLPROPERTIES ('keepRows' = 'false')`` in SQL) costs less; its changes can
        be read, but not its rows.

        The function is not stored: when the pipeline is opened again, declare the view again before
        ``run()``, in any order with ``sql`` and ``function``. A function that gives another plan than before
        is rejected, or with ``replace`` replaces the old view; views that read it are created again as well.
        """
        self._check_not_running()
        self._register()
        with restored_on_error(self._planning, self.catalog):
            catalog = declare_view(
                self._planning,
                self.catalog,
                name,
                function,
                comment=comment,
                keeps_rows=keeps_rows,
                replace_view=replace,
            )
            self._circuit.plan(catalog)
        self._known = catalog

    def _register(self) -> None:
        """Registers the catalogue in the planning session, if it is not registered yet."""
        if not self._registered:
            self._planning.clear()
            for relation in self._known.relations:
                register(self._planning, relation)
            self._registered = True

    def _check_not_running(self) -> None:
        if self._run is not None:
            raise PipelineError("the pipeline is running; close the run before changing tables or views")

    # ---- looking ----------------------------------------------------------------------------------

    @with_jvm()
    def program(self) -> Program:
        """The circuit of all views, cut into fragments and levels."""
        return self._circuit.program(self.catalog)

    @with_jvm()
    def explain(self, view: str | None = None) -> str:
        """How a view (or everything) is computed: plan, operators, state, levels."""
        return explain_text(self.catalog, self.program(), view)

    def versions(self) -> tuple[VersionInfo, ...]:
        """The versions that can be opened, oldest first: ``Pipeline(…, version=number)`` reads one."""
        return versions_in(self._backend)

    def __repr__(self) -> str:
        return f"<Pipeline {self._title}: {', '.join(row[0] for row in self._listing) or 'no tables yet'}>"

    def _repr_html_(self) -> str:
        return html_table(f"Pipeline {self._title}", ("name", "kind", "key", "columns"), self._listing)

    @property
    def _title(self) -> str:
        running = "running" if self._run is not None else "not running"
        if self._opened is not None:
            running = f"version {self._opened.version.number}, read-only"
        workers = counted(self.workers, "worker")
        return f"{self.name!r} in {self._backend.url}, {workers}, {self.mode}, {running}"

    @property
    def _listing(self) -> list[tuple[str, str, str, str]]:
        """All tables and views, without planning anything: displaying a pipeline must be fast and must not
        fail."""
        stored = self._unplanned or catalog_to_json(self._known, self._planning.settings)
        return relation_rows(stored)

    # ---- running ----------------------------------------------------------------------------------

    @with_jvm()
    def run(self) -> Run:
        """Starts the workers and resumes the state; use the result in a ``with`` block.

        New views are filled from the existing rows. Stored views that need a function which this program has
        not declared are suspended, with a warning: they miss the steps of this run, and are recomputed when
        they are declared again. If an expression of a new view fails on existing rows, the error is raised
        here, and nothing that was declared since the last run takes effect.
        """
        self._check_not_running()
        if self._opened is not None:
            return self._run_of(self._open_version(self._opened))
        self._stored = taken_up(self._stored, self.catalog)
        check_can_run(self._planning, self.catalog)
        self._finish_logged_steps()
        coordinator = self._coordinator(self.catalog)
        try:
            arrangements = coordinator.store.version.arrangements
            check_can_be_filled(coordinator.program, self.catalog, self._stored, arrangements)
            coordinator.open()
            run = self._run_of(coordinator)
            self._stored = self.catalog
            return run
        except EvaluationError as error:
            coordinator.kill()
            self._known, self._registered = self._stored, False
            reason = "the rows that are there; nothing declared since the last run was created"
            raise EvaluationError(
                error.condition, f"{error.message}, on {reason}", view=error.view, expression=error.expression
            ) from error
        except BaseException:
            # The caller gets no run to close, so all that one holds is released here.
            release = coordinator.kill if self._run is None else self._run.kill
            release()
            raise

    def _open_version(self, state: StoredState) -> OpenedVersion:
        opened = OpenedVersion(self.program(), state, self._backend)
        opened.open()
        return opened

    def _run_of(self, coordinator: Coordinator | OpenedVersion) -> Run:
        self._run = Run(
            self.spark,
            self.catalog,
            self._planning.settings,
            coordinator,
            functions=self._planning.functions.values(),
            backend=self._backend,
            describe=self._describe,
            on_close=self._closed,
        )
        return self._run

    def _finish_logged_steps(self) -> None:
        """Runs what a crash left in the input log with the tables and views it was logged for, before others
        replace them: a new view must not fail on a step that has already happened."""
        catalog = self.catalog
        if self._stored.relations in ((), catalog.relations):
            return
        coordinator = self._coordinator(self._stored)
        try:
            if coordinator.has_logged_steps():
                coordinator.open()
                coordinator.close()
        finally:
            coordinator.kill()

    def _coordinator(self, catalog: Catalog) -> Coordinator:
        program = self._circuit.program(catalog)
        store = PipelineStore(self._backend, self.name, self._retain)
        factory = partial(
            make_worker,
            program,
            self._layout,
            self._backend.url,
            store.seed,
            self._compact,
            None if self._memory is None else MemoryBudget(self._memory),
            self._retained_steps,
        )
        crew = Crew(self.name, self.workers, program.levels, factory, self._memory)
        runtime: Runtime
        runtime = (
            ResidentRuntime(self.spark, crew) if self.mode == "resident" else StagedRuntime(self.spark, crew)
        )
        return Coordinator(
            program,
            self._layout,
            store,
            runtime,
            catalog=catalog_to_json(catalog, self._planning.settings),
            commit_interval_s=self._commit_interval_s,
            retained_steps=self._retained_steps,
        )

    def _describe(self) -> dict[str, object]:
        return {
            "name": self.name,
            "storage": self._backend.url,
            "workers": self.workers,
            "mode": self.mode,
        }

    def _closed(self) -> None:
        self._run = None
