"""A view: its query, the plan it becomes, and the schema Spark gives it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.errors import SqlError, UnsupportedQuery
from penstock.sql.column_list import ViewColumn, described, without_types
from penstock.sql.explain import order_text, plan_tree
from penstock.sql.importer import Importer, import_plan
from penstock.sql.jvm import QUERY_EXECUTION, QUERY_PLAN, spark_jvm
from penstock.sql.notes import Note
from penstock.sql.plan import Plan, SortKey
from penstock.sql.refusals import Found, check_repeatable
from penstock.sql.schemas import check_columns, check_type
from penstock.sql.session import PlanningSession, Tables, quoted_if_needed, translated_errors
from penstock.sql.text_lengths import length_metadata
from penstock.sql.tree import read_plan

__all__ = [
    "DataFrameFunction",
    "PendingView",
    "Query",
    "ViewDefinition",
    "import_again",
    "import_view",
    "query_of",
    "view_frame",
]

DataFrameFunction = Callable[[Tables], DataFrame]
Query = str | DataFrameFunction

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ViewDefinition:
    """A view of the pipeline, planned.

    ``query`` is the SQL text as written, or None for a view made by a DataFrame function, which cannot be
    stored and is declared again on every start. ``keeps_rows``: whether a stored view can be read, or only
    its changes. ``columns`` renames the output (``CREATE VIEW v (a, b)``). ``uses`` names the tables and
    views the query reads, through views that are not stored as well, and ``functions`` the declared Python
    functions it calls. ``notes`` say where the query leaves its answer open and what is answered.
    """

    name: str
    plan: Plan
    schema: StructType
    order_by: tuple[SortKey, ...]
    materialized: bool
    query: str | None
    uses: tuple[str, ...]
    columns: tuple[ViewColumn, ...] = ()
    comment: str = ""
    function: DataFrameFunction | None = field(default=None, compare=False, repr=False)
    functions: tuple[str, ...] = ()
    keeps_rows: bool = True
    notes: tuple[Note, ...] = field(default=(), compare=False)

    @property
    def plan_text(self) -> str:
        """The plan and the order, for people."""
        order = f"\nORDER BY {order_text(self.order_by)}" if self.order_by else ""
        return plan_tree(self.plan) + order

    @property
    def fingerprint(self) -> str:
        """Equal for equal plans over equal types; state on disk belongs to a plan."""
        text = f"{plan_tree(self.plan, types=True)}\norder {order_text(self.order_by)}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class PendingView:
    """A stored view that is not planned yet, because something its query needs is not declared: the DataFrame
    function that makes it, a Python function that it calls, or another pending view that it reads.

    ``fingerprint`` is that of the plan which the state on disk belongs to, and ``plan_text`` that plan as
    text (only for views made by a DataFrame function: the others have their query). ``declared`` says that
    this program asked for the view. ``problem`` says why a view whose needs are all met could not take up
    its state: it is planned differently now.
    """

    name: str
    schema: StructType
    materialized: bool
    query: str | None
    uses: tuple[str, ...]
    fingerprint: str
    columns: tuple[ViewColumn, ...] = ()
    comment: str = ""
    functions: tuple[str, ...] = ()
    keeps_rows: bool = True
    plan_text: str = ""
    function: DataFrameFunction | None = field(default=None, compare=False, repr=False)
    declared: bool = field(default=False, compare=False)
    problem: str = field(default="", compare=False)


def import_view(
    planning: PlanningSession,
    name: str,
    query: Query,
    *,
    materialized: bool = True,
    keeps_rows: bool = True,
    columns: tuple[ViewColumn, ...] = (),
    comment: str = "",
    line: int = 1,
    column: int = 0,
) -> ViewDefinition:
    """Plans a view; raises SqlError or UnsupportedQuery if it cannot be one.

    ``line`` and ``column`` say where the query stands in its script, for messages.
    """
    _log.info("planning %s", name)
    text = query if isinstance(query, str) else None
    frame = view_frame(planning, name, query, columns=columns, line=line, column=column)
    execution = frame._jdf.queryExecution()
    analysed = execution.analyzed()
    with translated_errors():
        spark_jvm().deep(QUERY_PLAN, "schema", analysed)  # which the plan keeps
        fields = frame.schema.fields
    schema = StructType([StructField(f.name, f.dataType, f.nullable, length_metadata(f)) for f in fields])
    check_columns(schema, f"view {name}", _own_names(name, schema, materialized))
    for item in schema.fields:
        check_type(item.dataType, f"{item.name} of view {name}")
    try:
        schema = described(schema, columns)
    except SqlError as error:
        raise SqlError(f"view {name}: {error}") from None
    with planning.active(), translated_errors():
        found = Found.of(analysed)
        check_repeatable(analysed, found, text, name)
        optimised = spark_jvm().deep(QUERY_EXECUTION, "optimizedPlan", execution)
        tree = read_plan(optimised)
    importer = Importer(
        name,
        planning.relations,
        planning.keys,
        planning.ansi,
        planning.timezone,
        planning.local_rows,
        planning.last_key_wins,
        planning.shortest,
        planning.python_conf,
    )
    plan, order_by = import_plan(importer, tree, schema)
    uses = _used_names(found, planning)
    function = None if isinstance(query, str) else query
    functions = _called_functions(found, planning)
    return ViewDefinition(
        name,
        plan,
        schema,
        order_by,
        materialized,
        text,
        uses,
        without_types(columns),
        comment,
        function,
        functions,
        keeps_rows,
        tuple(importer.notes),
    )


def import_again(planning: PlanningSession, view: ViewDefinition | PendingView) -> ViewDefinition:
    """The view planned anew, over the relations as they are registered now."""
    return import_view(
        planning,
        view.name,
        query_of(view),
        materialized=view.materialized,
        keeps_rows=view.keeps_rows,
        columns=view.columns,
        comment=view.comment,
    )


def query_of(view: ViewDefinition | PendingView) -> Query:
    """The SQL text or the DataFrame function that makes a view."""
    query = view.query if view.function is None else view.function
    assert query is not None
    return query


def _own_names(view: str, schema: StructType, materialized: bool) -> str:
    """What to do about columns of the same name: the column list that tells them apart."""
    names: list[str] = []
    for name in schema.names:
        taken = [other.lower() for other in names]
        spare = (f"{name}_{number}" for number in range(2, len(schema.names) + 2))
        names.append(next(free for free in (name, *spare) if free.lower() not in taken))
    kind = "MATERIALIZED VIEW" if materialized else "VIEW"
    listed = ", ".join(map(quoted_if_needed, names))
    return f"give each its own alias, or name the columns: CREATE {kind} {view} ({listed}) AS …"


def view_frame(
    planning: PlanningSession,
    name: str,
    query: Query,
    *,
    columns: tuple[ViewColumn, ...] = (),
    line: int = 1,
    column: int = 0,
) -> DataFrame:
    """The DataFrame of a view's query in the planning session.

    Blank space before the query makes Spark count lines and columns as the script does.
    """
    try:
        if isinstance(query, str):
            frame = planning.query("\n" * (line - 1) + " " * column + query)
        else:
            frame = _called(planning, name, query)
        if columns and len(columns) != len(frame.columns):
            raise SqlError(f"{len(columns)} column names for a query of {len(frame.columns)} columns")
        with translated_errors():
            return frame.toDF(*(item.name for item in columns)) if columns else frame
    except SqlError as error:
        raise SqlError(f"view {name}: {error}") from None


def _called(planning: PlanningSession, name: str, function: DataFrameFunction) -> DataFrame:
    with planning.active(), translated_errors(planning.names):
        frame = function(planning.tables)
    if not isinstance(frame, DataFrame):
        raise SqlError(f"its function returned {type(frame).__name__}, not a DataFrame")
    if frame.sparkSession._jsparkSession != planning.spark._jsparkSession:
        raise UnsupportedQuery(
            "a DataFrame that is not of this pipeline",
            place=f"view {name}",
            advice="Build it from the tables the function is given",
        )
    return frame


def _used_names(found: Found, planning: PlanningSession) -> tuple[str, ...]:
    """The pipeline's relations and views in a plan, subqueries included, in the order of their names."""
    names = {str(view.desc().identifier().table()) for view in found.plans_of("View")}
    return tuple(sorted(planning.declared_name(name) for name in names))


def _called_functions(found: Found, planning: PlanningSession) -> tuple[str, ...]:
    """The declared Python functions in a plan, even those whose results nobody reads, in order of names."""
    names = {str(call.name()).lower() for call in found.expressions_of("PythonUDF")}
    return tuple(sorted(planning.functions[name]._name for name in names & planning.functions.keys()))
