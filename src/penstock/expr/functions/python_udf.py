"""Calls of Python functions, run by the same PySpark code that runs them in a batch query.

PySpark's worker turns the description of a function into a generator from Arrow batches to Arrow batches;
that is used unchanged, so arguments and results are converted as Spark converts them. Spark itself cuts a
partition into batches of 10,000 rows, and so does this.

For a deleted row a function must return what it returned when the row was inserted, whatever other rows are
in its batch. pandas has no integers with NULLs: PySpark passes floats (in arrays, objects) if any value in
the *batch* is NULL. So for pandas, rows with NULLs in the same integer arguments are put into separate
batches, and a row is always passed with the same types.

``command`` is unpickled here, once per process. It is neither stored nor received over the network: it is
part of the program, which reached this process as Spark's own task (decision 8).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import types as t

from penstock.errors import EvaluationError
from penstock.expr.functions.python_pickled import array_of
from penstock.expr.functions.registry import Rows, Value, lazy_function
from penstock.expr.functions.vectors import Mask, as_array, null_of
from penstock.expr.nodes import Call, Expr
from penstock.expr.python_function import CALL, PANDAS, PANDAS_ITERATOR, PICKLED, PythonFunction, call_text
from penstock.expr.types import to_arrow

__all__ = ["pyspark_can_run"]

BATCH_ROWS = 10_000
CONDITION = "PYTHON_EXCEPTION"
_SHOWN = 500  # letters of a function's error
_PARAMETERS = ["pickleSer", "udf_info_list", "eval_type", "runner_conf", "eval_conf"]

Run = Callable[[Iterator[pa.RecordBatch]], list[pa.Array]]


def _result(args: Sequence[Expr], options: Mapping[str, Any]) -> t.DataType:
    functions: Sequence[PythonFunction] = options["functions"]
    return functions[-1].returns


@lazy_function(CALL, result=_result, nullable=True, raises=True)
def python_udf(call: Call, rows: Rows) -> Value:
    """The results for these rows; constant arguments are evaluated once."""
    if rows.length == 0:
        return null_of(call)
    args = [rows.value(arg) for arg in call.args]
    if args and all(isinstance(arg, pa.Scalar) for arg in args):
        return _results(call, [as_array(arg, 1) for arg in args], 1)[0]
    return _results(call, [as_array(arg, rows.length) for arg in args], rows.length)


def _results(call: Call, args: list[pa.Array], length: int) -> pa.Array:
    name = call_text(call, ["…"] * len(call.args))
    columns = [_in_zone(arg, call.option("timezone")) for arg in args] or [pa.nulls(length)]
    codes = _patterns(columns) if call.option("functions")[-1].kind in (PANDAS, PANDAS_ITERATOR) else None
    order = None if codes is None else np.argsort(codes, kind="stable")
    if order is not None:
        columns = [column.take(pa.array(order)) for column in columns]
    stops = [length] if codes is None else np.cumsum(np.bincount(codes)).tolist()
    try:
        parts = _runner(call)(_batches(columns, stops))
        found = pa.concat_arrays([part.cast(to_arrow(call.data_type)) for part in parts])
    except (Exception, SystemExit) as error:
        raise EvaluationError(CONDITION, f"{name} raised {_told(error)}", expression=str(call)) from error
    return found if order is None else found.take(pa.array(np.argsort(order)))


def _batches(columns: list[pa.Array], stops: list[int]) -> Iterator[pa.RecordBatch]:
    """Batches of columns named by position that end at each of ``stops`` and are not too long."""
    names = [f"_{i}" for i in range(len(columns))]
    start = 0
    for stop in stops:
        while start < stop:
            rows = min(BATCH_ROWS, stop - start)
            yield pa.RecordBatch.from_arrays([column.slice(start, rows) for column in columns], names)
            start += rows


def _patterns(columns: list[pa.Array]) -> Any:
    """A number for each row that says which of its integers and truth values are NULL; None if all agree."""
    masks = [mask for column in columns for mask in _whole(column) if not mask.all()]
    if not masks:
        return None
    distinct, codes = np.unique(np.stack(masks, axis=1), axis=0, return_inverse=True)
    return codes.ravel() if len(distinct) > 1 else None


def _whole(column: pa.Array) -> Iterator[Mask]:
    """For each column of integers or truth values in ``column`` whether a row has no NULL there."""
    if pa.types.is_struct(column.type):
        for part in column.flatten():
            yield from _whole(part)
    elif pa.types.is_list(column.type):
        lengths = np.asarray(pc.list_value_length(column).fill_null(0))
        rows = np.repeat(np.arange(len(column)), lengths)
        for mask in _whole(column.flatten()):
            yield np.bincount(rows[~mask], minlength=len(column)) == 0
    elif pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        yield np.asarray(column.is_valid())


def _in_zone(array: pa.Array, zone: str) -> pa.Array:
    """The column as Spark sends it: its timestamps say that they belong to the session's time zone."""
    wanted = _zoned(array.type, zone)
    return array if wanted == array.type else array.cast(wanted)


