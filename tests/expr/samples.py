"""Rows in which edge cases and ordinary values of every type meet at random, the same ones every time."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as t

from penstock.expr.types import to_arrow

D = decimal.Decimal

DDL = """
    b BOOLEAN, b2 BOOLEAN, i1 TINYINT, i1b TINYINT, i2 SMALLINT, i2b SMALLINT, i4 INT, i4b INT, i8 BIGINT,
    i8b BIGINT, f4 FLOAT, f4b FLOAT, f8 DOUBLE, f8b DOUBLE, n DOUBLE, k INT, s STRING, s2 STRING, num STRING,
    tim STRING, bin BINARY, bin2 BINARY, d DATE, d2 DATE, ts TIMESTAMP, ts2 TIMESTAMP, ntz TIMESTAMP_NTZ,
    ntz2 TIMESTAMP_NTZ, dec DECIMAL(12,2), dec2 DECIMAL(12,2), big DECIMAL(38,10), big2 DECIMAL(38,10),
    whole DECIMAL(38,0), small DECIMAL(5,5), tiny DECIMAL(38,38), mid DECIMAL(20,4),
    dt INTERVAL DAY TO SECOND, ym INTERVAL YEAR TO MONTH, js STRING
"""

_INF, _NAN = math.inf, math.nan


def _us(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    delta = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


_DOUBLES = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -2.5,
    1.005,
    2.675,
    0.1,
    1e-3,
    9.999e-4,
    1e7,
    9999999.5,
    1e15,
    1e16,
    1e17,
    123456789.987654321,
    1e22,
    1e38,
    1e300,
    -1e300,
    5e-324,
    1.7976931348623157e308,
    2147483647.0,
    2147483647.5,
    2147483648.0,
    -2147483648.5,
    -2147483649.0,
    9.223372036854775e18,
    9.223372036854776e18,
    -9.223372036854776e18,
    127.9,
    128.0,
    -128.9,
    32768.0,
    _NAN,
    _INF,
    -_INF,
    3.0,
    0.3,
    1 / 3,
]
_STRINGS = [
    "",
    " ",
    "a",
    "A",
    "abc",
    "ABC",
    "aBc dEf",
    "  pad  ",
    "x,y,,z",
    "a%b_c",
    "a\\b",
    "é",
    "Éa",
    "ß",
    "日本語",
    "😀x",
    "naïve café",
    "a\nb",
    "tab\tx",
    "1",
    "12.5",
    "aaa",
    "abab",
    "ab",
    "b",
    "ba",
    "O'Neil-smith x",
    "İi",
    "ΑΣ",
    "2024-03-10",
    "\u00a0x\u00a0",
    "zzz",
    "foo.bar.baz",
    "ǆ",
    "k=v;k2=v2",
    "A1b2C3",
]
_NUMERALS = [
    "0",
    "1",
    "-1",
    "+5",
    " 42 ",
    "\t7\n",
    "007",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "128",
    "99999999999999999999999",
    "1.5",
    "-1.5",
    ".5",
    "5.",
    ".",
    "+",
    "-",
    "",
    " ",
    "1e3",
    "1E-3",
    "1e400",
    "-1e400",
    "1e-400",
    "abc",
    "1a",
    "1 2",
    "0x1F",
    "0x1p3",
    "NaN",
    "nan",
    "Infinity",
    "-inf",
    "inf",
    "+Inf",
    "1d",
    "1.5f",
    "1L",
    "true",
    "FALSE",
    "t",
    "Y",
    "no",
    " yes ",
    "off",
    "1.005",
    "2.675",
    "12345.678",
    "0.00000000000000000000000000000000000001",
    "99999999999999999999999999999999999999",
    "99999999999999999999999999999999999999.5",
    "100000000000000000000000000000000000000",
    "1e37",
    "1e38",
    "1e39",
    "12e-1",
    "-0",
    "-0.0",
    "00000000000000000000000000000000000000000000001.25",
    "1_000",
    "--1",
    "1e",
    "e1",
    "1.2.3",
    "+.5e1",
    "1e+2",
    "123456789012345678901234567890.12345678905",
    "999.995",
]
_TIMES = [
    "2024-03-10",
    "2024-3-9",
    "2024",
    "2024-02",
    "2024-02-30",
    "2024-13-01",
    "2024-00-10",
    "2023-02-29",
    "2024-02-29",
    " 2024-03-10 ",
    "2024-03-10 02:30:00",
    "2024-03-10T02:30:00",
    "2024-11-03 01:30:00",
    "2024-03-10 1:2:3",
    "2024-03-10 01:02",
    "2024-03-10 01",
    "2024-03-10 01:02:03.5",
    "2024-03-10 01:02:03.",
    "2024-03-10 01:02:03.1234567",
    "2024-03-10 01:02:03Z",
    "2024-03-10 01:02:03+01:00",
    "2024-03-10 01:02:03 UTC",
    "2024-03-10 01:02:03 Europe/Paris",
    "2024-03-10 01:02:03.25 +5:30",
    "2024-03-10 24:00:00",
    "2024-03-10 23:60:00",
    "2024-03-10 23:59:60",
    "2024-03-10x",
    "2024-03-10 ",
    "2024-03-10T",
    "2024-03-10T abc",
    "+2024-03-10",
    "-0001-01-01",
    "0000-01-01",
    "0001-01-01",
    "9999-12-31",
    "10000-01-01",
    "+10000-01-01",
    "123-01-01",
    "2024-1-",
    "2024-",
    "",
    " ",
    "abc",
    "20240310",
    "2024/03/10",
    "1883-11-18 12:00:00",
    "1582-10-10",
    "1900-02-29",
    "2000-02-29 12:34:56.789",
    "2024-03-10 01:02:03 Foo/Bar",
    "2024-003-10",
    "2024-03-010",
    "294247-01-10 04:00:54.775807",
    "2024-03-10 01:02:03-8",
    "2024-03-10 01:02:03GMT+2",
]
_JSONS = [
    '{"a":1}',
    '{"a":1.5}',
    '{"a":"1"}',
    '{"a":true}',
    '{"a":null}',
    '{"a":[1,2]}',
    '{"a":{"b":1,"c":"x"}}',
    '{"a":9999999999}',
    '{"a":1e3}',
    '{"a":"NaN"}',
    '{"a":NaN}',
    '{"a":"Infinity"}',
    '{"a":"2024-02-29"}',
    '{"a":"2024-02-29 12:34:56.789"}',
    '{"a":"2024-2-9"}',
    '{"a":""}',
    '{"a":[1,"x",null,2.5]}',
    '{"a":[{"b":1},{"b":"z"},null,{"c":"q"}]}',
    '{"a":[{"b":[1,2]},{"b":[3]}]}',
    "",
    "  ",
    "null",
    "{",
    "[]",
    "[1]",
    '[{"a":1},{"a":2}]',
    "1",
    "12abc",
    '"x"',
    '{"A":1}',
    '{"a":1,"a":2}',
    '{"a":1.10}',
    '{"a":{"x":1.10, "y" : [1 , 2]}}',
    '{"a":128}',
    '{"a":-129}',
    '{"a":1} x',
    '{"a":1,}',
    '{"b":2}',
    '{"a":19782}',
    '{"a":12345678901234567890123456789012345678901234567890}',
    '{"a":123.456}',
    '{"a":"1,234.5"}',
    '{"a":"2024-03-10T02:30:00+01:00"}',
    '{"a":[]}',
    '{"a":{}}',
    '{"a":{"b":null}}',
    '{"a":[[1],[2,3]]}',
    "{'a':'it\"s'}",
    r'{"a":"\u00e9\ud83d\ude00\n\/"}',
    '{"a":01}',
    '{"a":"+INF"}',
    '{"a":-0}',
    '{"a":-0.0}',
    '{"a":"1 day"}',
    '[{"a":1},5]',
    '{"a":1,"b":"bad"}',
    '{"a":"x","b":3}',
    '{"a":{"b":"bad","c":"ok"},"b":1}',
    '{"a":[1.10,1e3,-0,1E400,12345678901234567890,1e-7]}',
    r'{"a":{"x":"q\"</é😀\u0001"}}',
    '{"a b":1,"c":{"":2}}',
    r'{"a":"\x"}',
    '{"a":["x"]}',
    '{"a":"1"}',
    '{"a":2147483648,"b":{"c":[{"d":null}]}}',
]
_DATES = [
    "1970-01-01",
    "1969-12-31",
    "2024-02-29",
    "2023-02-28",
    "2024-03-10",
    "2024-11-03",
    "0001-01-01",
    "9999-12-31",
    "1582-10-15",
    "1582-10-04",
    "1900-03-01",
    "2000-02-29",
    "2021-01-03",
    "2020-12-31",
    "2024-12-30",
    "1883-11-18",
    "2024-01-31",
    "2024-12-31",
    "1999-12-31",
    "2026-01-01",
    "2016-02-29",
    "2100-02-28",
    "2024-07-15",
]
_STAMPS = [
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "2024-03-10 09:59:59.999999",
    "2024-03-10 10:00:00",
    "2024-03-10 10:30:00",
    "2024-11-03 08:30:00",
    "2024-11-03 09:30:00",
    "2024-11-03 09:00:00",
    "2024-02-29 12:34:56.123456",
    "1883-11-18 12:00:00",
    "1883-11-18 20:00:00",
    "1800-01-01 00:00:00",
    "0001-01-03 00:00:00",
    "9999-12-30 23:59:59.5",
    "2050-07-01 12:00:00",
    "2050-12-01 12:00:00.1",
    "1918-03-31 10:00:00",
    "2000-01-01 08:00:00",
    "1600-06-15 03:03:03.003",
    "2024-12-31 23:59:59",
    "2024-07-15 13:45:30.000001",
    "2024-03-31 07:00:00",
    "2024-02-29 08:00:00",
    "1945-08-14 23:00:00",
]
_LOCALS = [
    *_STAMPS,
    "2024-03-10 02:30:00",
    "2024-11-03 01:30:00",
    "2024-03-10 03:00:00",
    "2024-11-03 02:00:00",
]


def _decimals(precision: int, scale: int) -> list[D]:
    digits = [
        "0",
        "1",
        "5",
        "15",
        "25",
        "99",
        "100",
        "105",
        "12345",
        "9" * (precision - 1),
        "9" * precision,
        "1" + "0" * (precision - 1),
        "5" * precision,
        "4" + "9" * (precision - 1),
        "12345678901234567890",
    ]
    values = [D(x[-precision:]).scaleb(-scale) for x in digits]
    with decimal.localcontext(decimal.Context(prec=60)):
        return values + [-value for value in values]


def _integers(bits: int) -> list[int]:
    top = 2 ** (bits - 1)
    return [
        0,
        1,
        -1,
        2,
        -2,
        3,
        7,
        10,
        -10,
        100,
        -128,
        127,
        top - 1,
        -top,
        top // 2,
        -top + 1,
        31,
        15,
        55,
        -15,
    ]


def _edges(field: t.StructField) -> list[Any]:
    by_name = {
        "s": _STRINGS,
        "s2": _STRINGS,
        "num": _NUMERALS,
        "tim": _TIMES,
        "js": _JSONS,
        "k": [-3, -2, -1, 0, 1, 2, 3, 4, 5, 7],
        "n": [0.0, 1.0, -1.0, 2.0, 0.25, 0.5, -0.5, 10.0, 100.0, 1.5, 3.7, 1e-5],
    }
    if field.name in by_name:
        return by_name[field.name]
    kind = field.dataType
    if isinstance(kind, t.BooleanType):
        return [True, False]
    if isinstance(kind, (t.ByteType, t.ShortType, t.IntegerType, t.LongType)):
        return _integers(to_arrow(kind).bit_width)
    if isinstance(kind, t.DoubleType):
        return _DOUBLES
    if isinstance(kind, t.FloatType):
        with np.errstate(over="ignore"):
            return [float(np.float32(x)) for x in _DOUBLES]
    if isinstance(kind, t.DecimalType):
        return _decimals(kind.precision, kind.scale)
    if isinstance(kind, t.BinaryType):
        return [b"", b"a", b"ab", b"\x00", b"\xff", b"\xff\x00", b"\x7f", b"hello", bytes(range(20))]
    if isinstance(kind, t.DateType):
        return [datetime.date.fromisoformat(x) for x in _DATES]
    if isinstance(kind, (t.TimestampType, t.TimestampNTZType)):
        return [_us(x) for x in (_STAMPS if isinstance(kind, t.TimestampType) else _LOCALS)]
    if isinstance(kind, t.DayTimeIntervalType):
        day = 86_400_000_000
        return [0, 1, -1, day, -day, day + 3_600_000_000, 10_500_000, -3_723_000_001, 365 * day, 36 * day + 7]
    return [0, 1, -1, 12, 13, -13, 25, 1200, 7]


def _random(field: t.StructField, rng: np.random.Generator) -> Any:
    kind = field.dataType
    if isinstance(kind, t.DoubleType) and field.name != "n":
        return float(
            rng.choice(
                [
                    rng.normal() * 1000,
                    rng.normal() * 10.0 ** rng.integers(-20, 20),
                    round(rng.normal() * 100, 2),
                    float(rng.integers(-1000, 1000)) / 8,
                ]
            )
        )
    if isinstance(kind, t.FloatType):
        return float(np.float32(rng.normal() * 10.0 ** rng.integers(-6, 9)))
    if isinstance(kind, (t.ShortType, t.IntegerType, t.LongType)) and field.name != "k":
        return int(rng.integers(-20000, 20000))
    if isinstance(kind, t.DecimalType):
        digits = "".join(map(str, rng.integers(0, 10, rng.integers(1, kind.precision + 1))))
        return D(digits).scaleb(-kind.scale).copy_sign(D(1 if rng.random() < 0.5 else -1))
    if isinstance(kind, t.DateType):
        return datetime.date.fromordinal(int(rng.integers(700000, 745000)))
    if isinstance(kind, (t.TimestampType, t.TimestampNTZType)):
        return int(rng.integers(_us("1950-01-01"), _us("2060-01-01")))
    edges = _edges(field)
    return edges[rng.integers(0, len(edges))]


def samples(rows: int = 600, seed: int = 7) -> pa.Table:
    """The table: per value one in twelve is NULL, and most of the others are edge cases."""
    rng = np.random.default_rng(seed)
    columns: dict[str, pa.Array] = {}
    with decimal.localcontext(decimal.Context(prec=60)):
        for field in t.StructType.fromDDL(DDL).fields:
            edges = _edges(field)
            values: list[Any] = []
            for row in range(rows):
                luck = rng.random()
                if luck < 0.08:
                    values.append(None)
                elif luck < 0.35:
                    values.append(_random(field, rng))
                else:
                    values.append(
                        edges[row % len(edges)] if luck < 0.6 else edges[rng.integers(0, len(edges))]
                    )
            columns[field.name] = pa.array(values, to_arrow(field.dataType))
    return pa.table(columns)
