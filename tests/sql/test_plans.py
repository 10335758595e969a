"""Queries and the plans they become (``plans.txt``), and queries that are refused (``refused.txt``).

In both files a case is a query that ends with a semicolon, followed by what must come out of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import PenstockError, SqlError, UnsupportedQuery
from penstock.sql import import_view, plan_tree

from .conftest import Shop
from .refused_page import PAGE, page_text


def cases(name: str) -> list[tuple[str, str]]:
    """The (query, expected) pairs of a file; lines that begin with ``#`` are for people."""
    text = (Path(__file__).parent / name).read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    blocks = "\n".join(lines).split("\n\n")
    pairs = [block.strip("\n").partition(";\n") for block in blocks if block.strip()]
    return [(query, expected) for query, _, expected in pairs]


@pytest.mark.parametrize(("query", "expected"), cases("plans.txt"))
def test_a_query_becomes_this_plan(plan_of: Callable[[str], str], query: str, expected: str) -> None:
    # Spark numbers the expressions it shares in the order in which the JVM has met any.
    assert re.sub(r"_common_expr_\d+", "_common_expr_0", plan_of(query)) == expected


@pytest.mark.parametrize(("query", "expected"), cases("refused.txt"))
def test_a_query_is_refused_with_this_message(shop: Shop, query: str, expected: str) -> None:
    with pytest.raises(PenstockError) as caught:
        import_view(shop.planning, "v", query)
    assert isinstance(caught.value, SqlError | UnsupportedQuery)
    assert str(caught.value).splitlines()[0] == expected


def test_an_order_by_columns_that_are_not_there_is_left_out_and_said(shop: Shop) -> None:
    view = import_view(
        shop.planning, "v", "SELECT customer FROM orders GROUP BY customer ORDER BY sum(amount)"
    )
    assert view.order_by == ()
    assert [note.construct for note in view.notes] == ["ORDER BY sum(amount)"]


def test_a_limit_over_one_row_needs_no_order(shop: Shop) -> None:
    import_view(
        shop.planning,
        "v",
        "SELECT id, (SELECT max(name) FROM customers c WHERE c.id = o.customer LIMIT 1) AS n FROM orders o",
    )


def test_the_page_of_refused_constructs_is_made_from_these_cases() -> None:
    assert PAGE.read_text(encoding="utf-8") == page_text(), "run make sql-coverage"


def test_the_same_query_gives_an_equal_plan_whatever_it_is_called(shop: Shop) -> None:
    one = import_view(shop.planning, "a", "SELECT customer AS c, sum(amount) s FROM orders GROUP BY customer")
    two = import_view(shop.planning, "b", "SELECT customer AS d, sum(amount) t FROM orders GROUP BY customer")
    assert one.plan == two.plan
    assert hash(one.plan) == hash(two.plan)
    assert one.fingerprint == two.fingerprint
    assert one.schema.names == ["c", "s"]


def test_different_queries_have_different_fingerprints(shop: Shop) -> None:
    queries = (
        "SELECT id FROM orders WHERE amount > 1",
        "SELECT id FROM orders WHERE amount > 2",
        "SELECT id FROM orders WHERE amount > 1 ORDER BY id",
        "SELECT customer FROM orders WHERE amount > 1",
        "SELECT try_cast(id AS INT) AS id FROM orders WHERE amount > 1",
        "SELECT CAST(id AS INT) AS id FROM orders WHERE amount > 1",
    )
    assert len({import_view(shop.planning, "v", query).fingerprint for query in queries}) == len(queries)


def test_a_self_join_scans_the_same_table_twice(shop: Shop) -> None:
    query = "SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.customer = b.customer"
    assert plan_tree(import_view(shop.planning, "v", query).plan).count("Scan orders") == 2


def test_key_and_not_null_columns_are_not_nullable(shop: Shop) -> None:
    view = import_view(shop.planning, "v", "SELECT id, name, country FROM customers")
    assert [field.nullable for field in view.plan.schema] == [False, False, True]
    assert [field.nullable for field in view.schema.fields] == [False, False, True]


def test_a_very_deep_query_is_refused_not_crashed(shop: Shop) -> None:
    deep = "id" + " + amount" * 4000
    with pytest.raises(PenstockError):
        import_view(shop.planning, "v", f"SELECT {deep} AS x FROM orders")