def _zoned(arrow: pa.DataType, zone: str) -> pa.DataType:
    if pa.types.is_timestamp(arrow):
        return arrow if arrow.tz is None else pa.timestamp("us", zone)
    if pa.types.is_list(arrow):
        return pa.list_(pa.field("element", _zoned(arrow.value_type, zone)))
    if pa.types.is_struct(arrow):
        return pa.struct([pa.field(field.name, _zoned(field.type, zone)) for field in arrow])
    if pa.types.is_map(arrow):
        return pa.map_(_zoned(arrow.key_type, zone), _zoned(arrow.item_type, zone))
    return arrow


# ---- PySpark's part ----------------------------------------------------------------------------------------


def pyspark_can_run() -> bool:
    """Whether this version of PySpark has the code this module calls in the form it expects."""
    try:
        from pyspark.worker import read_udfs
        from pyspark.worker_message import UDFInfo  # noqa: F401 - only whether it is there
    except ImportError:
        return False
    return list(inspect.signature(read_udfs).parameters) == _PARAMETERS


@functools.lru_cache(maxsize=1024)
def _loaded(command: bytes) -> Any:
    serializer: Any = CloudPickleSerializer  # PySpark gives it no types
    return serializer().loads(command)


class _Loader:
    """Takes the place of the serializer by which PySpark's worker reads functions."""

    @staticmethod
    def loads(command: bytes) -> Any:
        return _loaded(command)


@functools.lru_cache(maxsize=1024)
def _runner(call: Call) -> Run:
    """What PySpark's worker would run for the call in a query of its own."""
    worker: Any = importlib.import_module("pyspark.worker")  # PySpark gives its functions no types
    message: Any = importlib.import_module("pyspark.worker_message")
    functions: tuple[PythonFunction, ...] = call.option("functions")
    names: tuple[str | None, ...] = call.option("names")
    by_position = [place for place, name in enumerate(names) if name is None]
    by_name = {name: place for place, name in enumerate(names) if name is not None}
    info = message.UDFInfo([function.command for function in functions], by_position, by_name, 0)
    conf = {"spark.sql.session.timeZone": call.option("timezone"), **dict(call.option("conf"))}
    settings = worker.RunnerConf(conf)
    inputs = t.StructType([t.StructField(f"_{place}", arg.data_type) for place, arg in enumerate(call.args)])
    kind = functions[-1].kind
    types = worker.EvalConf({"input_type": inputs.json()})
    apply = worker.read_udfs(_Loader, [info], kind, settings, types)[0]
    if kind == PICKLED:
        return _pickled(apply, inputs, settings.binary_as_bytes, call)
    return lambda batches: [batch.column(0) for batch in apply(0, batches)]


def _pickled(apply: Any, inputs: t.StructType, binary_as_bytes: bool, call: Call) -> Run:
    """A function that takes Python objects: PySpark's objects of the rows in, and Spark's reading of what
    comes out."""
    from pyspark.sql.conversion import ArrowTableToRowsConversion as FromArrow

    converters = [
        FromArrow._create_converter(field.dataType, binary_as_bytes=binary_as_bytes) for field in inputs
    ]

    shortest = bool(call.option("shortest"))

    def run(batches: Iterator[pa.RecordBatch]) -> list[pa.Array]:
        results = (list(apply(0, rows_of(batch))) for batch in batches)
        return [array_of(found, call.data_type, shortest=shortest) for found in results]

    def rows_of(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        if not converters:
            return iter([()] * batch.num_rows)
        columns = (
            map(convert, column.to_pylist())
            for convert, column in zip(converters, batch.columns, strict=True)
        )
        return zip(*columns, strict=True)

    return run


def _told(error: BaseException) -> str:
    """The error and where it came from: the first line outside of PySpark and this module."""
    frames = traceback.extract_tb(error.__traceback__)
    own = next((f for f in frames if f.filename != __file__ and "pyspark" not in f.filename), None)
    where = "" if own is None else f" (in {own.name}, line {own.lineno})"
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:_SHOWN]}{'…' if len(said) > _SHOWN else ''}{where}"
