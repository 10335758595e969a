"""Calls of Python functions as the workers evaluate them, without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import types as t
from pyspark.util import PythonEvalType

from penstock.errors import EvaluationError
from penstock.expr import Call, Column, Literal, evaluate, may_raise
from penstock.expr.functions.python_udf import BATCH_ROWS, _loaded, pyspark_can_run
from penstock.expr.python_function import PANDAS, PANDAS_ITERATOR, PICKLED, PythonFunction

ROWS = PythonEvalType.SQL_ARROW_BATCHED_UDF
LONG, TEXT = t.LongType(), t.StringType()


def function(code: Callable[..., Any], kind: int = ROWS, returns: t.DataType = TEXT) -> PythonFunction:
    return PythonFunction(code.__name__, kind, returns, CloudPickleSerializer().dumps((code, returns)))


def call(*functions: PythonFunction, args: int = 1, kind: t.DataType = LONG) -> Call:
    options = {"conf": (), "functions": functions, "names": (None,) * args, "timezone": "UTC"}
    columns = tuple(Column(kind, True, place, f"c{place}") for place in range(args))
    return Call(functions[-1].returns, True, "PythonUDF", columns, tuple(sorted(options.items())))


def results(expr: Call, *columns: list[Any]) -> list[Any]:
    arrays = [pa.array(column, pa.int64()) for column in columns]
    found: list[Any] = evaluate(expr, arrays, len(columns[0])).to_pylist()
    return found


def test_this_version_of_pyspark_has_what_is_called() -> None:
    assert pyspark_can_run()


def test_a_row_gives_the_same_whatever_stands_beside_it() -> None:
    def texts(values: pd.Series, others: pd.Series) -> pd.Series:
        return values.map(str) + others.map(str)

    expr = call(function(texts, PANDAS), args=2)
    rows = [(1, 2), (None, 2), (3, None), (2**60 + 1, 4), (None, None), (5, 6)]
    together = results(expr, *map(list, zip(*rows, strict=True)))
    alone = [results(expr, [one], [other])[0] for one, other in rows]
    assert together == alone
    assert together[3] == f"{2**60 + 1}4"  # as a float it would have lost its last digit


def test_elements_of_arrays_are_the_same_whatever_stands_beside_them() -> None:
    def types(values: pd.Series) -> pd.Series:
        return values.map(lambda value: None if value is None else str(value.dtype))

    expr = call(function(types, PANDAS), kind=t.ArrayType(LONG))
    rows = pa.array([[1, 2], None, [None], [], [3]], pa.list_(pa.field("element", pa.int64())))
    assert evaluate(expr, [rows], 5).to_pylist() == ["int64", None, "object", "int64", "int64"]


@pytest.mark.parametrize("kind", [PANDAS, PANDAS_ITERATOR])
def test_rows_come_in_batches_as_in_spark(kind: int) -> None:
    def sizes(values: pd.Series) -> pd.Series:
        return pd.Series([len(values)] * len(values))

    def all_sizes(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        return map(sizes, parts)

    code = sizes if kind == PANDAS else all_sizes
    found = results(call(function(code, kind, LONG)), list(range(2 * BATCH_ROWS + 5)))
    assert found == [BATCH_ROWS] * 2 * BATCH_ROWS + [5] * 5


def test_a_function_is_not_called_for_rows_that_do_not_reach_it() -> None:
    def picky(value: int) -> int:
        if value < 0:
            raise ValueError("negative")
        return value + 1

    inner = call(function(picky, returns=LONG))
    assert may_raise(inner)
    positive = Call(t.BooleanType(), True, "GreaterThan", (inner.args[0], Literal(LONG, False, 0)))
    expr = Call(LONG, True, "If", (positive, inner, Literal(LONG, True, None)))
    assert results(expr, [1, -1, 2]) == [2, None, 3]
    assert len(evaluate(call(function(picky)), [pa.array([], pa.int64())], 0)) == 0


def test_an_inner_result_reaches_the_outer_function_as_it_is() -> None:
    def inner(value: int) -> Any:
        return {"value": value}

    def outer(value: Any) -> str:
        return repr(value)

    expr = call(function(inner), function(outer))
    assert results(expr, [1]) == ["{'value': 1}"]
    assert str(expr) == "outer(inner(c0))"


def test_an_exception_names_function_reason_and_line() -> None:
    def broken(value: int) -> str:
        return str(1 / value)

    with pytest.raises(
        EvaluationError, match=r"broken\(…\) raised ZeroDivisionError: division by zero \(in "
    ):
        results(call(function(broken)), [1, 0])


@pytest.mark.parametrize("kind", [ROWS, PICKLED])
def test_a_function_that_exits_does_not_take_the_worker_along(kind: int) -> None:
    def leaving(value: int) -> str:
        raise SystemExit("bye")

    with pytest.raises(EvaluationError, match="SystemExit: bye"):
        results(call(function(leaving, kind)), [1])


def test_too_few_results_are_an_error() -> None:
    def short(values: pd.Series) -> pd.Series:
        return values[1:]

    with pytest.raises(EvaluationError, match=r"short.*RESULT_ROWS_MISMATCH"):
        results(call(function(short, PANDAS, LONG)), [1, 2])


def test_a_result_that_does_not_fit_is_an_error() -> None:
    def word(value: int) -> Any:
        return "word"

    with pytest.raises(EvaluationError, match=r"word.*ArrowInvalid"):
        results(call(function(word, returns=LONG)), [1])


def test_a_function_is_loaded_once() -> None:
    def named(value: int) -> str:
        return "x"

    expr = call(function(named))
    before = _loaded.cache_info().misses
    for _ in range(3):
        results(expr, [1])
    results(call(function(named), kind=t.IntegerType()), [1])
    assert _loaded.cache_info().misses == before + 1


def test_pandas_sees_instants_in_the_session_s_time_zone() -> None:
    def shown(times: pd.Series) -> pd.Series:
        return times.map(str)

    expr = call(function(shown, PANDAS), kind=t.TimestampType())
    options = tuple((name, "Asia/Tokyo" if name == "timezone" else value) for name, value in expr.options)
    tokyo = Call(expr.data_type, True, expr.function, expr.args, options)
    noon = pa.array([dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC)], pa.timestamp("us", "UTC"))
    assert evaluate(expr, [noon], 1).to_pylist() == ["2024-07-01 12:00:00"]
    assert evaluate(tokyo, [noon], 1).to_pylist() == ["2024-07-01 21:00:00"]
