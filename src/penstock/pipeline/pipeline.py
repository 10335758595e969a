"""The pipeline: tables and views declared in Spark SQL or as DataFrames, and where their state lives."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program, cut
from penstock.errors import EvaluationError, PipelineError
from penstock.pipeline.coordinator import Coordinator
from penstock.pipeline.explain import explain_text
from penstock.pipeline.filling import check_can_be_filled
from penstock.pipeline.run import Run
from penstock.pipeline.store import PipelineStore
from penstock.pipeline.tables import TableSchema
from penstock.schedule.worker import make_worker
from penstock.spark import Crew, ResidentRuntime, StagedRuntime, find_or_make_session
from penstock.spark.runtime import Runtime
from penstock.sql import (
    Catalog,
    PlanningSession,
    TableDefinition,
    Tables,
    ViewDefinition,
    add_view,
    apply_script,
    catalog_from_json,
    catalog_to_json,
    declare_function,
    one_function_each,
)
from penstock.sql.catalog import register
from penstock.sql.planner import Planner
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
    stored compressed: a fraction of the space, but commits cost more, and opening unpacks what it otherwise
    only maps. This may be chosen anew for each run.

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
    ) -> None:
        if mode not in ("resident", "staged"):
            raise PipelineError(f"mode is 'resident' or 'staged', not {mode!r}")
        if retained_steps < 1:
            raise PipelineError(f"retained_steps is at least 1 (the last step), not {retained_steps}")
        self.name, self.workers, self.mode = name, workers, mode
        self._layout = Layout.even(workers)
        self._commit_interval_s, self._retained_steps = commit_interval_s, retained_steps
        self._compact = compact
        url = str(storage)
        self._backend = open_backend(str(Path(url).absolute()) if "://" not in url else url)
        stored = PipelineStore(self._backend, name).body["catalog"]
        if spark is None:
            spark, _ = find_or_make_session(name, workers)
        self.spark = spark
        self._planning = PlanningSession(spark, stored["settings"] if stored else None)
        self._functions: dict[str, Callable[[Tables], DataFrame]] = {}
        self._unplanned: dict[str, Any] | None = stored
        self._known = self._stored = Catalog()  # what is declared; what the state in the storage belongs to
        self._registered = True  # whether the planning session has the relations of the catalogue
        self._run: Run | None = None

    def anew(
        self, storage: str | os.PathLike[str], *, workers: int | None = None, mode: Mode | None = None
    ) -> Pipeline:
        """The same tables and views over another, empty storage, with other workers or another mode.

        Nothing is planned again, which for many views saves most of the time to open them."""
        other = Pipeline(
            self.name,
            storage,
            workers=workers or self.workers,
            mode=mode or self.mode,
            spark=self.spark,
            commit_interval_s=self._commit_interval_s,
            retained_steps=self._retained_steps,
            compact=self._compact,
        )
        if other._unplanned is not None:
            raise PipelineError(f"{other._backend.url} is not empty: it holds a pipeline with its own tables")
        other._planning = PlanningSession(self.spark, self._planning.settings)
        other._known, other._registered = self.catalog, False
        return other

    # ---- declaring --------------------------------------------------------------------------------

    @property
    def catalog(self) -> Catalog:
        """All tables and views. On first use, those stored with the state are planned again."""
        if self._unplanned is not None:
            self._known = catalog_from_json(self._planning, self._unplanned, self._functions)
            self._stored, self._unplanned = self._known, None
        return self._known

    @property
    def tables(self) -> dict[str, TableDefinition]:
        """The tables by name."""
        return self.catalog.tables

    @property
    def views(self) -> dict[str, ViewDefinition]:
        """The views by name."""
        return self.catalog.views

    def sql(self, script: str) -> None:
        """Applies a script of CREATE TABLE, CREATE [MATERIALIZED] VIEW and DROP statements.

        If any statement is refused, nothing of the script takes effect. Declaring again exactly what is
        there already is fine, so a script can be run again to resume its pipeline.
        """
        self._check_not_running()
        self._register()
        catalog = apply_script(self._planning, self.catalog, script, allow_same=True)
        self._check_plannable(catalog)
        self._known = catalog

    def function(
        self, name: str, function: Callable[..., Any], *, returns: DataType | str | None = None
    ) -> None:
        """Declares a Python function that views can call in SQL: what ``udf`` or ``pandas_udf`` of
        ``pyspark.sql.functions`` gives, or a plain function and the SQL type it ``returns``.

        It must give one value for each row, the same whenever it is called with the same arguments. It is not
        stored: when the pipeline is opened again, declare it again, before anything else.
        """
        self._check_not_running()
        users = [
            view.name for view in self._known.views.values() if name.lower() in map(str.lower, view.functions)
        ]
        if users:
            raise PipelineError(f"function {name} is used by {', '.join(users)}; drop those views first")
        declare_function(self._planning, name, function, returns)

    def view(
        self,
        name: str,
        function: Callable[[Tables], DataFrame],
        *,
        comment: str = "",
        keeps_rows: bool = True,
    ) -> None:
        """Declares a materialised view by a function from the pipeline's tables to a DataFrame. A view that
        does not keep its rows (``TBLPROPERTIES ('keepRows' = 'false')`` in SQL) costs less; its changes can
        be followed, but it cannot be read.

        The function is not stored: when the pipeline is opened again, declare the view again.
        """
        self._check_not_running()
        if self._unplanned is not None and self._awaits(name):
            self._functions[name] = function
            return
        self._register()
        catalog = add_view(
            *(self._planning, self.catalog, name, function), comment=comment, keeps_rows=keeps_rows
        )
        self._check_plannable(catalog)
        self._known = catalog

    def _awaits(self, name: str) -> bool:
        assert self._unplanned is not None
        return any(
            item["kind"] == "view" and item["query"] is None and item["name"] == name
            for item in self._unplanned["relations"]
        )

    def _check_plannable(self, catalog: Catalog) -> None:
        """Refuses what the importer takes but the circuit cannot do, before anything is kept."""
        try:
            self._program(catalog)
        except BaseException:
            self._registered = False
            raise

    def _register(self) -> None:
        """Brings the planning session to the catalogue, if it is not there: planning needs it."""
        if not self._registered:
            self._planning.clear()
            for relation in self._known.relations:
                register(self._planning, relation)
            self._registered = True

    def _check_not_running(self) -> None:
        if self._run is not None:
            raise PipelineError("the pipeline is running; close the run before changing tables or views")

    # ---- looking ----------------------------------------------------------------------------------

    def program(self) -> Program:
        """The circuit of all views, cut into fragments and levels."""
        return self._program(self.catalog)

    def explain(self, view: str | None = None) -> str:
        """How a view (or everything) is computed: plan, operators, state, levels."""
        return explain_text(self.catalog, self.program(), view)

    @staticmethod
    def _program(catalog: Catalog) -> Program:
        one_function_each((view.name, view.plan) for view in catalog.views.values())
        planner = Planner()
        for relation in catalog.relations:
            if isinstance(relation, ViewDefinition):
                if relation.materialized:
                    planner.add_view(relation.name, relation.plan, keeps_rows=relation.keeps_rows)
                continue
            table = TableSchema.of(relation)
            names = relation.schema.names
            if table.append_only:
                planner.add_append_table(
                    table.name, table.arrow_schema, relation.incarnation, keeps_rows=table.keeps_rows
                )
            else:
                key = tuple(names.index(column) for column in table.primary_key)
                planner.add_table(
                    table.name, table.arrow_schema, key, relation.incarnation, static=table.static
                )
        return cut(planner.build())

    # ---- running ----------------------------------------------------------------------------------

    def run(self) -> Run:
        """Starts the workers and resumes the state; use the result in a ``with`` block.

        New views are filled from the rows that are there. If an expression of one fails on them, the error is
        raised here, and nothing that was declared since the last run takes effect.
        """
        self._check_not_running()
        self._finish_logged_steps()
        coordinator = self._coordinator(self.catalog)
        try:
            arrangements = coordinator.store.body["arrangements"]
            check_can_be_filled(coordinator.program, self.catalog, self._stored, arrangements)
            coordinator.open()
        except EvaluationError as error:
            coordinator.kill()
            self._known, self._registered = self._stored, False
            reason = "the rows that are there; nothing declared since the last run was created"
            raise EvaluationError(
                error.condition, f"{error.message}, on {reason}", view=error.view, expression=error.expression
            ) from error
        except BaseException:
            coordinator.kill()
            raise
        self._stored = self.catalog
        self._run = Run(
            self.spark,
            self.catalog,
            self._planning.settings,
            coordinator,
            functions=self._planning.functions.values(),
            describe=self._describe,
            on_close=self._closed,
        )
        return self._run

    def _finish_logged_steps(self) -> None:
        """Runs what a crash left in the input log under the tables and views it was logged for, before others
        take their place: a new view must not fail on a step that has happened."""
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
        program = self._program(catalog)
        store = PipelineStore(self._backend, self.name)
        factory = partial(
            make_worker,
            *(program, self._layout, self._backend.url, store.seed, self._compact, self._retained_steps),
        )
        crew = Crew(self.name, self.workers, program.levels, factory)
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
