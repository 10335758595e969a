"""A script takes effect as a whole or not at all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, count

from penstock.errors import DefinitionChanged, PenstockError, SqlError, UnsupportedQuery
from penstock.sql import Catalog, Tables, add_view, import_view, plan_tree

from .conftest import Shop


def test_views_see_what_earlier_statements_made(shop: Shop) -> None:
    catalog = shop.apply(
        "CREATE TABLE t (a INT);"
        "CREATE VIEW plain AS SELECT a + 1 AS b FROM t;"
        "CREATE MATERIALIZED VIEW one AS SELECT b FROM plain WHERE b > 0;"
        "CREATE MATERIALIZED VIEW two AS SELECT count(*) AS n FROM ONE"
    )
    views = catalog.views
    assert views["one"].uses == ("plain", "t")
    assert views["two"].uses == ("one",)
    assert "Scan one" in plan_tree(views["two"].plan)
    assert "Scan t" in plan_tree(views["one"].plan)
    assert (views["plain"].materialized, views["one"].materialized) == (False, True)


@pytest.mark.parametrize(
    "failing",
    [
        "CREATE TABLE late (a INT); CREATE TABLE late (a INT)",
        "CREATE TABLE late (a INT); DROP TABLE nosuch",
        "CREATE TABLE late (a INT); CREATE MATERIALIZED VIEW v AS SELECT nope FROM late",
        "CREATE TABLE late (a INT); CREATE MATERIALIZED VIEW v AS SELECT rand() AS r FROM late",
        "DROP MATERIALIZED VIEW totals; DROP VIEW big; CREATE TABLE late (a INT); DROP TABLE nosuch",
    ],
)
def test_a_failing_script_leaves_catalogue_and_session_as_they_were(shop: Shop, failing: str) -> None:
    with pytest.raises(PenstockError):
        shop.apply(failing)
    with pytest.raises(SqlError, match="late"):
        import_view(shop.planning, "v", "SELECT * FROM late")
    import_view(shop.planning, "v", "SELECT * FROM big")
    import_view(shop.planning, "v", "SELECT * FROM totals")


def test_nothing_is_dropped_that_others_use(shop: Shop) -> None:
    with pytest.raises(SqlError, match="table orders cannot be dropped: used by big, totals"):
        shop.apply("DROP TABLE orders")
    with pytest.raises(SqlError, match="view big cannot be dropped: used by huge"):
        shop.apply("CREATE MATERIALIZED VIEW huge AS SELECT * FROM big WHERE amount > 999; DROP VIEW big")
    with pytest.raises(SqlError, match="view big cannot be replaced: used by huge"):
        shop.apply("CREATE VIEW huge AS SELECT * FROM big;CREATE OR REPLACE VIEW big AS SELECT 1 AS a")
    emptied = shop.apply("DROP VIEW big; DROP MATERIALIZED VIEW totals; DROP TABLE orders")
    assert [relation.name for relation in emptied.relations] == ["customers", "events"]


def test_a_plain_view_nobody_uses_is_replaced(shop: Shop) -> None:
    catalog = shop.apply("CREATE OR REPLACE VIEW big AS SELECT id FROM customers")
    assert catalog.views["big"].uses == ("customers",)
    assert import_view(shop.planning, "v", "SELECT * FROM big").schema.names == ["id"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE Orders (a INT)", "line 1: there is already a table named orders"),
        ("CREATE VIEW totals AS SELECT 1 AS a", "already a materialized view named totals"),
        ("CREATE OR REPLACE VIEW totals AS SELECT 1 AS a", "already a materialized view named totals"),
        ("CREATE TABLE IF NOT EXISTS big (a INT)", "already a view named big"),
        ("DROP TABLE big", "big is a view; use DROP VIEW"),
        ("DROP VIEW totals", "totals is a materialized view; use DROP MATERIALIZED VIEW"),
        ("\nDROP MATERIALIZED VIEW orders", "line 2: orders is a table; use DROP TABLE"),
        ("DROP VIEW nosuch", "there is no view nosuch to drop"),
        ("CREATE VIEW v (a, b) AS SELECT 1", "line 1: view v: 2 column names for a query of 1"),
        ("CREATE VIEW v AS SELECT 1 AS a, 2 AS A", "more than one column named A"),
        ("CREATE VIEW v AS SELECT 1 AS _step", "_step is reserved"),
        ("CREATE VIEW v AS SELECT parse_json('1') AS j", "column j of view v: the type VARIANT"),
        (
            "CREATE TABLE t (a INT);\nCREATE MATERIALIZED VIEW v AS\n  SELECT a,\n    nope FROM t",
            "line 2: view v: .*line 4 pos 4",
        ),
    ],
)
def test_what_cannot_be_created_or_dropped_is_explained(shop: Shop, text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        shop.apply(text)


def test_if_exists_and_if_not_exists_leave_things_alone(shop: Shop) -> None:
    text = (
        "CREATE TABLE IF NOT EXISTS orders (other INT); DROP TABLE IF EXISTS nosuch;"
        "CREATE MATERIALIZED VIEW IF NOT EXISTS totals AS SELECT 1 AS a"
    )
    assert shop.apply(text) == shop.catalog


def test_a_script_can_be_applied_again_if_nothing_in_it_changed(shop: Shop) -> None:
    text = "CREATE TABLE events (k INT, kind STRING, x DOUBLE, y FLOAT, n INT, tags ARRAY<STRING>)"
    assert shop.apply(text, allow_same=True) == shop.catalog
    with pytest.raises(DefinitionChanged, match=r"table events .*\n(.*\n)*  -n INT\n  \+n BIGINT\n"):
        shop.apply(text.replace("n INT", "n BIGINT"), allow_same=True)
    query = shop.catalog.views["totals"].query
    assert shop.apply(f"CREATE MATERIALIZED VIEW totals AS {query}", allow_same=True) == shop.catalog


def test_a_dataframe_function_makes_the_same_plan_as_sql(shop: Shop) -> None:
    def function(tables: Tables) -> DataFrame:
        return tables("Orders").where(col("amount") > 5).groupBy("customer").agg(count("*").alias("n"))

    sql = "SELECT customer, count(*) AS n FROM orders WHERE amount > 5 GROUP BY customer"
    catalog = add_view(shop.planning, shop.catalog, "counted", function)
    view = catalog.views["counted"]
    assert view.plan == import_view(shop.planning, "other", sql).plan
    assert (view.query, view.uses) == (None, ("orders",))
    assert "Scan counted" in plan_tree(import_view(shop.planning, "v", "SELECT * FROM counted").plan)


Made = Callable[[Tables], object]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda tables: tables.nosuch, "no table or view nosuch .*customers, orders"),
        (lambda tables: 3, "view v: its function returned int, not a DataFrame"),
        (lambda tables: tables.orders.select("nope"), "UNRESOLVED_COLUMN"),
    ],
)
def test_a_wrong_dataframe_function_is_explained(shop: Shop, function: Made, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        add_view(shop.planning, shop.catalog, "v", function)  # type: ignore[arg-type]


def test_a_dataframe_of_another_session_is_refused(shop: Shop) -> None:
    for session in (shop.planning._user, shop.planning.spark):
        with shop.planning.active():
            foreign = session.createDataFrame(session.sparkContext.emptyRDD(), "a int")
        with pytest.raises(UnsupportedQuery, match="not of this pipeline"):
            add_view(shop.planning, shop.catalog, "v", lambda tables, foreign=foreign: foreign)


def test_an_empty_script_changes_nothing(shop: Shop) -> None:
    assert shop.apply("  -- nothing\n ;") == shop.catalog
    assert Catalog().tables == {}
