"""Dates, timestamps and intervals, across leap days and changes of clocks."""

from __future__ import annotations

import pytest

from penstock.errors import UnsupportedQuery
from tests.expr.checker import Checker


def test_fields_of_dates_and_clocks(checker: Checker) -> None:
    checker.check(
        """
        year(d); year(ts); month(ntz); day(d); quarter(d); dayofweek(d); weekday(d); dayofyear(d);
        weekofyear(d); extract(yearofweek from d); extract(dow_iso from d); dayname(d); monthname(d);
        hour(ts); minute(ts); second(ts); hour(ntz); extract(second from ts); extract(second from ntz);
        extract(day from dt); extract(hour from dt); extract(minute from dt); extract(second from dt);
        extract(year from ym); extract(month from ym)
        """
    )


def test_arithmetic_of_dates(checker: Checker) -> None:
    checker.check(
        """
        date_add(d,k); date_sub(d,k); date_add(d,i1); datediff(d,d2); d-d2; add_months(d,k);
        add_months(d,i1); d+ym; last_day(d); next_day(d,'MO'); next_day(d,'sunday'); trunc(d,'MM');
        trunc(d,'year'); trunc(d,'quarter'); trunc(d,'week'); trunc(d,'foo'); trunc(d,s); unix_date(d);
        date_from_unix_date(k); d+dt; d-interval 1 month; make_ym_interval(k,k);
        make_dt_interval(k,k,k,small)
        """
    )


def test_arithmetic_of_timestamps(checker: Checker) -> None:
    checker.check(
        """
        ts+interval 1 day; ts-interval 1 day; ts+interval 3 months; ts+dt; ts-dt; ts+ym; ntz+dt; ntz+ym;
        ts-ts2; ntz-ntz2; ts-ntz; timestampadd(month,k,ts); timestampadd(day,k,ts);
        timestampadd(hour,k*8,ts); timestampadd(week,k,ntz); timestampadd(year,k,ts);
        timestampadd(quarter,k,ntz); timestampadd(microsecond,k,ts); timestampdiff(month,ts,ts2);
        timestampdiff(year,ts,ts2); timestampdiff(quarter,ts,ts2); timestampdiff(day,ts,ts2);
        timestampdiff(hour,ts,ts2); timestampdiff(week,ntz,ntz2); timestampdiff(second,ts,ts2);
        months_between(ts,ts2); months_between(ts,ts2,false); months_between(d,d2)
        """
    )


def test_intervals_of_months_days_and_hours_are_added_one_after_the_other(checker: Checker) -> None:
    """Thirty hours are not a day and six hours where clocks change in between."""
    checker.check(
        """
        ts+make_interval(0,1); ts+make_interval(0,0,0,1,6); ts+make_interval(0,0,0,0,30);
        ts-make_interval(1,-1,0,3,0,0,0.000001); ntz+make_interval(2,1,1,1,1,1,1.5); ts+make_interval();
        ts+if(k>1,make_interval(0,0,0,1),make_interval(0,0,0,0,24));
        ts+case when k>1 then make_interval(0,1) when k>0 then null else make_interval(0,0,0,0,0,-7) end
        """
    )


@pytest.mark.parametrize("column", ["ts", "ntz"])
def test_cutting_to_every_unit(checker: Checker, column: str) -> None:
    units = [
        "microsecond",
        "millisecond",
        "second",
        "minute",
        "hour",
        "day",
        "dd",
        "week",
        "month",
        "mon",
        "quarter",
        "year",
        "yyyy",
        "foo",
    ]
    checker.check([*(f"date_trunc('{unit}',{column})" for unit in units), "date_trunc('month',d)"])


def test_time_zones_and_unix_time(checker: Checker) -> None:
    checker.check(
        """
        to_utc_timestamp(ts,'Asia/Tokyo'); from_utc_timestamp(ts,'America/New_York');
        to_utc_timestamp(ts,'America/New_York'); from_utc_timestamp(ts,'+05:30');
        convert_timezone('America/Los_Angeles','Asia/Kolkata',ntz); unix_timestamp(ts);
        unix_timestamp(d); to_unix_timestamp(ts); unix_seconds(ts); unix_millis(ts); unix_micros(ts);
        timestamp_seconds(i4); timestamp_millis(i4); timestamp_micros(i8); from_unixtime(i4);
        from_unixtime(i4,'yyyy-DDD'); timestamp_seconds(f8); timestamp_seconds(f4); timestamp_seconds(dec);
        timestamp_seconds(small*10)
        """
    )


