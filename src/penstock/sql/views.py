"""A view: its query, the plan it becomes, and the schema Spark gives it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.errors import SqlError, UnsupportedQuery
from penstock.sql.explain import order_text, plan_tree
from penstock.sql.importer import Importer, import_plan
from penstock.sql.plan import Plan, SortKey
from penstock.sql.refusals import check_repeatable
from penstock.sql.schemas import check_columns, plain_type
from penstock.sql.session import PlanningSession, Tables, translated_errors
from penstock.sql.tree import read_plan

__all__ = ["DataFrameFunction", "Query", "ViewDefinition", "import_view", "view_frame"]

DataFrameFunction = Callable[[Tables], DataFrame]
Query = str | DataFrameFunction


@dataclass(frozen=True)
class ViewDefinition:
    """A view of the pipeline, planned.

    ``query`` is the SQL text as written, or None for a view made by a DataFrame function, which cannot be
    stored and is declared again on every start. ``keeps_rows``: whether a stored view can be read, or only
    its changes. ``columns`` renames the output (``CREATE VIEW v (a, b)``). ``uses`` names the tables and
    views the query reads, through views that are not stored as well, and ``functions`` the declared Python
    functions it calls.
    """

    name: str
    plan: Plan
    schema: StructType
    order_by: tuple[SortKey, ...]
    materialized: bool
    query: str | None
    uses: tuple[str, ...]
    columns: tuple[str, ...] = ()
    comment: str = ""
    function: DataFrameFunction | None = field(default=None, compare=False, repr=False)
    functions: tuple[str, ...] = ()
    keeps_rows: bool = True

    @property
    def fingerprint(self) -> str:
        """Equal for equal plans over equal types; state on disk belongs to a plan."""
        text = f"{plan_tree(self.plan, types=True)}\norder {order_text(self.order_by)}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def import_view(
    planning: PlanningSession,
    name: str,
    query: Query,
    *,
    materialized: bool = True,
    keeps_rows: bool = True,
    columns: tuple[str, ...] = (),
    comment: str = "",
    line: int = 1,
    column: int = 0,
) -> ViewDefinition:
    """Plans a view; raises SqlError or UnsupportedQuery if it cannot be one.

    ``line`` and ``column`` say where the query stands in its script, for messages.
    """
    text = query if isinstance(query, str) else None
    frame = view_frame(planning, name, query, columns=columns, line=line, column=column)
    with translated_errors():
        fields = frame.schema.fields
    schema = StructType([StructField(f.name, f.dataType, f.nullable) for f in fields])
    check_columns(schema, f"view {name}")
    for item in schema.fields:
        plain_type(item.dataType, f"{item.name} of view {name}")
    execution = frame._jdf.queryExecution()
    analysed = execution.analyzed()
    check_repeatable(analysed, text, name)
    with planning.active(), translated_errors():
        optimised = execution.optimizedPlan()
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
    plan, order_by = import_plan(importer, read_plan(optimised), schema)
    uses = _used_names(analysed, planning)
    function = None if isinstance(query, str) else query
    functions = _called_functions(analysed, planning)
    return ViewDefinition(
        *(name, plan, schema, order_by, materialized, text, uses, columns, comment, function, functions),
        keeps_rows,
    )


def view_frame(
    planning: PlanningSession,
    name: str,
    query: Query,
    *,
    columns: tuple[str, ...] = (),
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
        return frame.toDF(*columns) if columns else frame
    except SqlError as error:
        raise SqlError(f"view {name}: {error}") from None


def _called(planning: PlanningSession, name: str, function: DataFrameFunction) -> DataFrame:
    with planning.active(), translated_errors():
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


_VIEW_NAME = re.compile(
    r'"class":"org\.apache\.spark\.sql\.catalyst\.plans\.logical\.View".*?"table":"((?:[^"\\]|\\.)*)"'
)


def _used_names(analysed: Any, planning: PlanningSession) -> tuple[str, ...]:
    """The pipeline's relations and views in a plan, subqueries included, in the order of their names."""
    found = {json.loads(f'"{name}"') for name in _VIEW_NAME.findall(analysed.toJSON())}
    return tuple(sorted(planning.declared_name(name) for name in found))


_FUNCTION_NAME = re.compile(
    r'"class":"org\.apache\.spark\.sql\.catalyst\.expressions\.PythonUDF","num-children":\d+,"name":"(\w+)"'
)


def _called_functions(analysed: Any, planning: PlanningSession) -> tuple[str, ...]:
    """The declared Python functions in a plan, even those whose results nobody reads, in order of names."""
    found = {name.lower() for name in _FUNCTION_NAME.findall(analysed.toJSON())}
    return tuple(sorted(planning.functions[name]._name for name in found & planning.functions.keys()))
