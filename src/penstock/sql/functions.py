"""Python functions that SQL can call by name, declared by the pipeline's program on every start.

Code is not stored: a function is only registered in the planning session. The names that each view calls are
stored, so a pipeline that is opened without one of them can say which.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf as make_udf
from pyspark.sql.types import DataType

from penstock.errors import SqlError, UnsupportedQuery
from penstock.sql.python_nodes import check_kind
from penstock.sql.session import PlanningSession, translated_errors

__all__ = ["declare_function", "register_functions"]


def declare_function(
    planning: PlanningSession, name: str, function: Callable[..., Any], returns: DataType | str | None
) -> None:
    """Registers a function in the planning session under ``name``; rejects those that no view could use."""
    if not name.isidentifier():
        raise SqlError(f"{name!r} cannot be the name of a function; use letters, digits and underscores")
    if name.lower() not in planning.functions and planning.spark.catalog.functionExists(name):
        raise SqlError(f"there is already a function {name} in Spark; choose another name")
    try:
        with planning.active(), translated_errors():
            made = _made(name, function, returns)
            planning.functions[name.lower()] = planning.spark.udf.register(name, made)
    except SqlError as error:
        raise SqlError(f"function {name}: {error}") from None


def _made(name: str, function: Any, returns: DataType | str | None) -> Any:
    """The function as PySpark's object."""
    if hasattr(function, "asNondeterministic") and hasattr(function, "evalType"):
        if returns is not None:
            raise SqlError("a UDF has its result type already; leave returns= out")
        made = function
    elif not callable(function) or hasattr(function, "evalType"):
        raise SqlError(
            f"a {type(function).__name__} was given; give a Python function or what "
            "pyspark.sql.functions.udf or pandas_udf returns"
        )
    elif returns is None:
        raise SqlError("say what it returns, such as returns='STRING'")
    else:
        with warnings.catch_warnings():
            # PySpark warns about the annotations of any function that are not pandas' or Arrow's types.
            warnings.filterwarnings("ignore", "Cannot infer the eval type")
            made = make_udf(function, returns)
    check_kind(name, made.evalType, "")
    if not made.deterministic:
        raise UnsupportedQuery(
            f"the Python function {name}",
            reason="it is declared asNondeterministic(): for a deleted row it must return what it returned "
            "when the row was inserted",
            advice="Let it depend on its arguments alone",
        )
    return made


def register_functions(session: SparkSession, functions: Iterable[Any]) -> None:
    """The same functions in another session, for the query that a view is compared with."""
    for function in functions:
        session.udf.register(function._name, function)
