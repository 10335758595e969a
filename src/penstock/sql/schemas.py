"""Which Spark types a table or view may hold, and what becomes of the rest.

``VARCHAR(n)`` and ``CHAR(n)`` become ``STRING``: the length is not checked and nothing is padded, which a
note on the statement says. Types without an Arrow form that keeps their meaning (variant, calendar
intervals, strings whose collation makes different bytes equal) are refused by name.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    YearMonthIntervalType,
)

from penstock.errors import SqlError

__all__ = ["RESERVED_COLUMNS", "check_columns", "contains_float", "plain_type", "same_types"]

RESERVED_COLUMNS = frozenset({"_weight", "_step", "_change_type", "_commit_version", "_commit_timestamp"})
"""Names that change rows carry beside the user's own columns."""

_SCALARS = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    BinaryType,
    DateType,
    TimestampType,
    TimestampNTZType,
    DayTimeIntervalType,
    YearMonthIntervalType,
    NullType,
)


def plain_type(data_type: DataType, column: str) -> DataType:
    """``data_type`` with VARCHAR and CHAR as STRING; SqlError naming ``column`` if it is not supported."""
    if isinstance(data_type, (VarcharType, CharType)):
        return StringType()
    if isinstance(data_type, StringType):
        if data_type.simpleString() != "string":
            raise SqlError(f"column {column}: {data_type.simpleString()} is not supported; use STRING")
        return data_type
    if isinstance(data_type, _SCALARS):
        return data_type
    if isinstance(data_type, ArrayType):
        return ArrayType(plain_type(data_type.elementType, f"{column}[]"), data_type.containsNull)
    if isinstance(data_type, MapType):
        key = plain_type(data_type.keyType, f"{column}.key")
        value = plain_type(data_type.valueType, f"{column}.value")
        return MapType(key, value, data_type.valueContainsNull)
    if isinstance(data_type, StructType):
        return StructType(
            [
                StructField(field.name, plain_type(field.dataType, f"{column}.{field.name}"), field.nullable)
                for field in data_type.fields
            ]
        )
    raise SqlError(f"column {column}: the type {data_type.simpleString().upper()} is not supported")


def check_columns(schema: StructType, owner: str) -> None:
    """SqlError if ``schema`` repeats a column name (in any case), reserves one of ours, or is empty."""
    if not schema.fields:
        raise SqlError(f"{owner} has no columns")
    seen: set[str] = set()
    for field in schema.fields:
        name = field.name.lower()
        if name in RESERVED_COLUMNS:
            raise SqlError(f"{owner}: the column name {field.name} is reserved for change rows")
        if name in seen:
            raise SqlError(f"{owner} has more than one column named {field.name}; give each its own alias")
        seen.add(name)


def contains_float(data_type: DataType) -> bool:
    """Whether values of this type hold floats, whose NaN and -0.0 have several bit patterns."""
    if isinstance(data_type, ArrayType):
        return contains_float(data_type.elementType)
    if isinstance(data_type, MapType):
        return contains_float(data_type.keyType) or contains_float(data_type.valueType)
    if isinstance(data_type, StructType):
        return any(contains_float(field.dataType) for field in data_type.fields)
    return isinstance(data_type, (FloatType, DoubleType))


def same_types(left: DataType, right: DataType) -> bool:
    """Whether two types are the same, whatever they say about NULLs inside."""
    return left.simpleString() == right.simpleString()
