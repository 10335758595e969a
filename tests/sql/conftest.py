"""One planning session for all of tests/sql, with the catalogue that most tests query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from penstock.sql import Catalog, PlanningSession, apply_script
from penstock.sql.catalog import register

SCRIPT = """
CREATE TABLE customers (id BIGINT PRIMARY KEY, name STRING NOT NULL, country STRING);
CREATE TABLE orders (
  id BIGINT PRIMARY KEY, customer BIGINT, amount DECIMAL(12,2), at TIMESTAMP, day DATE, rate DOUBLE
);
CREATE TABLE events (k INT, kind STRING, x DOUBLE, y FLOAT, n INT, tags ARRAY<STRING>);
CREATE VIEW big (order_id, customer, amount) AS
  SELECT id, customer, amount FROM orders WHERE amount > 100;
CREATE MATERIALIZED VIEW totals AS
  SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
"""


@dataclass(frozen=True)
class Shop:
    """The planning session and its catalogue."""

    planning: PlanningSession
    catalog: Catalog

    def apply(self, text: str, **options: bool) -> Catalog:
        return apply_script(self.planning, self.catalog, text, **options)


@pytest.fixture(scope="session")
def _shop(spark: SparkSession) -> Shop:
    planning = PlanningSession(spark)
    return Shop(planning, apply_script(planning, Catalog(), SCRIPT))


@pytest.fixture
def shop(_shop: Shop) -> Shop:
    """The shop, with the planning session as it was made if the test before changed it."""
    names = {relation.name.lower(): relation.name for relation in _shop.catalog.relations}
    if _shop.planning._names != names:
        _shop.planning.clear()
        for relation in _shop.catalog.relations:
            register(_shop.planning, relation)
    return _shop


@pytest.fixture
def plan_of(shop: Shop) -> Callable[[str], str]:
    """The plan tree of a query over the shop, its order below it."""
    from penstock.sql import import_view, order_text, plan_tree

    def plan(query: str) -> str:
        view = import_view(shop.planning, "v", query)
        order = f"\nORDER BY {order_text(view.order_by)}" if view.order_by else ""
        return plan_tree(view.plan) + order

    return plan
