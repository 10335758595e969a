"""Settings of the user's session reach planning, and stay with the catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from penstock.errors import PipelineError, SqlError
from penstock.sql import Catalog, PlanningSession, apply_script, catalog_from_json, catalog_to_json
from penstock.sql.settings import ACCEPTING, READING, switched_on, taken

ASOF = "spark.sql.join.asofJoin.enabled"
QUOTED = "spark.sql.ansi.doubleQuotedIdentifiers"
COUNT = "spark.sql.legacy.allowParameterlessCount"
TABLE = "CREATE TABLE t (a INT, b INT);"


@pytest.fixture
def user(spark: SparkSession) -> SparkSession:
    return spark.newSession()


@pytest.fixture(autouse=True)
def _active(spark: SparkSession) -> Iterator[None]:
    yield
    spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)  # type: ignore[union-attr]


def test_the_defaults_are_those_of_this_spark(user: SparkSession) -> None:
    assert taken(user).keys().isdisjoint(READING)
    assert switched_on(user) == {}
    known = {*READING, *ACCEPTING}
    listed = {row.key for row in user.sql("SET -v").collect()}
    public = {key for key in known if ".legacy." not in key}
    assert public & listed, "no setting is one that Spark lists: are the names right?"


def test_how_a_session_reads_a_query_is_how_a_view_is_read(user: SparkSession) -> None:
    user.conf.set(QUOTED, "true")
    script = TABLE + 'CREATE MATERIALIZED VIEW "my v" AS SELECT "a" AS c FROM t'
    catalog = apply_script(PlanningSession(user), Catalog(), script)
    assert catalog.views["my v"].schema["c"].dataType.simpleString() == "int"
    assert taken(user)[QUOTED] == "true"


def test_a_switch_is_followed_when_it_is_turned_on_and_kept_for_good(user: SparkSession) -> None:
    planning = PlanningSession(user)
    catalog = apply_script(planning, Catalog(), TABLE)
    view = "CREATE MATERIALIZED VIEW v AS SELECT count() AS n FROM t"
    with pytest.raises(SqlError, match=COUNT):
        apply_script(planning, catalog, view)
    user.conf.set(COUNT, "true")
    catalog = apply_script(planning, catalog, view)
    assert planning.settings[COUNT] == "true"

    user.conf.set(COUNT, "false")
    body = json.loads(json.dumps(catalog_to_json(catalog, planning.settings)))
    again = PlanningSession(user, body["settings"])
    assert catalog_from_json(again, body) == catalog


def test_a_switch_turned_on_later_does_not_stop_a_stored_catalogue(user: SparkSession) -> None:
    planning = PlanningSession(user)
    catalog = apply_script(planning, Catalog(), TABLE + "CREATE VIEW v AS SELECT a FROM t")
    body = json.loads(json.dumps(catalog_to_json(catalog, planning.settings)))
    user.conf.set(ASOF, "true")
    again = PlanningSession(user, body["settings"])
    assert catalog_from_json(again, body) == catalog
    assert again.settings[ASOF] == "true"
    body["settings"]["spark.sql.session.timeZone"] = "Asia/Tokyo"
    with pytest.raises(PipelineError, match="does not have the settings"):
        catalog_from_json(again, body)
