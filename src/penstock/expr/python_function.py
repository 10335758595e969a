"""A Python function that a query calls, as plain data.

A call of one is ``Call("PythonUDF", args)`` with the function among its options. ``command`` is what PySpark
made of the function and its result type (cloudpickle); it is compared, so two functions of one name are not
taken for one another, and it travels to the workers inside the program, by Spark's own task shipping. It is
*not* in the text form, from which names of stored state are made: the same function pickled by another
process may be other bytes. So within a pipeline one name must mean one function, which the SQL front end
checks, and nothing is ever stored of a function but its name, kind and type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql.types import DataType
from pyspark.util import PythonEvalType

from penstock.expr.nodes import Call

__all__ = ["CALL", "KINDS", "PANDAS", "PANDAS_ITERATOR", "PICKLED", "PythonFunction", "call_text"]

CALL = "PythonUDF"
"""The function name of such a call."""

PICKLED = PythonEvalType.SQL_BATCHED_UDF
PANDAS, PANDAS_ITERATOR = PythonEvalType.SQL_SCALAR_PANDAS_UDF, PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF
KINDS = frozenset(
    {
        PICKLED,
        PythonEvalType.SQL_ARROW_BATCHED_UDF,
        PANDAS,
        PANDAS_ITERATOR,
        PythonEvalType.SQL_SCALAR_ARROW_UDF,
        PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF,
    }
)
"""The kinds of functions that give one value for each row, as PySpark numbers them."""


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """One function: its name, its kind, the type it declares to return, and PySpark's bytes of it."""

    name: str
    kind: int
    returns: DataType
    command: bytes = field(repr=False)


def call_text(call: Call, args: Sequence[str]) -> str:
    """A call for people: ``outer(inner(a, b))`` where two functions are applied one after the other."""
    names: Sequence[str | None] = call.option("names")
    shown = [arg if name is None else f"{name} => {arg}" for name, arg in zip(names, args, strict=True)]
    text = ", ".join(shown)
    for function in call.option("functions"):
        text = f"{function.name}({text})"
    return text
