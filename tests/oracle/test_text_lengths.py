"""CHAR(n) and VARCHAR(n): the oracle's tables have the declared types, so Spark pads and compares."""

from __future__ import annotations

from pyspark.sql import SparkSession

from penstock.oracle import Config, check, read_tables, steps_from, table

TABLES = """
CREATE TABLE parts (code CHAR(5), kind CHAR(2), name VARCHAR(3), plain STRING, n INT, PRIMARY KEY (code));
CREATE TABLE moves (code CHAR(8), note VARCHAR(6), kind CHAR(2) NOT NULL, n INT COMMENT 'tame');
CREATE TABLE boxes (a ARRAY<CHAR(3)>, s STRUCT<x: CHAR(2), y: VARCHAR(2)>, m MAP<CHAR(4), VARCHAR(3)>);
"""

QUERIES = {
    "literals": """SELECT code, length(code) AS l, concat(code, '|') AS c, name, octet_length(name) AS o,
        code = 'ab' AS e, code = 'ab       ' AS w, 'ab' = code AS r, code <=> 'a' AS n, code < 'b' AS lt,
        code >= 'ab' AS ge, code <> 'ba' AS ne, code IN ('a', 'b', 'ab   ', NULL) AS i, code LIKE 'ab' AS k,
        name = 'ab' AS v, upper(code) = 'AB' AS f, code = plain AS p, coalesce(code, 'x') = 'ab' AS x,
        CAST(code AS CHAR(2)) AS s, code || name AS t, CASE code WHEN 'a' THEN 1 WHEN 'ab' THEN 2 END AS y,
        if(kind = 'a', code, kind) AS z, nullif(kind, 'a') AS u, greatest(code, kind) AS g,
        code BETWEEN 'a' AND 'b' AS b FROM parts""",
    "filtered": "SELECT code, n FROM parts WHERE code = 'ab' OR code IN ('a', 'b') OR kind = 'a'",
    "joined": "SELECT p.code, m.code AS longer, m.n FROM parts p JOIN moves m ON p.code = m.code",
    "joined_with_text": "SELECT p.code, m.note FROM parts p JOIN moves m ON p.code = m.note",
    "joined_same": "SELECT p.code, m.code AS c FROM parts p LEFT JOIN moves m ON p.kind = m.kind AND m.n > 1",
    "listed": "SELECT code FROM parts WHERE code IN (SELECT code FROM moves)",
    "grouped": "SELECT kind, count(*) AS c, min(code) AS lo, max(name) AS hi FROM parts GROUP BY kind",
    "having": "SELECT code, sum(n) AS s FROM moves GROUP BY code HAVING code > 'a'",
    "over_view": "SELECT kind, c FROM grouped WHERE kind = 'a'",
    "over_renamed": "SELECT DISTINCT k FROM (SELECT kind AS k, c FROM grouped) WHERE k IN ('a', 'b')",
    "together": "SELECT code FROM parts UNION ALL SELECT code FROM moves",
    "over_together": "SELECT code = 'ab' AS e FROM together",
    "nested": """SELECT a, s, m, get(a, 0) = 'a' AS e, s.x = 'a' AS x, s.x AS sx, m['a'] AS k, m['a   '] AS p,
        array_contains(a, 'a') AS c, array_contains(a, 'a  ') AS d, size(m) AS z FROM boxes""",
    "nested_groups": "SELECT s, count(*) AS c FROM boxes GROUP BY s",
    "exploded": "SELECT e, length(e) AS l FROM boxes LATERAL VIEW explode(a) t AS e",
    "scalar": "SELECT code FROM moves WHERE code = (SELECT max(code) FROM parts)",
    "ranked": "SELECT kind, code, row_number() OVER (PARTITION BY kind ORDER BY code, n) AS r FROM parts",
}


def test_views_over_sized_text_equal_batch_spark(spark: SparkSession) -> None:
    report = check(spark, read_tables(TABLES), QUERIES, 4, configurations=[Config(1), Config(2)], seed=11)
    assert report.comparisons == len(QUERIES) * 4 * 2


def test_staged_views_over_sized_text_equal_batch_spark(spark: SparkSession) -> None:
    names = ("literals", "joined", "grouped", "over_view", "nested")
    some = {name: QUERIES[name] for name in names}
    check(spark, read_tables(TABLES), some, 2, configurations=[Config(2, "staged")], seed=12)


def test_keys_that_differ_in_spaces_only_are_one(spark: SparkSession) -> None:
    tables = [table("t", "k CHAR(4), v INT", key=["k"])]
    steps = steps_from(
        tables,
        [
            [("t", "upsert", [{"k": "a", "v": 1}, {"k": "b ", "v": 2}])],
            [("t", "upsert", [{"k": "a      ", "v": 3}])],
            [("t", "delete", [{"k": "b"}])],
        ],
    )
    queries = {"v": "SELECT k, v, k = 'a' AS e, length(k) AS l FROM t"}
    check(spark, tables, queries, steps=steps, configurations=[Config(1)])
