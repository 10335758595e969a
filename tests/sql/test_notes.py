"""Where a query leaves its answer open its view carries a note, and only there."""

from __future__ import annotations

import pytest

from penstock.sql import import_view

from .conftest import Shop

ROWS = "here rows come in ascending order of"
OPEN = {
    "SELECT kind, collect_list(n) AS a, first(k) AS b FROM events GROUP BY kind": (
        f"collect_list(n) (view v, line 1): Spark leaves the order open; {ROWS} n, k, NULL first",
        f"first(k) (view v, line 1): Spark takes any row; {ROWS} n, k, NULL first",
    ),
    "SELECT any_value(name) AS a FROM customers": (
        f"any_value(name) (view v, line 1): Spark takes any row; {ROWS} name, NULL first",
    ),
    "SELECT listagg(kind, ',') AS a FROM events": (
        f"listagg(kind, ',') (view v, line 1): Spark leaves the order open; {ROWS} kind, NULL first",
    ),
    "SELECT collect_set(n) AS a FROM events": (
        "collect_set(n) (view v, line 1): Spark leaves the order of the elements open; here it is ascending",
    ),
    "SELECT mode(n) AS a FROM events": (
        "mode(n) (view v, line 1): of several most frequent values Spark takes any; here it is the smallest",
    ),
    "SELECT max_by(name, country) AS a FROM customers": (
        "max_by(name, country) (view v, line 1): of several values beside the same country Spark takes any; "
        "here it is the largest",
    ),
    "SELECT kind, n FROM events LIMIT 3": (
        "LIMIT (view v, line 1: LIMIT 3): there is no ORDER BY: rows come in ascending order of kind, n, "
        "NULL first",
    ),
    "SELECT id, country FROM customers ORDER BY country LIMIT 3": (
        "LIMIT (view v, line 1: ORDER BY country LIMIT 3): rows that ORDER BY does not tell apart come in "
        "ascending order of id, country, NULL first",
    ),
    "SELECT n, sum(n) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM events": (
        "sum(n) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) (view v, line 1): there is no ORDER BY: rows "
        "come in ascending order of n, NULL first",
    ),
    "SELECT n, row_number() OVER (ORDER BY k) AS r FROM events": (
        "row_number() OVER (ORDER BY k) (view v, line 1): rows that ORDER BY does not tell apart come in "
        "ascending order of n, k, NULL first",
    ),
}

SETTLED = (
    "SELECT kind, count(*) AS n, max(x) AS m FROM events GROUP BY kind",
    "SELECT id, any_value(name) AS a, first(country) AS b FROM customers GROUP BY id",
    "SELECT id, id IN (SELECT customer FROM orders) AS b, count(*) AS n FROM customers GROUP BY id",
    "SELECT max_by(name, id) AS a, min_by(name, struct(country, id)) AS b FROM customers",
    "SELECT mode(n, true) AS a FROM events",
    "SELECT listagg(kind) WITHIN GROUP (ORDER BY kind) AS a FROM events",
    "SELECT id, name FROM customers ORDER BY country, id LIMIT 3",
    "SELECT id, row_number() OVER (PARTITION BY country ORDER BY id) AS r FROM customers",
    "SELECT id, lag(name) OVER (ORDER BY country, id) AS r FROM customers",
    "SELECT n, sum(n) OVER (PARTITION BY k) AS s, rank() OVER (ORDER BY k) AS r FROM events",
    "SELECT n, sum(n) OVER (ORDER BY k) AS s FROM events",
)


@pytest.mark.parametrize("query", OPEN)
def test_an_open_answer_has_a_note(shop: Shop, query: str) -> None:
    assert tuple(map(str, import_view(shop.planning, "v", query).notes)) == OPEN[query]


@pytest.mark.parametrize("query", SETTLED)
def test_an_answer_that_is_not_open_has_none(shop: Shop, query: str) -> None:
    assert import_view(shop.planning, "v", query).notes == ()


def test_notes_are_shown_when_a_view_is_created_and_not_again(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    text = "CREATE MATERIALIZED VIEW v AS SELECT first(n) AS f FROM events"
    catalog = shop.apply(text)
    assert "view v: first(n) (view v, line 1): Spark takes any row" in caplog.text
    caplog.clear()
    assert Shop(shop.planning, catalog).apply(text, allow_same=True) == catalog
    assert caplog.text == ""
