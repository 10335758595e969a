"""The planning session leaves the user's session alone and keeps the settings it was made with."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem, SqlError
from penstock.sql import PlanningSession, import_view, plan_tree

from .conftest import Shop


def test_the_users_catalogue_and_active_session_stay_as_they_were(shop: Shop, spark: SparkSession) -> None:
    import_view(shop.planning, "v", "SELECT id FROM orders")
    import_view(shop.planning, "v", lambda tables: tables.orders.select("id"))
    assert spark.catalog.listTables() == []
    assert SparkSession.getActiveSession() is spark


def test_a_spark_connect_session_is_refused() -> None:
    class ConnectSession:
        pass

    with pytest.raises(EnvironmentProblem, match="Spark Connect"):
        PlanningSession(ConnectSession())  # type: ignore[arg-type]


def test_settings_come_from_the_users_session_and_can_be_given_back(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        tokyo = PlanningSession(spark)
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))
    assert tokyo.timezone == "Asia/Tokyo"
    assert PlanningSession(spark).timezone == before
    assert PlanningSession(spark, tokyo.settings).settings == tokyo.settings


def test_a_query_is_not_run_if_it_is_a_command(shop: Shop) -> None:
    for text in ("DROP VIEW orders", "INSERT INTO orders VALUES (1)", "SET a = b"):
        with pytest.raises(SqlError, match="not a query"):
            import_view(shop.planning, "v", text)


def test_spark_errors_are_translated_without_noise(
    shop: Shop, capfd: pytest.CaptureFixture[str], plan_of: Callable[[str], str]
) -> None:
    with pytest.raises(SqlError, match=r"view v: \[UNRESOLVED_COLUMN.*line 1 pos 7$"):
        plan_of("SELECT nope FROM orders")
    captured = capfd.readouterr()
    assert "UNRESOLVED_COLUMN" not in captured.out + captured.err


def test_constant_rows_of_every_kind_come_back_as_hashable_values(shop: Shop) -> None:
    query = (
        "VALUES (1, DATE'2020-01-01', TIMESTAMP'2020-01-01 00:00:00', 1.5, array(1, 2), map('a', 1), "
        "named_struct('x', 1), INTERVAL '1' DAY, INTERVAL '2' MONTH, X'01'), "
        "(null, null, null, null, null, null, null, null, null, null)"
    )
    view = import_view(shop.planning, "v", query)
    text = plan_tree(view.plan)
    assert text.startswith("Values [(1, datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, tz")
    assert "Decimal('1.5'), (1, 2), (('a', 1),), (1,), datetime.timedelta(days=1), 2, b'\\x01')" in text
    assert hash(view.plan) == hash(import_view(shop.planning, "w", query).plan)
