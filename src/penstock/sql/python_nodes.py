"""Python functions in Catalyst's plans.

The optimiser takes the calls of Python functions out of expressions: ``BatchEvalPython`` and
``ArrowEvalPython`` stand below the node that used them and add one column for each call. Here that is a
projection. A call whose only argument is another call is one call of two functions, as in Spark, which hands
the inner result over without converting it.

The JSON of a plan leaves the function itself out; it is asked of the node in the JVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Any

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimeType, YearMonthIntervalType

from penstock.circuit.undo import shortened_on_error
from penstock.errors import UnsupportedQuery
from penstock.expr.functions.python_udf import pyspark_can_run
from penstock.expr.nodes import Call, Column, Literal
from penstock.expr.python_function import CALL, KINDS, PICKLED, PythonFunction
from penstock.expr.types import type_from_json
from penstock.sql.imported import Imported, ImportScope, column
from penstock.sql.plan import Field, Plan, Values
from penstock.sql.refusals import place_of
from penstock.sql.relational import projected, with_order
from penstock.sql.tree import Node

__all__ = ["FunctionNames", "check_kind", "functions_of", "import_eval_python"]


def import_eval_python(scope: ImportScope, node: Node) -> Imported:
    """``BatchEvalPython`` and ``ArrowEvalPython``: the child's columns, then one for each call."""
    child = scope.plan(node.children[0])
    calls = tuple(_call(scope, udf, child.columns) for udf in node.expressions("udfs"))
    outputs = node.expressions("resultAttrs")
    kept = tuple(column(i, field) for i, field in enumerate(child.plan.schema))
    names = (*(field.name for field in child.plan.schema), *(str(o.fields["name"]) for o in outputs))
    ids = (*child.ids, *(output.expression_id for output in outputs))
    return with_order(projected(child, kept + calls, names, ids), child, kept + calls)


def _call(scope: ImportScope, udf: Node, columns: Mapping[int, Column]) -> Call:
    functions = [_function(scope, udf)]
    while len(udf.children) == 1 and udf.children[0].kind == "PythonUDF":
        udf = udf.children[0]
        functions.insert(0, _function(scope, udf))
    named = [child.kind == "NamedArgumentExpression" for child in udf.children]
    values = [child.children[0] if name else child for child, name in zip(udf.children, named, strict=True)]
    args = tuple(scope.expr(value, columns) for value in values)
    for data_type in (functions[-1].returns, *(arg.data_type for arg in args)):
        _check_type(data_type, functions[-1].kind, place_of(udf, scope.view))
    options: dict[str, Any] = {
        "conf": scope.python_conf,
        "functions": tuple(functions),
        "names": tuple(
            str(child.fields["key"]) if name else None
            for child, name in zip(udf.children, named, strict=True)
        ),
        "timezone": scope.timezone,
        **({"shortest": True} if scope.shortest else {}),
    }
    return Call(functions[-1].returns, True, CALL, args, tuple(sorted(options.items())))


def _function(scope: ImportScope, udf: Node) -> PythonFunction:
    name, kind = str(udf.fields["name"]), int(udf.fields["evalType"])
    check_kind(name, kind, place_of(udf, scope.view))
    function = udf.twin().func()
    if function.broadcastVars().size():
        raise UnsupportedQuery(
            f"the Python function {name}",
            place=place_of(udf, scope.view),
            reason="it uses a broadcast variable, or is larger than 1 MB, which Spark broadcasts too",
            advice="Let the function read what it needs from a file when it is first called",
        )
    command = bytes(function.command().unsafeArray())
    return PythonFunction(name, kind, type_from_json(udf.fields["dataType"]), command)


def check_kind(name: str, kind: int, place: str) -> None:
    """Raises if a function does not give one value for each row, or PySpark is not one that can run it."""
    if kind not in KINDS:
        raise UnsupportedQuery(
            f"the Python function {name}",
            place=place,
            reason="only functions that give one value for each row are supported",
            advice="Use Spark's aggregate and window functions, and Python functions of their results",
        )
    if not pyspark_can_run():
        raise UnsupportedQuery(
            f"the Python function {name}",
            place=place,
            reason="this version of PySpark runs Python functions in a way that is not known here",
            advice="Use PySpark 4.3",
        )


def _check_type(data_type: DataType, kind: int, place: str) -> None:
    """Raises if values of a type cannot go into functions of a kind or come out of them."""
    reason = advice = ""
    if isinstance(data_type, (TimeType, YearMonthIntervalType)):
        reason = "Spark cannot hand it to Python"
    elif isinstance(data_type, MapType) and kind == PICKLED:
        reason, advice = "without Arrow, Spark gives its entries in an order of its own", "Use useArrow=True"
    if reason:
        construct = f"the type {data_type.simpleString()} in a call of a Python function"
        raise UnsupportedQuery(construct, place=place, reason=reason, advice=advice)
    if isinstance(data_type, ArrayType):
        parts = [data_type.elementType]
    elif isinstance(data_type, MapType):
        parts = [data_type.keyType, data_type.valueType]
    else:
        parts = [f.dataType for f in data_type.fields] if isinstance(data_type, StructType) else []
    for part in parts:
        _check_type(part, kind, place)


def functions_of(plan: Plan) -> Iterator[PythonFunction]:
    """The Python functions that a plan calls, as often as it calls them."""
    rest: list[Any] = [plan]
    while rest:
        value = rest.pop()
        if isinstance(value, PythonFunction):
            yield value
        elif isinstance(value, tuple):
            rest += reversed(value)
        elif is_dataclass(value) and not isinstance(value, Values | Field | Literal):
            rest += [getattr(value, item.name) for item in reversed(fields(value))]


class FunctionNames:
    """The Python functions of a pipeline's views by name. Raises where two views call different functions of
    one name: stored state is told apart by names."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, PythonFunction]] = {}

    def add(self, view: str, plan: Plan) -> None:
        """Adds the functions of one more view."""
        for function in functions_of(plan):
            other, before = self._known.setdefault(function.name, (view, function))
            if before != function:
                where = f"and view {other}" if other != view else "twice"
                raise UnsupportedQuery(
                    f"the Python function {function.name}",
                    place=f"view {view} {where}",
                    reason="the name means two different functions",
                    advice="Give each function of a pipeline a name of its own (a lambda has none: use def)",
                )

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Forgets what was added inside if the block fails."""
        with shortened_on_error(self._known):
            yield
