"""TIME, the time of day: literals, casts, functions and arithmetic have Spark's values and errors."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.expr.checker import Checker, active_session_kept

DDL = """
    a TIME, b TIME(3), n TIME(9), z TIME(0), s STRING, h INT, m INT, sec DECIMAL(16,6), ds INTERVAL DAY
    TO SECOND, mi INTERVAL MINUTE, x BIGINT, f DOUBLE, g FLOAT, de DECIMAL(12,4), d DATE, u STRING, ts
    TIMESTAMP, nz TIMESTAMP_NTZ, p STRING
"""
ROWS = 400
_DAY = 86_400 * 10**9
_TEXTS = (
    *(
        "12:34:56.789",
        "1:2:3",
        "01:02",
        " 23:59:59.999999999 ",
        "T01:02:03.5",
        "12:00 AM",
        "12:00:00pm",
        "1:2PM",
    ),
    *("00:00", "11:59:59.1234567891 pm", "7:08:09.", "0:0:0.000000001", "12:30:00 Am"),
)
_BAD = (
    *(
        "",
        "x",
        "24:00:00",
        "12:60",
        "12:00:60",
        "13:00 PM",
        "0:00 AM",
        "12",
        "12:",
        "123:00",
        "12:34.5",
        "-1:00",
    ),
    *(
        "2020-01-01 01:02:03",
        "01:02:03+01:00",
        "01:02:03Z",
        "t01:02",
        "TT01:02",
        "12:00  PM",
        "12:00 P",
        "12:345",
    ),
    *("12:00 PM x", "01:02:03,5", "\uff11:02", "01:02:03.5.5", "PM", "12:00PMPM", "T", "01:02:03.5 T"),
)


def samples() -> pa.Table:
    rng = np.random.default_rng(5)

    def times(digits: int) -> pa.Array:
        unit = 10 ** (9 - digits)
        edges = [0, unit, _DAY - unit, 12 * 3600 * 10**9, None]
        drawn = (rng.integers(0, _DAY, ROWS - len(edges)) // unit * unit).tolist()
        return pa.array([*edges, *drawn], pa.time64("ns"))

    def drawn(values: list[object]) -> list[object]:
        return [values[i] for i in rng.integers(0, len(values), ROWS)]

    first = datetime.datetime(1899, 12, 31)
    moments = [first + datetime.timedelta(microseconds=int(i)) for i in rng.integers(0, 7 * 10**15, ROWS)]
    return pa.table(
        {
            "a": times(6),
            "b": times(3),
            "n": times(9),
            "z": times(0),
            "s": drawn([*_TEXTS, None]),
            "h": drawn([*range(24), None]),
            "m": drawn([*range(60), None]),
            "sec": pa.array(
                drawn([Decimal("59.999999"), Decimal("0.5"), Decimal(7), None]), pa.decimal128(16, 6)
            ),
            "ds": pa.array(rng.integers(-(10**6), 10**6, ROWS), pa.duration("us")),
            "mi": pa.array(rng.integers(0, 2, ROWS) * 60_000_000, pa.duration("us")),
            "x": rng.integers(0, 86_400, ROWS),
            "f": rng.uniform(0, 86_400, ROWS),
            "g": pa.array(rng.uniform(0, 86_399, ROWS), pa.float32()),
            "de": pa.array(
                [Decimal(int(i)).scaleb(-4) for i in rng.integers(0, 864_000_000, ROWS)], pa.decimal128(12, 4)
            ),
            "d": pa.array(rng.integers(-40_000, 40_000, ROWS), pa.int32()).cast(pa.date32()),
            "u": drawn(["hour", "MINUTE", "Second", "millisecond", "MICROSECOND", None]),
            "ts": pa.array(moments, pa.timestamp("us", "UTC")),
            "nz": pa.array(moments, pa.timestamp("us")),
            "p": drawn(["12.34.56", "01.02.03", None]),
        }
    )


@pytest.fixture(scope="module")
def _times(spark: SparkSession) -> Checker:
    session = spark.newSession()
    session.conf.set("spark.sql.timeType.enabled", "true")
    checker = Checker(session, samples(), DDL)
    for one in (checker.batch, checker.planning):
        one.conf.set("spark.sql.timeType.enabled", "true")
    return checker


@pytest.fixture
def times(_times: Checker, spark: SparkSession) -> Iterator[Checker]:
    with active_session_kept(spark):
        yield _times


def test_functions(times: Checker) -> None:
    functions = """
        make_time(h, m, sec); hour(a); minute(b); second(n); extract(SECOND FROM a); extract(SECOND FROM b);
        extract(SECOND FROM n); extract(SECOND FROM z); date_part('HOUR', n); to_time(s); try_to_time(s);
        to_time(p, 'HH.mm.ss'); try_to_time(s, 'H:m'); try_to_time(p, 'HH.mm.ss');
        try_to_time(concat('01:02:03.', x), 'HH:mm:ss.SSSSSSSSS'); time_trunc('HOUR', a); time_trunc(u, n);
        time_trunc(u, b); time_trunc(NULL, a); time_diff('MINUTE', a, b); time_diff(u, n, a); time_diff(u,
        z, b); time_from_seconds(x); time_from_seconds(f); time_from_seconds(g); time_from_seconds(de);
        time_from_millis(x); time_from_micros(x); time_to_seconds(a); time_to_seconds(n); time_to_millis(n);
        time_to_micros(n); make_timestamp(d, a); make_timestamp_ntz(d, n); make_timestamp(d, b,
        'Asia/Tokyo'); try_make_timestamp_ntz(d, z)
    """
    times.check(functions)
    times.check(functions, ansi=False)


def test_casts(times: Checker) -> None:
    casts = """
        CAST(s AS TIME); CAST(s AS TIME(0)); CAST(s AS TIME(3)); CAST(s AS TIME(9)); CAST(a AS TIME(2));
        CAST(n AS TIME); CAST(z AS TIME(9)); CAST(a AS STRING); CAST(n AS STRING); CAST(z AS STRING); CAST(a
        AS INT); CAST(n AS BIGINT); CAST(a AS DECIMAL(20,6)); CAST(n AS DECIMAL(14,9)); CAST(n AS
        DECIMAL(8,1)); CAST(a AS DECIMAL(5,0)); CAST(ts AS TIME); CAST(nz AS TIME(9)); CAST(ts AS TIME(2));
        TRY_CAST(a AS TINYINT); TRY_CAST(a AS SMALLINT); TRY_CAST(a AS DECIMAL(5,1)); CAST(array(a, n) AS
        ARRAY<STRING>); CAST(array(n) AS ARRAY<TIME(1)>); CAST(map(coalesce(a, TIME'1:00'), b) AS STRING);
        CAST(struct(n, z) AS STRING)
    """
    times.check(casts)
    times.check(f"{casts}; CAST(a AS TINYINT); CAST(a AS SMALLINT); CAST(a AS DECIMAL(5,1))", ansi=False)


def test_everything_else_that_takes_values_of_any_type(times: Checker) -> None:
    times.check("""
        a = n; a < b; a <=> b; a IN (TIME'12:00', TIME'00:00:00.000001'); a BETWEEN TIME'01:00' AND b; a =
        '12:00'; n IN (TIME'00:00', TIME'12:00', TIME'1:01', TIME'2:01', TIME'3:01', TIME'4:01', TIME'5:01',
        TIME'6:01', TIME'7:01', TIME'8:01', TIME'23:59:59.999999999'); coalesce(a, b); greatest(a, n, z);
        least(a, b); nullif(a, a); if(a < b, a, n); CASE WHEN a > n THEN a WHEN h > 3 THEN z END; a - b; b -
        n; z - n; a + mi; b + mi; z - INTERVAL '0' HOUR; hash(a, n); xxhash64(a, b, z); array(a, b, n);
        array_sort(array(a, b, n)); array_max(array(a, n)); if(n IS NULL, NULL, map(n, a));
        array_contains(array(a, b), TIME'12:00'); named_struct('x', a, 'y', n); typeof(a); a || s;
        concat_ws('|', a, n); format_string('%s %d', a, n); to_json(named_struct('x', a, 'y', n)); if(a IS
        NULL, NULL, to_json(map(a, b))); date_format(a, 'HH:mm:ss.SSSSSS'); date_format(n,
        'hh-mm-ss.SSSSSSSSS a'); date_format(b, 'K k H:m:s'); to_char(a, 'HH'); TIME'23:59:59.999999999';
        array(TIME'01:02:03.000000004', n); transform(array(a, b), v -> v = a)
    """)


@pytest.mark.parametrize("text", [*_TEXTS, *_BAD])
def test_texts_that_are_times_and_texts_that_are_not(times: Checker, text: str) -> None:
    quoted = text.replace("'", "\\'")
    times.check([f"TRY_CAST(concat('{quoted}', left(s, 0)) AS TIME(9))"])


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("CAST(s AS TIME)", "'24:00' AS s", "CAST_INVALID_INPUT"),
        ("CAST(a AS TINYINT)", "TIME'12:00' AS a", "CAST_OVERFLOW"),
        ("CAST(a AS DECIMAL(5,1))", "TIME'12:00' AS a", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
        ("to_time(s)", "'x' AS s", "CANNOT_PARSE_TIME"),
        ("to_time(s, 'HH')", "'x' AS s", "CANNOT_PARSE_TIME"),
        ("make_time(h, 2, 3)", "24 AS h", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        ("make_time(1, 2, sec)", "60BD AS sec", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        ("time_from_seconds(x)", "86400L AS x", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        (
            "time_from_seconds(x)",
            "9223372036854775807L AS x",
            "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION",
        ),
        ("time_from_seconds(f)", "double('NaN') AS f", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        ("time_from_seconds(f)", "-0.5D AS f", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        ("time_from_micros(x)", "-1L AS x", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        ("time_trunc(u, a)", "'X' AS u, TIME'12:00' AS a", "INVALID_PARAMETER_VALUE.TIME_UNIT"),
        ("time_diff(u, a, a)", "'DAY' AS u, TIME'12:00' AS a", "INVALID_PARAMETER_VALUE.TIME_UNIT"),
        ("a + INTERVAL '12' HOUR", "TIME'12:00' AS a", "DATETIME_OVERFLOW"),
        ("a - INTERVAL '13' HOUR", "TIME'12:00' AS a", "DATETIME_OVERFLOW"),
        ("a + INTERVAL '106751991' DAY", "TIME'12:00' AS a", "ARITHMETIC_OVERFLOW"),
        ("make_timestamp(d, a, u)", "DATE'2020-01-01' AS d, TIME'12:00' AS a, 'X' AS u", "INVALID_TIMEZONE"),
    ],
)
def test_errors_are_those_of_spark(times: Checker, expression: str, values: str, condition: str) -> None:
    times.check_error(expression, values, condition)


def test_microseconds_of_an_interval_are_added(times: Checker) -> None:
    """Where the day is not left: others are errors."""
    times.check(
        "if(a BETWEEN TIME'01:00' AND TIME'23:00', a + ds, NULL); if(hour(n) BETWEEN 1 AND 22, n - ds, NULL)"
    )
