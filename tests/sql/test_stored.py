"""The catalogue comes back from its JSON as it was, or says why it cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DefinitionChanged, PipelineError
from penstock.sql import (
    PlanningSession,
    Tables,
    add_view,
    apply_script,
    catalog_from_json,
    catalog_to_json,
    declare_view,
    missing_for,
)

from .conftest import Shop


def positive(tables: Tables) -> DataFrame:
    return tables.orders.where("amount > 0").select("id")


@pytest.fixture
def body(shop: Shop) -> dict[str, Any]:
    catalog = add_view(shop.planning, shop.catalog, "positive", positive)
    stored: dict[str, Any] = json.loads(json.dumps(catalog_to_json(catalog, shop.planning.settings)))
    return stored


def test_a_catalogue_survives_its_json(shop: Shop, spark: SparkSession, body: dict[str, Any]) -> None:
    planning = PlanningSession(spark, body["settings"])
    again = declare_view(planning, catalog_from_json(planning, body), "positive", positive)
    assert again.relations[:-1] == shop.catalog.relations
    assert again.views["positive"].function is positive
    assert catalog_to_json(again, planning.settings) == body


def test_a_pending_view_is_stored_as_it_was(spark: SparkSession, body: dict[str, Any]) -> None:
    planning = PlanningSession(spark, body["settings"])
    again = catalog_from_json(planning, body)
    assert list(again.pending) == ["positive"]
    assert catalog_to_json(again, planning.settings) == body


def test_the_json_holds_what_was_written(body: dict[str, Any]) -> None:
    orders = next(item for item in body["relations"] if item["name"] == "orders")
    assert (orders["kind"], orders["primary_key"]) == ("table", ["id"])
    totals = next(item for item in body["relations"] if item["name"] == "totals")
    assert totals["query"].startswith("SELECT customer, sum(amount)")
    made = body["relations"][-1]
    assert (made["name"], made["query"]) == ("positive", None)


def test_a_missing_dataframe_function_is_asked_for(shop: Shop, body: dict[str, Any]) -> None:
    catalog = catalog_from_json(shop.planning, body)
    missing = missing_for(shop.planning, catalog, catalog.pending["positive"])
    assert "view positive was made by a DataFrame function" in missing
    assert "pipe.view('positive', …)" in missing


def test_a_changed_dataframe_function_is_refused_with_both_plans(shop: Shop, body: dict[str, Any]) -> None:
    def other(tables: Tables) -> DataFrame:
        return tables.orders.where("amount > 1").select("id")

    catalog = catalog_from_json(shop.planning, body)
    with pytest.raises(DefinitionChanged, match="view positive: the function declared now") as caught:
        declare_view(shop.planning, catalog, "positive", other)
    lines = str(caught.value).splitlines()
    assert [line for line in lines if line.startswith("  -") and "0.00" in line]
    assert [line for line in lines if line.startswith("  +") and "1.00" in line]
    assert "pipe.view('positive', …, replace=True)" in str(caught.value)
    replaced = declare_view(shop.planning, catalog, "positive", other, replace_view=True)
    assert replaced.views["positive"].function is other


def test_a_view_that_is_planned_differently_waits_to_be_replaced_or_dropped(
    shop: Shop, body: dict[str, Any]
) -> None:
    totals = next(item for item in body["relations"] if item["name"] == "totals")
    totals["fingerprint"] = "0" * 32
    catalog = catalog_from_json(shop.planning, body)
    problem = catalog.pending["totals"].problem
    assert "view totals: this version of Spark or Penstock plans the query differently" in problem
    assert "penstock run --replace" in problem
    script = f"CREATE MATERIALIZED VIEW totals AS {totals['query']}"
    same = apply_script(shop.planning, catalog, script, allow_same=True)
    assert same.pending["totals"].problem
    again = apply_script(shop.planning, catalog, script, allow_same=True, replace_views=True)
    assert "totals" in again.views
    assert "totals" not in apply_script(shop.planning, catalog, "DROP MATERIALIZED VIEW totals").pending


def test_a_format_of_the_future_is_refused(shop: Shop, body: dict[str, Any]) -> None:
    with pytest.raises(PipelineError, match="format 99"):
        catalog_from_json(shop.planning, {**body, "format": 99})


def test_other_settings_are_refused(shop: Shop, body: dict[str, Any]) -> None:
    settings = {**body["settings"], "spark.sql.session.timeZone": "Asia/Tokyo"}
    with pytest.raises(PipelineError, match="settings"):
        catalog_from_json(shop.planning, {**body, "settings": settings})
