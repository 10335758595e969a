"""What may be pushed into a table, what may not, and what the refusal says."""

from __future__ import annotations

import datetime as dt
import decimal
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession
from pyspark.sql import types as T  # noqa: N812

from penstock.errors import InputError
from penstock.pipeline.ingest import to_batch, to_keys
from penstock.pipeline.tables import TableSchema

UTC = dt.UTC


def table(primary_key: str = "", **columns: T.DataType) -> TableSchema:
    fields = [T.StructField(name, data_type) for name, data_type in columns.items()]
    return TableSchema("t", T.StructType(fields), tuple(primary_key.split()))


ADDRESS = T.StructType([T.StructField("city", T.StringType(), False), T.StructField("zip", T.IntegerType())])
EVERYTHING = table(
    "id",
    id=T.LongType(),
    flag=T.BooleanType(),
    tiny=T.ByteType(),
    small=T.ShortType(),
    number=T.IntegerType(),
    real=T.FloatType(),
    double=T.DoubleType(),
    money=T.DecimalType(12, 2),
    wide=T.DecimalType(38, 18),
    name=T.StringType(),
    raw=T.BinaryType(),
    day=T.DateType(),
    at=T.TimestampType(),
    local=T.TimestampNTZType(),
    span=T.DayTimeIntervalType(),
    months=T.YearMonthIntervalType(),
    tags=T.ArrayType(T.StringType()),
    address=ADDRESS,
    scores=T.MapType(T.StringType(), T.DecimalType(5, 1)),
    nested=T.ArrayType(T.StructType([T.StructField("xs", T.ArrayType(T.LongType()))])),
)

_EXACT = decimal.Context(prec=60)


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(lambda digits: Decimal(digits).scaleb(-scale, _EXACT))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
INSTANTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.just(UTC))
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": integers(64),
            "flag": st.none() | st.booleans(),
            "tiny": st.none() | integers(8),
            "small": st.none() | integers(16),
            "number": st.none() | integers(32),
            "real": st.none() | st.floats(width=32, allow_nan=False),
            "double": st.none() | st.floats(allow_nan=False),
            "money": st.none() | decimals(12, 2),
            "wide": st.none() | decimals(38, 18),
            "name": st.none() | TEXT,
            "raw": st.none() | st.binary(max_size=4),
            "day": st.none() | st.dates(),
            "at": st.none() | INSTANTS,
            "local": st.none() | st.datetimes(),
            "span": st.none() | st.timedeltas(dt.timedelta(-100_000), dt.timedelta(100_000)),
            "months": st.none() | integers(32),
            "tags": st.none() | st.lists(st.none() | TEXT, max_size=3),
            "address": st.none() | st.fixed_dictionaries({"city": TEXT, "zip": st.none() | integers(32)}),
            "scores": st.none() | st.dictionaries(TEXT, st.none() | decimals(5, 1), max_size=3),
            "nested": st.none()
            | st.lists(
                st.none()
                | st.fixed_dictionaries({"xs": st.none() | st.lists(st.none() | integers(64), max_size=2)}),
                max_size=2,
            ),
        }
    ),
    max_size=6,
)