def test_buckets_of_time(checker: Checker) -> None:
    checker.check(
        """
        time_bucket(interval 1 day,ts); time_bucket(interval 7 day,ts); time_bucket(interval 15 minutes,ts);
        time_bucket(interval 5 hours,ts); time_bucket(interval 1 month,ts); time_bucket(interval 3 month,ts);
        time_bucket(interval 2 year,ts); time_bucket(interval 7 day,ntz); time_bucket(interval 1 month,ntz);
        time_bucket(interval 90 minutes,ntz); time_bucket(interval 1 day,ts,timestamp'2024-01-01 06:30:00');
        time_bucket(interval 2 month,ts,timestamp'2024-01-31 06:00:00');
        time_bucket(interval 1 month,ntz,timestamp_ntz'2020-02-29 12:00:00')
        """
    )


def test_intervals_are_scaled_exactly(checker: Checker) -> None:
    checker.check(
        """
        dt*2; dt*k; dt*n; dt*1.5; dt/3; dt/7.0; ym*2; ym*n; ym/3; ym/-5
        """
    )


def test_printing_by_a_pattern(checker: Checker) -> None:
    checker.check(
        [
            "date_format(ts,'yyyy-MM-dd HH:mm:ss.SSSSSS')",
            """date_format(ts,"G y yy yyy yyyy M MM MMM MMMM d dd D DDD E EEEE a h hh H k K m s S SSS")""",
            """date_format(ts,"q Q QQQ VV X XXX XXXXX xx xxx Z ZZZZ ZZZZZ O 'x' ''yyyy''")""",
            "date_format(d,'yyyy-MM')",
            "date_format(ntz,'yyyy/MM/dd hh:mm a')",
            "date_format(ts,'QQQQ LLL')",
        ]
    )


def test_reading_by_a_pattern(checker: Checker) -> None:
    patterns = [
        "yyyy-MM-dd",
        "yyyy-MM-dd HH:mm:ss",
        "yyyy-M-d H:m:s",
        "yyyy-MM-dd HH:mm:ss[.SSS]",
        "yyyyMMdd",
        "yyyy",
        "yyyy-MM-dd HH:mm:ss.SSSSSS",
        "yyyy-MM-dd HH:mm:ssXXX",
    ]
    there_and_back = [
        "dd MMM yyyy hh:mm a",
        "MM/dd/yy",
        "yyyyMMddHHmmss",
        "d MMMM yyyy",
        "yyyy-MM-dd KK:mm a",
    ]
    checker.check(
        [f"try_to_timestamp(tim,'{pattern}')" for pattern in patterns]
        + [f"try_to_timestamp(date_format(ts,'{p}'),'{p}')" for p in there_and_back]
        + ["try_to_date(tim,'yyyy-MM-dd')", "to_date(date_format(d,'yyyyMMdd'),'yyyyMMdd')"]
        + ["to_timestamp_ntz(date_format(ntz,'yyyy-MM-dd HH:mm'),'yyyy-MM-dd HH:mm')"]
    )


def test_legacy_mode_gives_null_for_what_does_not_exist(checker: Checker) -> None:
    checker.check(
        """
        make_date(i2,k,15); make_date(2024,k,30); next_day(d,s); unix_timestamp(tim);
        unix_timestamp(tim,'yyyy-MM-dd'); to_date(tim,'yyyy-MM-dd'); make_timestamp(2024,k,k,k,k,small)
        """,
        ansi=False,
    )


@pytest.mark.parametrize(
    ("expression", "values", "condition"),
    [
        ("to_date(tim,'yyyy-MM-dd')", "'2024-1-1' AS tim", "CANNOT_PARSE_TIMESTAMP"),
        ("unix_timestamp(tim)", "'x' AS tim", "CANNOT_PARSE_TIMESTAMP"),
        ("make_date(2024,k,30)", "2 AS k", "DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION"),
        ("next_day(d,s)", "date'2024-01-01' AS d, 'xx' AS s", "ILLEGAL_DAY_OF_WEEK"),
        ("add_months(d,i4)", "date'2024-01-01' AS d, 2147483647 AS i4", "ARITHMETIC_OVERFLOW"),
        ("dt/k", "interval 1 day AS dt, 0 AS k", "INTERVAL_DIVIDED_BY_ZERO"),
        ("timestamp_seconds(i8)", "9223372036854775807 AS i8", "DATETIME_OVERFLOW"),
        ("timestamp_seconds(mid)", "84992217416598.4694BD AS mid", "DATETIME_OVERFLOW"),
    ],
)
def test_the_error_is_the_one_of_spark(
    checker: Checker, expression: str, values: str, condition: str
) -> None:
    checker.check_error(expression, values, condition)


def test_a_pattern_letter_without_meaning_here_is_refused(checker: Checker) -> None:
    with pytest.raises(UnsupportedQuery, match="date pattern"):
        checker.plan(["date_format(ts,'yyyy zzzz')"])
