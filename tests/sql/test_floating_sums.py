"""Which columns of a view are sums of doubles, and may differ from Spark's in the last digits."""

from __future__ import annotations

import pytest

from penstock.sql import floating_sums
from tests.sql.conftest import Shop


@pytest.mark.parametrize(
    ("query", "summed"),
    [
        ("SELECT k, x, exp(x) AS e, x + y AS z FROM events", ()),
        ("SELECT k, sum(x) AS s, count(x) AS c, max(x) AS m FROM events GROUP BY k", ("s",)),
        ("SELECT avg(n) AS a, sum(n) AS s, stddev(n) AS d, corr(x, n) AS c FROM events", ("a", "d", "c")),
        (
            "SELECT k, sqrt(s) + 1 AS r, m FROM (SELECT k, sum(x) AS s, max(x) AS m FROM events GROUP BY k)",
            ("r",),
        ),
        ("SELECT customer, avg(amount) AS a, avg(rate) AS r FROM orders GROUP BY customer", ("r",)),
        ("SELECT max(s) AS m, count(*) AS c FROM (SELECT sum(x) AS s FROM events GROUP BY k)", ("m",)),
        ("SELECT x, sum(x) OVER (PARTITION BY k) AS s, lag(x) OVER (ORDER BY k) AS l FROM events", ("s",)),
        ("SELECT x AS v FROM events UNION ALL SELECT sum(x) FROM events", ("v",)),
        (
            "SELECT x, s FROM events JOIN (SELECT k, sum(x) AS s FROM events GROUP BY k) USING (k)",
            ("s",),
        ),
        ("SELECT x FROM events WHERE x > (SELECT avg(x) FROM events)", ()),
        ("SELECT k, sum(x) > 1 AS many, CAST(sum(x) AS STRING) AS t FROM events GROUP BY k", ()),
        (
            "SELECT v FROM (SELECT array(sum(x), 1D) AS a FROM events) LATERAL VIEW explode(a) AS v",
            ("v",),
        ),
        ("SELECT k, x, t FROM events LATERAL VIEW explode(tags) AS t", ()),
        ("SELECT DISTINCT x FROM events ORDER BY x LIMIT 3", ()),
    ],
)
def test_columns_computed_from_sums_of_doubles(shop: Shop, query: str, summed: tuple[str, ...]) -> None:
    catalog = shop.apply(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert floating_sums(catalog)["v"] == summed


def test_a_sum_is_followed_through_views(shop: Shop) -> None:
    catalog = shop.apply(
        """
        CREATE MATERIALIZED VIEW sums AS SELECT k, sum(x) AS s, min(x) AS m FROM events GROUP BY k;
        CREATE VIEW between AS SELECT k, s / 2 AS half, m FROM sums;
        CREATE MATERIALIZED VIEW top AS SELECT half, m FROM between WHERE k > 1;
        """
    )
    assert floating_sums(catalog)["top"] == ("half",)