def plain(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    rows = batch.to_pylist(maps_as_pydicts="strict")
    for row in rows:
        if row["at"] is not None:
            row["at"] = row["at"].astimezone(UTC)
    return rows


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_rows_of_every_type_come_out_as_they_went_in(rows: list[dict[str, Any]]) -> None:
    batch = to_batch(EVERYTHING, rows)
    assert batch.schema == EVERYTHING.arrow_schema
    assert plain(batch) == rows


@settings(max_examples=30, deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_arrow_and_row_objects_in_any_column_order_give_the_same_batch(
    rows: list[dict[str, Any]], random: Any
) -> None:
    expected = to_batch(EVERYTHING, rows)
    names = list(EVERYTHING.schema.names)
    random.shuffle(names)
    assert to_batch(EVERYTHING, expected.select(names)).equals(expected)
    assert to_batch(
        EVERYTHING, pa.Table.from_batches([expected, expected]).select(names)
    ).num_rows == 2 * len(rows)
    as_rows = [Row(**{name.upper(): row[name] for name in names}) for row in rows]
    assert to_batch(EVERYTHING, as_rows).equals(expected)


def sliced(array: pa.Array) -> pa.Array:
    """The array as a slice of a longer one, so that offsets are not zero."""
    return pa.concat_arrays([array.slice(0, 1), array]).slice(1)


@pytest.mark.parametrize(
    ("wanted", "given_array"),
    [
        (T.LongType(), pa.array([1, None, 3], pa.int8())),
        (T.LongType(), pa.array([1, None, 3], pa.uint64())),
        (T.ByteType(), pa.array([1, None, 3], pa.int64())),
        (T.IntegerType(), pa.array([Decimal("1.00"), None, Decimal("3.00")])),
        (T.DoubleType(), pa.array([1, None, 3], pa.int64())),
        (T.DoubleType(), pa.array([1, None, 3], pa.float32())),
        (T.FloatType(), pa.array([1, None, 3], pa.float64())),
        (T.DecimalType(5, 2), pa.array([1, None, 3], pa.int64())),
        (T.DecimalType(38, 30), pa.array([1, None, 3], pa.uint64())),
        (T.DecimalType(5, 2), pa.array([Decimal("1.000"), None, Decimal("3")], pa.decimal256(50, 3))),
        (T.StringType(), pa.array(["1", None, "3"], pa.large_string())),
        (T.StringType(), pa.array(["1", None, "3"], pa.string_view())),
        (T.StringType(), pa.array(["1", None, "3"]).dictionary_encode()),
        (T.BinaryType(), pa.array([b"1", None, b"3"], pa.binary(1))),
        (T.DateType(), pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)], pa.date64())),
        (
            T.TimestampNTZType(),
            pa.array([dt.datetime(2024, 2, 29), None, dt.datetime(1970, 1, 1)], pa.timestamp("ns")),
        ),
        (
            T.TimestampType(),
            pa.array(
                [dt.datetime(2024, 2, 29), None, dt.datetime(1970, 1, 1)], pa.timestamp("s", "Asia/Tokyo")
            ),
        ),
        (T.DayTimeIntervalType(), pa.array([dt.timedelta(1), None, dt.timedelta(3)], pa.duration("ms"))),
        (T.YearMonthIntervalType(), pa.array([1, None, 3], pa.int64())),
        (T.ArrayType(T.LongType()), pa.array([[1], None, [3, None]], pa.large_list(pa.int8()))),
        (T.ArrayType(T.LongType()), pa.array([[1], None, [3]], pa.list_(pa.int8(), 1))),
        (
            T.MapType(T.StringType(), T.LongType()),
            pa.array([[("a", 1)], None, [("b", None)]], pa.map_(pa.large_string(), pa.int8())),
        ),
        (
            T.StructType([T.StructField("a", T.LongType())]),
            pa.array([{"a": 1}, None, {"a": 3}], pa.struct({"a": pa.int8()})),
        ),
        (T.IntegerType(), pa.nulls(3)),
    ],
)
def test_arrow_data_of_other_types_is_taken_where_nothing_is_lost(
    wanted: T.DataType, given_array: pa.Array
) -> None:
    schema = table(c=wanted)
    for array in (given_array, sliced(given_array)):
        batch = to_batch(schema, pa.table({"c": array}))
        assert batch.schema == schema.arrow_schema
        plain_given = given_array.dictionary_decode() if hasattr(given_array, "dictionary") else given_array
        assert batch.column(0).to_pylist() == plain_given.to_pylist()


