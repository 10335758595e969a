"""CHAR(n) and VARCHAR(n) as in Spark: types of a table's columns, not of values.

To a query such a column is STRING. The declared type is in the column's metadata, and Spark's analyser looks
there when it compares a CHAR(n) with a literal or with a column of another length, which it pads. The
metadata follows the bare column, so columns of views have it too.

Two things are left to Penstock: lengths are checked and CHAR(n) is padded on input
(:mod:`penstock.intake.text_lengths`). Spark pads CHAR(n) once more on reading, for files that others wrote;
rows of a pipeline are already padded.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from penstock.expr.types import has_lengths

__all__ = ["length_metadata", "seen_by_queries"]

_DECLARED_TYPE = "__CHAR_VARCHAR_TYPE_STRING"


def length_metadata(field: StructField) -> dict[str, Any]:
    """Of a column's metadata the part that tells its declared type, if there is one."""
    return {key: value for key, value in field.metadata.items() if key == _DECLARED_TYPE}


def seen_by_queries(spark: SparkSession, schema: StructType) -> StructType:
    """The columns as queries see them: text is STRING, and metadata tells its declared type."""
    if has_lengths(schema):
        jvm: Any = spark._jvm
        utilities = jvm.org.apache.spark.sql.catalyst.util.CharVarcharUtils
        declared = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
        schema = StructType.fromJson(
            json.loads(utilities.replaceCharVarcharWithStringInSchema(declared).json())
        )
    return StructType(
        [StructField(f.name, f.dataType, f.nullable, length_metadata(f)) for f in schema.fields]
    )
