"""Reading tables and views: from weighted rows to tables and DataFrames."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    MapType,
    NullType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from penstock.errors import PipelineError
from penstock.expr.evaluate import evaluate
from penstock.expr.types import arrow_schema
from penstock.schedule.change_log import STEP_COLUMN
from penstock.sql.plan import SortKey
from penstock.sql.text_lengths import seen_by_queries
from penstock.trace.order import dense_rank
from penstock.zset import WEIGHT_COLUMN, HashSeed, ZSet, contiguous, gather
from penstock.zset.width import chunked

__all__ = [
    "ChangeFormat",
    "arrow_of",
    "as_change_feed",
    "consolidated",
    "expanded",
    "frame_of",
    "net_changes",
    "sorted_by",
]

ChangeFormat = Literal["weights", "change_feed"]

_MANY_BYTES = 32 << 20


def consolidated(table: pa.Table, seed: HashSeed) -> ZSet:
    """The sum of the workers' parts: each row once."""
    zset = ZSet.of(table.drop_columns([WEIGHT_COLUMN]), table[WEIGHT_COLUMN].to_numpy())
    return zset.consolidate(seed)


def net_changes(table: pa.Table, seed: HashSeed) -> pa.Table:
    """The sum of the workers' changes: each row once per step, without rows that cancel out between workers.
    In order of steps, and within a step deletions before insertions."""
    net = consolidated(table, seed)
    net = net.take(np.lexsort((net.weights, net.columns[-1].to_numpy())))
    columns = [*map(chunked, net.columns[:-1]), pa.array(net.weights), net.columns[-1]]
    return pa.Table.from_arrays(columns, schema=table.schema)


def expanded(zset: ZSet, names: Sequence[str]) -> pa.Table:
    """Every row repeated by its weight."""
    if len(zset) and zset.weights.min() < 0:
        raise PipelineError("internal error: a row with a negative weight; please report this query")
    if (zset.weights != 1).any():
        zset = zset.take(np.repeat(np.arange(len(zset)), zset.weights))
    if not zset.columns:
        return pa.table({})
    return pa.Table.from_arrays(list(map(chunked, zset.columns)), names=list(names))


def sorted_by(table: pa.Table, order: Sequence[SortKey]) -> pa.Table:
    """The rows in the order of the view's ORDER BY."""
    if not order or table.num_rows < 2:
        return table
    columns = [contiguous(column) for column in table.columns]
    keys = [_rank(evaluate(key.expr, columns, table.num_rows), key) for key in order]
    return _taken(table, np.lexsort(keys[::-1]))


def _taken(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Rows of a table by number; unlike Arrow's ``take``, of any size."""
    indices = pa.array(rows)
    columns = [chunked(gather(contiguous(column), indices)) for column in table.columns]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _rank(values: pa.Array, key: SortKey) -> NDArray[np.int64]:
    """Positions by which to sort: NaN above all numbers, NULL where the sort key says, nested values too."""
    rank = dense_rank(values, descending=not key.ascending)
    if values.null_count:
        missing = pc.is_null(values).to_numpy(zero_copy_only=False)
        rank[missing] = np.iinfo(np.int64).min if key.nulls_first else np.iinfo(np.int64).max
    return rank


def frame_of(
    spark: SparkSession, table: pa.Table, schema: StructType, folder: Path | None = None
) -> DataFrame:
    """A Spark DataFrame of Arrow rows. Year-month intervals, which Spark does not accept from Arrow, are
    passed as months. CHAR(n) and VARCHAR(n) are STRING, as Spark shows them, with the declared type in the
    metadata.

    Spark keeps such rows in the memory of its driver. Given a ``folder`` that all executors see and that
    outlives the frame, large results are written there instead, as Parquet, and Spark reads that."""
    schema = seen_by_queries(spark, schema)
    fields = [
        StructField(
            f"c{i}", IntegerType() if _is_months(field) else _void_nullable(field.dataType), field.nullable
        )
        for i, field in enumerate(schema.fields)
    ]
    renamed = table.rename_columns([field.name for field in fields])
    if folder is not None and renamed.nbytes > _MANY_BYTES and not _has_durations(renamed.schema):
        path = folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(renamed, path, compression="zstd")
        frame = spark.read.schema(StructType(fields)).parquet(str(path))
    else:
        frame = spark.createDataFrame(renamed, StructType(fields))
    columns = [
        F.make_ym_interval(F.lit(0), F.col(f"c{i}")).alias(field.name)
        if _is_months(field)
        else F.col(f"c{i}").alias(field.name, metadata=field.metadata)
        for i, field in enumerate(schema.fields)
    ]
    return frame.select(*columns)


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame in the Arrow types that Penstock gives its Spark types."""
    wanted = arrow_schema([(field.name, field.dataType) for field in frame.schema.fields])
    fields = frame.schema.fields
    renamed = frame.toDF(*(f"c{i}" for i in range(len(fields))))
    columns = [
        F.col(f"c{i}").cast("interval month").cast("int").alias(f"c{i}")
        if _is_months(field)
        else F.col(f"c{i}").cast(_void_nullable(field.dataType)).alias(f"c{i}")
        for i, field in enumerate(fields)
    ]
    table = renamed.select(*columns).toArrow()
    arrays = [column.cast(field.type) for column, field in zip(table.columns, wanted, strict=True)]
    return pa.Table.from_arrays(arrays, names=wanted.names)


def _void_nullable(data_type: DataType) -> DataType:
    """The type with NULL allowed in arrays and maps of VOID: Arrow has no other, and ``array()`` is one."""
    if isinstance(data_type, ArrayType):
        element = _void_nullable(data_type.elementType)
        return ArrayType(element, data_type.containsNull or isinstance(element, NullType))
    if isinstance(data_type, MapType):
        key, value = _void_nullable(data_type.keyType), _void_nullable(data_type.valueType)
        return MapType(key, value, data_type.valueContainsNull or isinstance(value, NullType))
    if isinstance(data_type, StructType):
        return StructType(
            [StructField(f.name, _void_nullable(f.dataType), f.nullable) for f in data_type.fields]
        )
    return data_type


def _has_durations(schema: pa.Schema) -> bool:
    """Whether a column has a type that does not survive Parquet, at any depth: it has no durations, and
    Spark reads no TIME in nanoseconds from it."""
    return any("duration" in str(kind) or "time64" in str(kind) for kind in schema.types)


def _is_months(field: StructField) -> bool:
    return isinstance(field.dataType, YearMonthIntervalType)


def as_change_feed(changes: pa.Table, times: dict[int, int]) -> pa.Table:
    """Weighted changes as a change feed with Spark's and Delta's column names: one row per change."""
    weights = changes[WEIGHT_COLUMN].to_numpy()
    steps = changes[STEP_COLUMN].to_numpy()
    rows = np.repeat(np.arange(len(weights)), np.abs(weights))
    kinds = np.where(weights[rows] > 0, "insert", "delete")
    at = np.array([times.get(int(step), 0) for step in np.unique(steps)], np.int64)
    stamps = at[np.searchsorted(np.unique(steps), steps[rows])] if len(rows) else np.empty(0, np.int64)
    plain = _taken(changes.drop_columns([WEIGHT_COLUMN, STEP_COLUMN]), rows)
    plain = plain.append_column("_change_type", pa.array(kinds.tolist(), pa.string()))
    plain = plain.append_column("_commit_version", pa.array(steps[rows], pa.int64()))
    return plain.append_column(
        "_commit_timestamp", pa.array(stamps, pa.int64()).cast(pa.timestamp("us", "UTC"))
    )
