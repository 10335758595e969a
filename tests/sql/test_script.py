"""Statements of a script: what is understood, and what is refused by name and line."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, CharType, IntegerType, LongType, StringType, StructType, VarcharType

from penstock.errors import SqlError
from penstock.sql import CreateTable, CreateView, Drop, parse_script
from penstock.sql.column_list import ViewColumn

from .conftest import Shop


def parse(shop: Shop, text: str) -> object:
    (statement,) = parse_script(shop.planning, text)
    return statement


def test_a_table_keeps_key_types_properties_and_comments(shop: Shop) -> None:
    table = parse(
        shop,
        "CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY COMMENT 'the; id', n INT NOT NULL, s STRING)"
        " COMMENT 'rows' TBLPROPERTIES ('static'='true', 'keepRows'='true')",
    )
    assert isinstance(table, CreateTable)
    assert (table.name, table.primary_key, table.if_not_exists) == ("t", ("id",), True)
    assert (table.comment, table.properties) == ("rows", (("keepRows", "true"), ("static", "true")))
    assert [(f.name, f.dataType, f.nullable) for f in table.schema.fields] == [
        ("id", LongType(), False),
        ("n", IntegerType(), False),
        ("s", StringType(), True),
    ]
    assert table.schema["id"].metadata == {"comment": "the; id"}


def test_a_composite_key_has_the_columns_spelling_and_no_nulls(shop: Shop) -> None:
    table = parse(shop, "CREATE TABLE t (a INT, b INT, c INT, CONSTRAINT pk PRIMARY KEY (B, a))")
    assert isinstance(table, CreateTable)
    assert table.primary_key == ("b", "a")
    assert [f.nullable for f in table.schema.fields] == [False, False, True]


def test_varchar_and_char_keep_their_lengths(shop: Shop) -> None:
    table = parse(shop, "CREATE TABLE t (a VARCHAR(3), b CHAR(4), c ARRAY<CHAR(2)>)")
    assert isinstance(table, CreateTable)
    assert [f.dataType for f in table.schema.fields] == [VarcharType(3), CharType(4), ArrayType(CharType(2))]


def test_every_type_of_the_contract_is_accepted(shop: Shop) -> None:
    columns = (
        "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(38,10), i STRING, "
        "j BINARY, k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n INTERVAL DAY TO SECOND, o INTERVAL YEAR TO MONTH, "
        "p ARRAY<INT>, q STRUCT<x: INT, y: ARRAY<STRING>>, r MAP<STRING, DOUBLE>"
    )
    table = parse(shop, f"CREATE TABLE t ({columns})")
    assert isinstance(table, CreateTable)
    assert table.schema == StructType.fromDDL(columns)


def test_a_view_keeps_its_query_as_written(shop: Shop) -> None:
    view = parse(
        shop,
        "\n\n CREATE MATERIALIZED VIEW v COMMENT 'c' AS\n   SELECT a, -- first; a\n     b FROM t  -- end",
    )
    assert isinstance(view, CreateView)
    assert view.query.startswith("SELECT a, -- first; a\n     b FROM t")
    assert (view.name, view.materialized, view.comment) == ("v", True, "c")
    assert (view.line, view.query_line, view.query_column) == (3, 4, 3)


def test_plain_and_temporary_views_are_not_stored(shop: Shop) -> None:
    columns = (ViewColumn("x"), ViewColumn("y z", "c"))
    plain = parse(shop, "CREATE OR REPLACE VIEW v (x, `y z` COMMENT 'c') AS SELECT 1, 2")
    assert plain == CreateView("v", "SELECT 1, 2", False, columns=columns, or_replace=True)
    temporary = parse(shop, "CREATE TEMPORARY VIEW v AS SELECT 1 AS a")
    assert temporary == CreateView("v", "SELECT 1 AS a", False)
    existing = parse(shop, "CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS a")
    assert existing == CreateView("v", "SELECT 1 AS a", False, if_not_exists=True)


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("DROP TABLE t", Drop("TABLE", "t")),
        ("DROP VIEW IF EXISTS `a b`", Drop("VIEW", "a b", True)),
        ("DROP MATERIALIZED VIEW v", Drop("MATERIALIZED VIEW", "v")),
        ("drop  materialized\nview if exists `v``w`", Drop("MATERIALIZED VIEW", "v`w", True)),
    ],
)
def test_drops(shop: Shop, text: str, statement: Drop) -> None:
    assert parse(shop, text) == statement


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t VALUES (1)", "line 1, INSERT INTO t .*may only CREATE or DROP"),
        ("\n\nSELECT 1", "line 3, SELECT 1: .*may only CREATE or DROP"),
        ("SET a = b", "line 1, SET a =.*may only"),
        ("CREATE TABLE x AS SELECT 1", "line 1, CREATE TABLE x.*may only"),
        ("CREATE STREAMING TABLE x AS SELECT 1", "line 1, CREATE STREAMING TABLE.*may only"),
        ("BEGIN SELECT 1; END", "compound statements"),
        ("CREATE TABLE x (a VARIANT)", "column a: the type VARIANT is not supported"),
        ("CREATE TABLE x (a INTERVAL)", "column a: the type INTERVAL is not supported"),
        ("CREATE TABLE x (a VOID PRIMARY KEY)", "column a: void cannot be a key"),
        ("CREATE TABLE x (a MAP<VOID, INT>)", "column a: a map with keys of type VOID"),
        ("CREATE TABLE x (a ARRAY<VARIANT>)", r"column a\[\]: the type VARIANT"),
        ("CREATE TABLE x (a STRUCT<b: MAP<STRING, VARIANT>>)", "column a.b.value: the type VARIANT"),
        ("CREATE TABLE x (a STRING COLLATE UNICODE_CI)", "column a: string collate UNICODE_CI"),
        ("CREATE TABLE x (a INT DEFAULT 3)", "column a: DEFAULT is not supported"),
        ("CREATE TABLE x (a INT, b INT GENERATED ALWAYS AS (a + 1))", "column b: GENERATED"),
        ("CREATE TABLE x (a INT UNIQUE)", "UNIQUE is not supported"),
        ("CREATE TABLE x (a INT, CHECK (a > 0))", "CHECK is not supported"),
        ("CREATE TABLE x (a INT) PARTITIONED BY (a)", "PARTITIONED BY .*has no meaning"),
        ("CREATE TABLE x (a INT) USING parquet", "USING has no meaning"),
        ("CREATE TABLE x (a INT) LOCATION '/x'", "LOCATION has no meaning"),
        ("CREATE TABLE x (a INT, PRIMARY KEY (b))", "names b, which is not a column"),
        ("CREATE TABLE x (a ARRAY<INT> PRIMARY KEY)", "column a: array<int> cannot be a key"),
        ("CREATE TABLE x (a INT, A INT)", "more than one column named A; give each its own name"),
        ("CREATE TABLE x (_Weight INT)", "_Weight is reserved"),
        ("CREATE TABLE a.b (c INT)", "a.b: a pipeline has one schema"),
        ("CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1", "DROP MATERIALIZED VIEW it, then create"),
        ("CREATE MATERIALIZED VIEW v PARTITIONED BY (a) AS SELECT 1 a", "PARTITIONED BY has no meaning"),
        ("CREATE GLOBAL TEMPORARY VIEW v AS SELECT 1", "GLOBAL TEMPORARY VIEW is not supported"),
        ("DROP TABLE t PURGE", "PURGE has no meaning"),
        ("SELECT 1;\nCREATE TABEL x (a INT)", "line 1, SELECT 1"),
        ("CREATE TABLE ok (a INT);\nCREATE TABEL x (a INT)", r"line 2, CREATE TABEL x.*\(line 2, pos 7\)"),
    ],
)
def test_what_a_script_may_not_hold_is_named_with_its_line(shop: Shop, text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        parse_script(shop.planning, text)