BAD: list[tuple[T.DataType, Any, str]] = [
    (T.LongType(), "7", "'7' is a str, the column is BIGINT"),
    (T.LongType(), 7.0, "7.0 is a float, the column is BIGINT"),
    (T.LongType(), True, "True is a bool, the column is BIGINT"),
    (T.LongType(), 2**63, "9223372036854775808 does not fit BIGINT"),
    (T.LongType(), Decimal("1.5"), "Decimal('1.5') does not fit BIGINT"),
    (T.ByteType(), 128, "128 does not fit TINYINT"),
    (T.ByteType(), np.int64(128), "128 does not fit TINYINT"),
    (T.BooleanType(), 1, "1 is an int, the column is BOOLEAN"),
    (T.DoubleType(), 2**53 + 1, "9007199254740993 does not fit DOUBLE"),
    (T.DoubleType(), "nan", "'nan' is a str, the column is DOUBLE"),
    (T.FloatType(), 1e39, "1e+39 does not fit FLOAT"),
    (
        T.DecimalType(5, 2),
        1.5,
        "1.5 is a float, the column is DECIMAL(5,2) (give a decimal.Decimal: a float is not exact)",
    ),
    (T.DecimalType(5, 2), Decimal("1.234"), "Decimal('1.234') does not fit DECIMAL(5,2)"),
    (T.DecimalType(5, 2), 1000, "1000 does not fit DECIMAL(5,2)"),
    (T.DecimalType(5, 2), Decimal("NaN"), "Decimal('NaN') does not fit DECIMAL(5,2)"),
    (T.StringType(), b"x", "b'x' is a bytes, the column is STRING"),
    (T.StringType(), 5, "5 is an int, the column is STRING"),
    (T.StringType(), "\ud800", "'\\ud800' does not fit STRING"),
    (T.BinaryType(), "x", "'x' is a str, the column is BINARY"),
    (T.DateType(), "2024-01-01", "'2024-01-01' is a str, the column is DATE (give a datetime.date)"),
    (
        T.DateType(),
        dt.datetime(2024, 1, 1),
        "datetime.datetime(2024, 1, 1, 0, 0) is a datetime, the column is DATE",
    ),
    (T.TimestampType(), "2024", "'2024' is a str, the column is TIMESTAMP (give a datetime.datetime)"),
    (T.TimestampType(), 5, "5 is an int, the column is TIMESTAMP"),
    (
        T.TimestampNTZType(),
        dt.datetime(2024, 1, 1, tzinfo=UTC),
        "has a time zone, the column is TIMESTAMP_NTZ",
    ),
    (T.DayTimeIntervalType(), 5, "5 is an int, the column is INTERVAL DAY TO SECOND"),
    (T.DayTimeIntervalType(), dt.timedelta.max, "does not fit INTERVAL DAY TO SECOND"),
    (T.ArrayType(T.LongType()), "xy", "'xy' is a str, the column is array<bigint>"),
    (ADDRESS, {"city": "Bern"}, "field zip is missing in {'city': 'Bern'}"),
    (ADDRESS, {"city": "Bern", "zip": 1, "x": 1}, "has no field x"),
    (ADDRESS, ("Bern",), "1 values for the 2 fields of struct<city:string,zip:int>"),
]


