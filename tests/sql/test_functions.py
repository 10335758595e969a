"""Python functions are declared, planned, refused and asked for by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention for this module

import penstock as ps
from penstock.errors import PenstockError, PipelineError, UnsupportedQuery
from penstock.sql import (
    Catalog,
    PlanningSession,
    Tables,
    add_view,
    apply_script,
    bound,
    catalog_from_json,
    catalog_to_json,
    declare_function,
    import_view,
    missing_for,
    plan_tree,
)

TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, s STRING, m INTERVAL YEAR TO MONTH, p MAP<STRING, INT>);"


def upper(text: str | None) -> str | None:
    return None if text is None else text.upper()


def longest(values: pd.Series) -> int:
    return int(values.str.len().max())


def same(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    return frames


def group(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


class Letters:
    def eval(self, text: str) -> Iterator[tuple[str]]:
        for letter in text:
            yield (letter,)


def row_udf(function: Callable[..., Any], returns: str) -> Any:
    return F.udf(function, returns, useArrow=True)


@pytest.fixture
def planning(spark: SparkSession) -> PlanningSession:
    session = PlanningSession(spark)
    declare_function(session, "loud", upper, "STRING")
    declare_function(session, "size_of", row_udf(lambda text: len(text or ""), "INT"), None)
    return session


@pytest.fixture
def catalog(planning: PlanningSession) -> Catalog:
    return apply_script(planning, Catalog(), TABLE)


def test_a_call_is_a_column_and_shows_the_function_s_name(
    planning: PlanningSession, catalog: Catalog
) -> None:
    view = import_view(planning, "v", "SELECT size_of(loud(s)) AS n, id FROM t WHERE LOUD(s) > 'B'")
    plan = plan_tree(view.plan)
    assert "size_of(loud(#" in plan and "loud(#1 s)" in plan
    assert plan.count("Filter") == 1
    assert view.functions == ("loud", "size_of")


def test_text_forms_hold_no_code(planning: PlanningSession, catalog: Catalog, spark: SparkSession) -> None:
    query = "SELECT loud(s) AS l FROM t"
    view = import_view(planning, "v", query)
    other = PlanningSession(spark)
    declare_function(other, "loud", lambda text: "another", "STRING")
    apply_script(other, Catalog(), TABLE)
    changed = import_view(other, "v", query)
    assert changed.plan != view.plan
    assert changed.fingerprint == view.fingerprint and repr(changed.plan) == repr(view.plan)
    body = json.dumps(catalog_to_json(catalog.with_relation(view), planning.settings))
    assert '"functions": ["loud"]' in body and "cloudpickle" not in body


def test_a_stored_view_asks_for_its_functions_by_name(
    planning: PlanningSession, catalog: Catalog, spark: SparkSession
) -> None:
    script = """
      CREATE VIEW both AS SELECT id, loud(s) AS a, size_of(s) AS b FROM t;
      CREATE MATERIALIZED VIEW only AS SELECT id, a FROM both;
    """
    body = catalog_to_json(apply_script(planning, catalog, script), planning.settings)
    again = PlanningSession(spark, body["settings"])
    opened = catalog_from_json(again, body)
    both, only = opened.pending["both"], opened.pending["only"]
    assert "declare loud, size_of with pipe.function('loud'" in missing_for(again, opened, both)
    declare_function(again, "LOUD", upper, "STRING")
    assert "declare size_of with" in missing_for(again, bound(again, opened), only)
    declare_function(again, "size_of", row_udf(len, "INT"), None)
    # Spark prunes the column nobody reads, but the query cannot be read without the function.
    problem = bound(again, opened).pending["both"].problem
    assert "view both: LOUD, size_of as declared now" in problem  # another name, even if only in case
    declare_function(again, "loud", upper, "STRING")
    assert bound(again, opened).views["only"].functions == ("loud", "size_of")


def test_a_function_with_another_type_is_refused_for_stored_views(
    planning: PlanningSession, catalog: Catalog, spark: SparkSession
) -> None:
    script = "CREATE MATERIALIZED VIEW v AS SELECT id, size_of(s) AS n FROM t"
    body = catalog_to_json(apply_script(planning, catalog, script), planning.settings)
    again = PlanningSession(spark, body["settings"])
    declare_function(again, "size_of", row_udf(len, "BIGINT"), None)
    assert "view v: size_of as declared now" in catalog_from_json(again, body).pending["v"].problem


def test_what_no_view_can_use_is_not_declared(planning: PlanningSession) -> None:
    cases: list[tuple[str, Any, str | None, str]] = [
        ("upper", upper, "STRING", "already a function upper in Spark"),
        ("two words", upper, "STRING", "cannot be the name"),
        ("f", upper, None, "say what it returns"),
        ("f", upper, "NO_TYPE", "function f: .*PARSE_SYNTAX_ERROR"),
        ("f", 5, "STRING", "a int was given"),
        ("f", row_udf(upper, "STRING"), "STRING", "leave returns= out"),
        ("f", F.udf(lambda x: x).asNondeterministic(), None, "function f .*asNondeterministic"),
        ("f", F.pandas_udf(longest, "INT"), None, "one value for each row"),
        ("f", F.udtf(Letters, returnType="c STRING"), None, "UserDefinedTableFunction was given"),
    ]
    for name, function, returns, says in cases:
        with pytest.raises(PenstockError, match=says):
            declare_function(planning, name, function, returns)
    assert set(planning.functions) == {"loud", "size_of"}


def refusals(spark: SparkSession) -> dict[str, tuple[Callable[[Tables], DataFrame], str]]:
    table = [1, 2, 3]
    value = spark.sparkContext.broadcast(table)
    random = F.udf(lambda text: text).asNondeterministic()
    months = F.udf(lambda value: 1, "INT", useArrow=False)
    letters = F.udtf(Letters, returnType="c STRING")
    sure = F.udtf(Letters, returnType="c STRING").asDeterministic()
    return {
        "random": (lambda t: t.t.select(random("s")), r"the Python function <lambda>.*asNondeterministic"),
        "grouped": (lambda t: t.t.select(F.pandas_udf(longest, "INT")("s")), "a Python function over groups"),
        "windowed": (
            lambda t: t.t.select(F.pandas_udf(longest, "INT")("s").over(Window.partitionBy("id"))),
            "a Python function over groups",
        ),
        "mapped": (lambda t: t.t.mapInPandas(same, "id BIGINT"), r"mapInPandas\(\).*explode"),
        "applied": (lambda t: t.t.groupBy("s").applyInPandas(group, "s STRING"), r"applyInPandas\(\)"),
        "table": (lambda t: t.t.lateralJoin(letters(F.col("s").outer())), "a Python table function"),
        "sure": (lambda t: t.t.lateralJoin(sure(F.col("s").outer())), "a Python table function"),
        "months": (lambda t: t.t.select(months("m")), "interval year to month"),
        "map": (lambda t: t.t.select(months("p")), "map<string,int>.*useArrow=True"),
        "broadcast": (lambda t: t.t.select(F.udf(lambda x: value.value, "ARRAY<INT>")("s")), "broadcast"),
    }


def test_what_cannot_be_kept_up_to_date_is_refused_by_name(
    planning: PlanningSession, catalog: Catalog, spark: SparkSession
) -> None:
    for name, (function, says) in refusals(spark).items():
        with pytest.raises(UnsupportedQuery, match=says):
            add_view(planning, catalog, name, function)


def test_one_name_means_one_function(spark: SparkSession, tmp_path: Path) -> None:
    pipe = ps.Pipeline("names", tmp_path, spark=spark)
    pipe.sql(TABLE)
    pipe.view("one", lambda t: t.t.select("id", F.udf(lambda s: 1, "INT")("s").alias("x")))
    with pytest.raises(
        UnsupportedQuery, match=r"<lambda> .*\(in view two and view one\): the name means two"
    ):
        pipe.view("two", lambda t: t.t.select("id", F.udf(lambda s: 2, "INT")("s").alias("x")))
    assert list(pipe.views) == ["one"]
    pipe.function("loud", upper, returns="STRING")
    pipe.function("loud", lambda s: s, returns="STRING")  # nobody has called it yet
    pipe.sql("CREATE MATERIALIZED VIEW v AS SELECT id, loud(s) AS l FROM t")
    with pytest.raises(PipelineError, match="function Loud is used by v"):
        pipe.function("Loud", upper, returns="STRING")
    assert "loud(#1 s)" in pipe.explain("v")
