"""Rows as a Spark table with the declared types, for results that do not depend on Penstock's code.

Spark applies CHAR(n) and VARCHAR(n) semantics only to tables that it reads from storage, so rows with such
columns are written as Parquet and read again under their declared types: Spark itself pads them.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.expr.types import has_lengths

__all__ = ["declared_frame"]


def declared_frame(frame: DataFrame, schema: StructType, folder: Path) -> DataFrame:
    """``frame``, whose text columns are STRING, as a table of ``schema``; the frame itself if there is no
    difference. What is written to ``folder`` must stay as long as the result is used."""
    if not has_lengths(schema):
        return frame
    name = f"declared_{uuid.uuid4().hex}"
    path = folder / name
    names = [f"c{i}" for i in range(len(schema.fields))]
    frame.toDF(*names).write.parquet(str(path))
    declared = StructType(
        [
            StructField(c, field.dataType, field.nullable)
            for c, field in zip(names, schema.fields, strict=True)
        ]
    )
    session = frame.sparkSession
    jvm: Any = session._jvm
    columns = jvm.org.apache.spark.sql.types.DataType.fromJson(declared.json()).toDDL()
    text = str(path).replace("\\", "\\\\").replace("'", "\\'")
    session.sql(f"CREATE TEMPORARY VIEW {name} ({columns}) USING parquet OPTIONS (path '{text}')")
    return session.table(name).toDF(*schema.names)