@pytest.mark.parametrize(("data_type", "value", "message"), BAD)
def test_a_bad_python_value_is_refused_with_its_row_and_column(
    data_type: T.DataType, value: Any, message: str
) -> None:
    good = {"id": 1, "c": None}
    with pytest.raises(InputError) as caught:
        to_batch(table(id=T.LongType(), c=data_type), [good] * 5 + [{"id": 2, "c": value}] + [good] * 3)
    assert (caught.value.table, caught.value.row, caught.value.column) == ("t", 5, "c")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data_type", "array", "row", "message"),
    [
        (T.LongType(), pa.array([1.5]), None, "the data is double (Arrow), the column is BIGINT"),
        (T.LongType(), pa.array(["1"]), None, "the data is string (Arrow), the column is BIGINT"),
        (T.LongType(), pa.array([True]), None, "the data is bool (Arrow), the column is BIGINT"),
        (T.ByteType(), pa.array([1, None, 300, 400]), 2, "300 does not fit TINYINT"),
        (T.LongType(), pa.array([1, 2**63], pa.uint64()), 1, "9223372036854775808 does not fit BIGINT"),
        (T.DoubleType(), pa.array([1, 2**53 + 1]), 1, "9007199254740993 does not fit DOUBLE"),
        (T.FloatType(), pa.array([float("inf"), 1e39]), 1, "1e+39 does not fit FLOAT"),
        (T.DecimalType(3, 1), pa.array([1, 100]), 1, "Decimal('100.0') does not fit DECIMAL(3,1)"),
        (
            T.DecimalType(3, 1),
            pa.array([Decimal("1.20"), Decimal("1.25")]),
            1,
            "Decimal('1.25') does not fit",
        ),
        (T.DateType(), pa.array([dt.datetime(2024, 1, 1)]), None, "the column is DATE"),
        (T.TimestampNTZType(), pa.array([0], pa.timestamp("us", "UTC")), None, "the column is TIMESTAMP_NTZ"),
        (T.TimestampNTZType(), pa.array([0, 1], pa.timestamp("ns")), 1, "does not fit TIMESTAMP_NTZ"),
        (T.TimestampNTZType(), pa.array([0, 2**62], pa.timestamp("s")), 1, "does not fit TIMESTAMP_NTZ"),
        (ADDRESS, pa.array([{"city": "x"}]), None, "field zip is missing"),
    ],
)
def test_bad_arrow_data_is_refused(
    data_type: T.DataType, array: pa.Array, row: int | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        to_batch(table(c=data_type), pa.table({"c": array}))
    assert (caught.value.row, caught.value.column) == (row, "c")
    assert message in str(caught.value)


@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize(
    ("data_type", "values", "row", "column", "message"),
    [
        (T.ArrayType(T.ByteType()), [[1], None, [], [2, 3, 300]], 3, "c.element", "300 does not fit TINYINT"),
        (T.ArrayType(T.ByteType(), False), [[1], None, [2, None]], 2, "c.element", "NULL in a part that"),
        (
            T.MapType(T.StringType(), T.ByteType()),
            [{"a": 1}, None, {"b": 1, "c": 300}],
            2,
            "c.value",
            "300 does not fit TINYINT",
        ),
        (
            T.MapType(T.StringType(), T.LongType(), False),
            [{"a": 1}, {"b": None}],
            1,
            "c.value",
            "NULL in a part",
        ),
        (
            ADDRESS,
            [None, {"city": "x", "zip": 1}, {"city": None, "zip": 1}],
            2,
            "c.city",
            "NULL in a NOT NULL",
        ),
        (T.ArrayType(ADDRESS), [[], [{"city": "x", "zip": 2**40}]], 1, "c.element.zip", "does not fit INT"),
    ],
)
def test_a_bad_value_deep_inside_is_found(
    arrow: bool, data_type: T.DataType, values: list[Any], row: int, column: str, message: str
) -> None:
    rows: Any = [{"c": value} for value in values]
    if arrow:
        is_map = isinstance(data_type, T.MapType)
        kind = pa.map_(pa.string(), pa.int64()) if is_map else None
        plain_values = [v if v is None or not is_map else list(v.items()) for v in values]
        rows = pa.table({"c": sliced(pa.array(plain_values, kind))})
    with pytest.raises(InputError) as caught:
        to_batch(table(c=data_type), rows)
    assert (caught.value.row, caught.value.column) == (row, column)
    assert message in str(caught.value)


PAIR = table("a", a=T.LongType(), b=T.StringType())


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"a": 1}], "table t, row 0, column b: the column is missing (a NULL must be given as NULL)"),
        (
            [{"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 2}],
            "table t, row 1, column c: there is no such column; columns are a, b",
        ),
        ([{"a": 1, "b": "x", "B": "y"}], "table t, row 0, column b: the column is given twice"),
        ([{"a": 1, "b": "x"}, {"a": None, "b": "x"}], "table t, row 1, column a: NULL in a key column"),
        ([(1, "x")], "table t, row 0: a row is a dict or a Row with names, got (1, 'x')"),
        (
            {"a": 1, "b": "x"},
            "table t: rows come as a list of dicts, a DataFrame or an Arrow table, got dict",
        ),
        (5, "table t: rows come as a list of dicts, a DataFrame or an Arrow table, got int"),
        (pd.DataFrame({"a": [1]}), "table t, column b: the column is missing"),
        (
            pd.DataFrame({"a": [1.0, 2.5], "b": ["x", "y"]}),
            "table t, row 1, column a: 2.5 does not fit BIGINT",
        ),
        (
            pd.DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]}),
            "table t, row 1, column a: NULL in a key column",
        ),
        (
            pd.DataFrame({"a": [1], "b": [7]}),
            "table t, column b: the data is int64 (Arrow), the column is STRING",
        ),
        (pa.table({"a": [1], "b": ["x"], "c": [2]}), "table t, column c: there is no such column"),
    ],
)
def test_rows_of_the_wrong_shape_are_refused(rows: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_batch(PAIR, rows)
    assert str(caught.value).startswith(message)


def test_names_are_told_apart_by_case_only_where_the_session_does() -> None:
    rows = [{"A": 1, "b": "x"}]
    assert to_batch(PAIR, rows).to_pylist() == [{"a": 1, "b": "x"}]
    with pytest.raises(InputError, match="column A: there is no such column"):
        to_batch(PAIR, rows, case_sensitive=True)


def test_a_broken_arrow_array_is_refused_and_not_crashed_on() -> None:
    offsets = pa.py_buffer(np.array([0, 900, 1], "i4"))  # the ends look right, the middle points nowhere
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"x")])
    with pytest.raises(InputError, match="column b: the Arrow data is not valid"):
        to_batch(PAIR, pa.table({"a": [1, 2], "b": broken}))


