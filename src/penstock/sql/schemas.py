"""Which Spark types a table or view may hold, and what becomes of the rest.

Types without an Arrow form that keeps their meaning (variant, calendar intervals, strings whose collation
makes different bytes equal) are refused by name. ``CHAR(n)`` and ``VARCHAR(n)`` are types of a table's
columns only: see :mod:`penstock.sql.text_lengths`.
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
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
    VarcharType,
    YearMonthIntervalType,
)

from penstock.errors import SqlError

__all__ = ["RESERVED_COLUMNS", "check_columns", "check_type", "contains_float", "same_types"]

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
    TimeType,
    TimestampType,
    TimestampNTZType,
    DayTimeIntervalType,
    YearMonthIntervalType,
    NullType,
)


def check_type(data_type: DataType, column: str) -> None:
    """SqlError naming ``column`` if values of the type cannot be kept."""
    if isinstance(data_type, (StringType, CharType, VarcharType)):
        if " collate " in data_type.simpleString():
            raise SqlError(f"column {column}: {data_type.simpleString()} is not supported; use STRING")
    elif isinstance(data_type, ArrayType):
        check_type(data_type.elementType, f"{column}[]")
    elif isinstance(data_type, MapType):
        if isinstance(data_type.keyType, NullType):
            raise SqlError(
                f"column {column}: a map with keys of type VOID is not supported; give it types, as in "
                "CAST(map() AS MAP<STRING, STRING>)"
            )
        check_type(data_type.keyType, f"{column}.key")
        check_type(data_type.valueType, f"{column}.value")
    elif isinstance(data_type, StructType):
        for field in data_type.fields:
            check_type(field.dataType, f"{column}.{field.name}")
    elif not isinstance(data_type, _SCALARS):
        raise SqlError(f"column {column}: the type {data_type.simpleString().upper()} is not supported")


def check_columns(schema: StructType, owner: str, advice: str) -> None:
    """SqlError if ``schema`` repeats a column name (in any case; ``advice`` says what to do about it), takes
    one of ours, has an empty one, or has no columns."""
    if not schema.fields:
        raise SqlError(f"{owner} has no columns")
    seen: set[str] = set()
    for field in schema.fields:
        name = field.name.lower()
        if not name.strip():
            raise SqlError(f"{owner}: a column has an empty name; give each column a name")
        if name in RESERVED_COLUMNS:
            raise SqlError(f"{owner}: the column name {field.name} is reserved for change rows")
        if name in seen:
            raise SqlError(f"{owner} has more than one column named {field.name}; {advice}")
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
