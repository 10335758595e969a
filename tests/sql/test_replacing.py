"""An edited script says what differs, and replaces exactly what has to be replaced."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from penstock.errors import DefinitionChanged, SqlError
from penstock.sql import Catalog, Tables, add_view, apply_script, import_view

from .conftest import Shop

SCRIPT = """
CREATE TABLE t (a INT PRIMARY KEY, b INT);
CREATE VIEW plain AS SELECT a, b + 1 AS c FROM t;
CREATE MATERIALIZED VIEW one AS SELECT a, c FROM plain WHERE c > 0;
CREATE MATERIALIZED VIEW two AS SELECT a, count(*) AS n FROM one GROUP BY a;
CREATE MATERIALIZED VIEW other AS SELECT b, count(*) AS n FROM t GROUP BY b;
"""


def last(tables: Tables) -> DataFrame:
    return tables.two.where("n > 1")


@pytest.fixture
def made(shop: Shop) -> Catalog:
    catalog = apply_script(shop.planning, Catalog(), SCRIPT)
    return add_view(shop.planning, catalog, "last", last)


def again(shop: Shop, made: Catalog, script: str, **options: bool) -> Catalog:
    return apply_script(shop.planning, made, script, allow_same=True, **options)


def test_all_differences_are_shown_with_the_way_on(shop: Shop, made: Catalog) -> None:
    edited = SCRIPT.replace("c > 0", "c > 1").replace("GROUP BY b;", "GROUP BY b HAVING b > 0;")
    with pytest.raises(DefinitionChanged) as caught:
        again(shop, made, edited)
    assert caught.value.names == ("one", "other")
    text = str(caught.value)
    assert "view one (line 4)" in text and "read by two, last" in text
    assert "  -SELECT a, c FROM plain WHERE c > 0\n  +SELECT a, c FROM plain WHERE c > 1" in text
    assert "GROUP BY b HAVING b > 0" in text
    assert "pipe.sql(script, replace=True)" in text and "penstock run --replace" in text
    import_view(shop.planning, "v", "SELECT * FROM last")  # the session is as it was


def test_replacing_creates_the_changed_view_and_its_readers_again(shop: Shop, made: Catalog) -> None:
    catalog = again(shop, made, SCRIPT.replace("c > 0", "c > 1"), replace_views=True)
    assert sorted(catalog.views) == sorted(made.views)
    assert catalog.views["one"].query == "SELECT a, c FROM plain WHERE c > 1"
    assert catalog.views["other"] is made.views["other"] and catalog.views["plain"] is made.views["plain"]
    assert catalog.views["last"].function is last
    order = [relation.name for relation in catalog.relations]
    assert order.index("one") < order.index("two") < order.index("last")


def test_a_replaced_plain_view_takes_its_readers_along(shop: Shop, made: Catalog) -> None:
    catalog = again(shop, made, SCRIPT.replace("b + 1", "b + 2"), replace_views=True)
    assert catalog.views["one"].fingerprint != made.views["one"].fingerprint
    assert list(catalog.readers("plain")) == ["one", "two", "last"]


def test_readers_may_be_edited_together_with_what_they_read(shop: Shop, made: Catalog) -> None:
    edited = SCRIPT.replace("SELECT a, c FROM", "SELECT a AS k, c FROM").replace(
        "SELECT a, count(*) AS n FROM one GROUP BY a", "SELECT k, count(*) AS n FROM one GROUP BY k"
    )
    catalog = again(shop, made, edited, replace_views=True)
    assert catalog.views["last"].schema.names == ["k", "n"]


def test_a_reader_that_cannot_be_created_again_undoes_everything(shop: Shop, made: Catalog) -> None:
    with pytest.raises(SqlError, match=r"view last: .*`n`"):
        again(
            shop, made, SCRIPT.replace("count(*) AS n FROM one", "count(*) AS m FROM one"), replace_views=True
        )
    assert import_view(shop.planning, "v", "SELECT * FROM two").schema.names == ["a", "n"]


@pytest.mark.parametrize(
    "edited",
    [
        SCRIPT.replace(
            "SELECT a, c FROM plain WHERE c > 0", "SELECT a,\n  c -- the next one\nFROM plain WHERE (c > 0)"
        ),
        SCRIPT.replace(
            "(a INT PRIMARY KEY, b INT)", "(a INT PRIMARY KEY, b INT COMMENT 'second') COMMENT 'numbers'"
        ),
        SCRIPT.replace("VIEW other AS", "VIEW other COMMENT 'groups' AS"),
    ],
)
def test_formatting_and_comments_change_nothing(shop: Shop, made: Catalog, edited: str) -> None:
    catalog = again(shop, made, edited)
    assert [relation.name for relation in catalog.relations] == [relation.name for relation in made.relations]
    assert catalog.views["one"].fingerprint == made.views["one"].fingerprint
    assert again(shop, catalog, edited) == catalog


@pytest.mark.parametrize("replace_views", [False, True])
def test_a_table_is_never_replaced(shop: Shop, made: Catalog, replace_views: bool) -> None:
    with pytest.raises(DefinitionChanged) as caught:
        again(shop, made, SCRIPT.replace("b INT)", "b BIGINT)"), replace_views=replace_views)
    text = str(caught.value)
    assert "  -b INT\n  +b BIGINT" in text and "rows would be lost" in text
    assert "DROP MATERIALIZED VIEW last; " in text and "DROP TABLE t)" in text


def test_other_options_are_a_difference_too(shop: Shop, made: Catalog) -> None:
    with pytest.raises(DefinitionChanged, match="\\+'keepRows' = 'false'"):
        again(shop, made, SCRIPT.replace("VIEW other AS", "VIEW other TBLPROPERTIES ('keepRows'='false') AS"))
    with pytest.raises(DefinitionChanged, match=r"-not stored"):
        again(shop, made, SCRIPT.replace("CREATE VIEW", "CREATE MATERIALIZED VIEW"))


def test_a_dataframe_view_is_declared_again_replaced_or_refused(shop: Shop, made: Catalog) -> None:
    same = add_view(shop.planning, made, "last", lambda tables: tables.two.where("n > 1"))
    assert same.views["last"] == made.views["last"]
    with pytest.raises(DefinitionChanged, match=r"pipe.view\('last', …, replace=True\)"):
        add_view(shop.planning, made, "last", lambda tables: tables.two.where("n > 2"))
    replaced = add_view(
        shop.planning, made, "last", lambda tables: tables.two.where("n > 2"), replace_view=True
    )
    assert replaced.views["last"] != made.views["last"]
    with pytest.raises(SqlError, match="already a materialized view named one"):
        add_view(shop.planning, made, "one", last, replace_view=True)