def test_pandas_missing_values_are_null_and_whole_floats_are_integers() -> None:
    frame = pd.DataFrame(
        {
            "n": [1.0, np.nan],
            "m": pd.array([2, None], dtype="Int64"),
            "d": [np.nan, 0.5],
            "s": ["x", np.nan],
            "at": pd.to_datetime(["2024-07-01 12:00", None]),
            "c": pd.Categorical(["u", None]),
        }
    )
    schema = table(
        n=T.LongType(),
        m=T.IntegerType(),
        d=T.DoubleType(),
        s=T.StringType(),
        at=T.TimestampType(),
        c=T.StringType(),
    )
    noon = dt.datetime(2024, 7, 1, 10, 0, tzinfo=UTC)
    assert to_batch(schema, frame, timezone="Europe/Zurich").to_pylist() == [
        {"n": 1, "m": 2, "d": None, "s": "x", "at": noon, "c": "u"},
        {"n": None, "m": None, "d": 0.5, "s": None, "at": None, "c": None},
    ]


@pytest.mark.parametrize(
    "zone", ["Europe/Zurich", "America/New_York", "+05:30", "GMT-3", "Z", "Australia/Lord_Howe"]
)
def test_local_times_are_instants_of_the_session_time_zone_as_spark_reads_them(
    spark: SparkSession, zone: str
) -> None:
    start = np.datetime64("2024-01-01T00:07", "us")
    local = (start + np.arange(0, 366 * 24 * 4) * np.timedelta64(15, "m")).astype("datetime64[us]")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.createDataFrame(pa.table({"local": pa.array(local)}), "local timestamp_ntz")
        answer = frame.selectExpr("unix_micros(CAST(local AS TIMESTAMP)) AS us").toArrow()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    pushed = [{"at": value} for value in local.tolist()]
    for rows in (pa.table({"at": pa.array(local)}), pushed):
        batch = to_batch(table(at=T.TimestampType()), rows, timezone=zone)
        assert batch.column(0).cast(pa.int64()).equals(answer.column(0).combine_chunks())


def test_dates_and_datetimes_of_all_kinds_may_be_mixed_in_one_timestamp_column() -> None:
    values = [dt.date(2024, 7, 1), None, dt.datetime(2024, 7, 1, 12), dt.datetime(2024, 7, 1, tzinfo=UTC)]
    batch = to_batch(table(at=T.TimestampType()), [{"at": v} for v in values], timezone="+02:00")
    hours = [
        dt.datetime(2024, 6, 30, 22, tzinfo=UTC),
        None,
        dt.datetime(2024, 7, 1, 10, tzinfo=UTC),
        values[3],
    ]
    assert batch.column(0).to_pylist() == hours


def test_a_spark_dataframe_is_taken_with_all_its_types(spark: SparkSession) -> None:
    frame = spark.sql(
        """SELECT 1S AS small, 1.5BD AS money, 'x' AS name, DATE'2024-02-29' AS day,
                  TIMESTAMP'2024-02-29 12:00:00' AS at, INTERVAL '1-2' YEAR TO MONTH AS months,
                  INTERVAL '3' DAY AS span, array(1, 2) AS xs, map('k', 1) AS m, named_struct('a', 1) AS s"""
    )
    schema = table(
        s=T.StructType([T.StructField("a", T.LongType())]),
        m=T.MapType(T.StringType(), T.LongType()),
        xs=T.ArrayType(T.LongType()),
        span=T.DayTimeIntervalType(),
        months=T.YearMonthIntervalType(),
        at=T.TimestampType(),
        day=T.DateType(),
        name=T.StringType(),
        money=T.DecimalType(12, 2),
        small=T.LongType(),
    )
    batch = to_batch(schema, frame)
    assert batch.schema == schema.arrow_schema
    [row] = batch.to_pylist()
    assert (row["months"], row["span"], row["money"]) == (14, dt.timedelta(3), Decimal("1.50"))
    assert (row["xs"], row["m"], row["s"]) == ([1, 2], [("k", 1)], {"a": 1})


