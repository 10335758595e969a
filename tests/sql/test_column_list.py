"""Column lists of views: names, comments and types, in plain and materialised views alike."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from penstock.errors import DefinitionChanged, SqlError
from penstock.sql import Catalog, CreateView, PlanningSession, catalog_from_json, catalog_to_json
from penstock.sql.column_list import ViewColumn, without_column_list
from penstock.sql.script import parse_script

from .conftest import Shop

KINDS = ("VIEW", "MATERIALIZED VIEW")


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_list_names_the_columns_of_a_view(shop: Shop, kind: str) -> None:
    columns = "(a, `b c` COMMENT 'it''s (b)', d)"
    catalog = shop.apply(f"CREATE {kind} v {columns} COMMENT 'all' AS SELECT id, id, amount FROM orders")
    view = catalog.views["v"]
    assert view.schema.names == ["a", "b c", "d"]
    assert [field.metadata for field in view.schema.fields] == [{}, {"comment": "it's (b)"}, {}]
    assert view.comment == "all"
    assert shop.planning.query("SELECT `b c`, d FROM v").columns == ["b c", "d"]


def test_types_in_a_column_list_must_be_those_of_the_query(shop: Shop) -> None:
    text = "CREATE MATERIALIZED VIEW v (a BIGINT COMMENT 'key', b {}) AS SELECT id, amount FROM orders"
    view = shop.apply(text.format("DECIMAL(12, 2)")).views["v"]
    assert view.schema.names == ["a", "b"]
    assert view.schema["a"].metadata == {"comment": "key"}
    with pytest.raises(
        SqlError, match=r"view v: column b is declared INT, but .* DECIMAL\(12,2\); write CAST"
    ):
        shop.apply(text.format("INT"))


def test_a_script_with_column_lists_can_be_applied_again(shop: Shop) -> None:
    columns = "(a BIGINT COMMENT 'key', b DECIMAL(12, 2))"
    text = f"CREATE MATERIALIZED VIEW v {columns} AS SELECT id, amount FROM orders"
    catalog = shop.apply(text)
    again = Shop(shop.planning, catalog)
    assert again.apply(text, allow_same=True) == catalog
    commented = again.apply(text.replace("key", "other"), allow_same=True)
    assert commented.views["v"].schema["a"].metadata["comment"] == "other"
    with pytest.raises(DefinitionChanged, match="a definition differs"):
        again.apply(text.replace(" b ", " c "), allow_same=True)
    with pytest.raises(SqlError, match="column a is declared INT"):
        again.apply(text.replace("BIGINT", "INT"), allow_same=True)


def test_a_column_list_is_stored_with_the_catalogue(shop: Shop, spark: SparkSession) -> None:
    catalog = shop.apply("CREATE MATERIALIZED VIEW v (a, b COMMENT 'second') AS SELECT id, id FROM orders")
    body = json.loads(json.dumps(catalog_to_json(catalog, shop.planning.settings)))
    again = catalog_from_json(PlanningSession(spark, body["settings"]), body)
    assert again == catalog
    assert again.views["v"].schema == catalog.views["v"].schema
    body["relations"][-1]["columns"] = ["a", "b"]  # as it was stored before there were comments
    names: Catalog = catalog_from_json(PlanningSession(spark, body["settings"]), body)
    assert names.views["v"].columns == (ViewColumn("a"), ViewColumn("b"))


def test_places_in_the_query_stay_right_behind_a_column_list(shop: Shop) -> None:
    text = (
        "CREATE MATERIALIZED VIEW IF NOT EXISTS v -- (no\n(a, /* b) */ b\n) AS SELECT id,\n  nope FROM orders"
    )
    with pytest.raises(SqlError, match=r"line 1: view v: .*line 4 pos 2"):
        shop.apply(text)
    (statement,) = parse_script(shop.planning, text)
    assert isinstance(statement, CreateView)
    assert (statement.query_line, statement.query_column) == (3, 5)
    assert statement.columns == (ViewColumn("a"), ViewColumn("b"))


def test_only_the_list_of_a_materialised_view_is_cut_out() -> None:
    text = "CREATE MATERIALIZED VIEW `a (b`.v (x, y) AS SELECT (1), (2)"
    assert without_column_list(text) == (text.replace("(x, y)", "      "), "(x, y)")
    for other in ("CREATE VIEW v (x) AS SELECT 1", "CREATE MATERIALIZED VIEW v AS (SELECT 1)", "SELECT (1)"):
        assert without_column_list(other) == (other, "")


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_the_same_name_are_told_to_use_a_column_list(shop: Shop, kind: str) -> None:
    query = "SELECT o.id, c.id, c.name AS `my name` FROM orders o JOIN customers c ON c.id = o.customer"
    with pytest.raises(SqlError) as caught:
        shop.apply(f"CREATE {kind} v AS {query}")
    advice = f"or name the columns: CREATE {kind} v (id, id_2, `my name`) AS …"
    assert str(caught.value) == (
        f"line 1: view v has more than one column named id; give each its own alias, {advice}"
    )
    assert (
        shop.apply(f"CREATE {kind} v (id, id_2, `my name`) AS {query}").views["v"].schema.names[1] == "id_2"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE MATERIALIZED VIEW v (a) AS SELECT 1, 2", "1 column names for a query of 2 columns"),
        ("CREATE MATERIALIZED VIEW v (a, A) AS SELECT 1, 2", "more than one column named A"),
        ("CREATE MATERIALIZED VIEW v (_step) AS SELECT 1", "_step is reserved"),
        ("CREATE MATERIALIZED VIEW v (a INT NOT NULL) AS SELECT 1", "column a: NOT NULL has no meaning"),
        ("CREATE MATERIALIZED VIEW v (a INT DEFAULT 3) AS SELECT 1", "column a: DEFAULT has no meaning"),
        ("CREATE MATERIALIZED VIEW v (a, b AS SELECT 1", "not closed"),
        ("CREATE MATERIALIZED VIEW v () AS SELECT 1", "the column list is empty"),
        ("CREATE MATERIALIZED VIEW v (a + 1) AS SELECT 1", "Syntax error"),
    ],
)
def test_a_bad_column_list_is_explained(shop: Shop, text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        shop.apply(text)