COMPOSITE = table("b a", a=T.LongType(), x=T.StringType(), b=T.StringType())


@pytest.mark.parametrize(
    "rows",
    [
        [{"a": 1, "b": "u"}, {"a": 2, "b": "v"}],
        [{"a": 1, "b": "u", "x": None}, {"B": "v", "A": 2}],
        [("u", 1), ("v", 2)],
        pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}),
        pa.table({"x": ["p", "q"], "a": [1, 2], "b": ["u", "v"]}),
        [Row(a=1, b="u"), Row(a=2, b="v")],
    ],
)
def test_keys_may_be_given_as_keys_or_as_whole_rows(rows: Any) -> None:
    batch = to_keys(COMPOSITE, rows)
    assert batch.schema.names == ["b", "a"]
    assert batch.to_pylist() == [{"b": "u", "a": 1}, {"b": "v", "a": 2}]


@pytest.mark.parametrize(
    "rows",
    [
        [7, 8],
        (7, 8),
        iter([7, 8]),
        pa.array([7, 8]),
        np.array([7, 8]),
        pd.Series([7, 8]),
        range(7, 9),
        [{"a": 7}, {"a": 8}],
    ],
)
def test_a_key_of_one_column_may_be_given_bare(rows: Any) -> None:
    assert to_keys(PAIR, rows).to_pylist() == [{"a": 7}, {"a": 8}]


@pytest.mark.parametrize(
    ("schema", "rows", "message"),
    [
        (PAIR, [1, None], "table t, row 1, column a: NULL in a key column"),
        (PAIR, ["x"], "table t, row 0, column a: 'x' is a str, the column is BIGINT"),
        (PAIR, [{"b": "x"}], "table t, row 0, column a: the column is missing"),
        (PAIR, [{"a": 1, "q": 1}], "table t, row 0, column q: there is no such column; columns are a, b"),
        (COMPOSITE, [("u", 1), "v"], "table t, row 1: a key is a dict or a tuple of (b, a), got 'v'"),
        (table(a=T.LongType()), [1], "table t: the table has no primary key; delete whole rows"),
    ],
)
def test_bad_keys_are_refused(schema: TableSchema, rows: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        to_keys(schema, rows)
    assert str(caught.value).startswith(message)


def test_nothing_pushed_is_an_empty_batch() -> None:
    assert to_batch(EVERYTHING, []).schema == EVERYTHING.arrow_schema
    assert to_keys(PAIR, []).num_rows == 0


def test_a_batch_that_fits_already_is_passed_on_without_a_copy() -> None:
    batch = to_batch(PAIR, [{"a": 1, "b": "x"}])
    again = to_batch(PAIR, batch)
    assert again.column(0).buffers()[1].address == batch.column(0).buffers()[1].address


@pytest.mark.parametrize("source", ["python", "pandas", "arrow"])
def test_a_table_holds_one_spelling_of_zero_and_of_nan(source: str) -> None:
    table = TableSchema("t", T.StructType.fromDDL("x DOUBLE, f FLOAT, l ARRAY<DOUBLE>"))
    rows = [{"x": -0.0, "f": -0.0, "l": [-0.0, 1.0]}, {"x": -float("nan"), "f": 0.0, "l": None}]
    pushed: Any = rows
    if source == "pandas":
        rows[1]["x"] = 0.0  # to pandas NaN is a missing value
        pushed = pd.DataFrame(rows)
    if source == "arrow":
        pushed = pa.Table.from_pylist(rows, schema=table.arrow_schema)
    batch = to_batch(table, pushed)
    columns = [batch.column("x"), batch.column("f"), batch.column("l").flatten()]
    assert not any(np.signbit(column.to_numpy(zero_copy_only=False)).any() for column in columns)
