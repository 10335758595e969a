"""Python functions in views: what Spark's batch query gives, after every step, in every way to run."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import arrow_udf, pandas_udf, udf

import penstock as ps
from penstock.errors import EvaluationError, PipelineError
from penstock.oracle import Config, check, check_error, steps_from, table
from penstock.pipeline.tables import TableSchema
from penstock.sql import Tables

COLUMNS = {
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "i": "INT",
    "n": "BIGINT",
    "f": "FLOAT",
    "x": "DOUBLE",
    "amount": "DECIMAL(12,2)",
    "s": "STRING",
    "raw": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
    "local": "TIMESTAMP_NTZ",
    "span": "INTERVAL DAY TO SECOND",
    "list": "ARRAY<INT>",
    "pair": "STRUCT<a: INT, b: STRING>",
    "map": "MAP<STRING, INT>",
}


def typed() -> TableSchema:
    columns = [f"{name} {kind} COMMENT 'tame'" for name, kind in COLUMNS.items()]
    return table("typed", f"id BIGINT, {', '.join(columns)}", key=["id"])


@pytest.fixture(scope="module")
def new_york(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    return session


def functions() -> dict[str, Any]:
    """The functions of the tests. They are made inside a function, so that Spark ships their code: the
    workers cannot import a test."""

    def shown(*values: Any) -> str:
        return repr(values)

    def stretched(text: str | None, times: int | None, mark: str = "!") -> str | None:
        return None if text is None else text * min(times or 1, 9) + mark

    def split(text: str | None) -> list[str] | None:
        return None if text is None else list(text)

    def described(amount: Decimal | None, day: dt.date | None) -> dict[str, Any] | None:
        return None if amount is None else {"half": amount / 2, "day": day, "sure": day is not None}

    def length(text: str | None) -> int | None:
        return None if text is None else len(text)

    def later(at: dt.datetime | None) -> dt.datetime | None:
        return None if at is None else at + dt.timedelta(hours=5)

    @pandas_udf("BIGINT")
    def doubled(values: pd.Series) -> pd.Series:
        return values * 2

    @pandas_udf("TIMESTAMP")
    def midnight(times: pd.Series) -> pd.Series:
        return times.dt.normalize()

    @pandas_udf("a INT, b STRING")
    def swapped(pairs: pd.DataFrame, texts: pd.Series) -> pd.DataFrame:
        return pd.DataFrame({"a": texts.str.len(), "b": pairs["b"]})

    @pandas_udf("STRING")
    def hours(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for times in parts:
            yield times.dt.hour.map(lambda hour: f"{hour:.0f}")

    @arrow_udf("DOUBLE")
    def root(values: pa.Array) -> pa.Array:
        return pc.sqrt(pc.abs(values))

    rows = partial(udf, useArrow=True)  # without that, PySpark warns of every annotated function
    return {
        "shown": udf(shown, "STRING"),
        "pickled": udf(shown, "STRING", useArrow=False),
        "stretched": rows(stretched, "STRING"),
        "split_up": rows(split, "ARRAY<STRING>"),
        "described": rows(described, "half DECIMAL(10,3), day DATE, sure BOOLEAN"),
        "letters": rows(length, "INT"),
        "later": rows(later, "TIMESTAMP"),
        "later_pickled": udf(later, "TIMESTAMP", useArrow=False),
        "doubled": doubled,
        "midnight": midnight,
        "swapped": swapped,
        "hours": hours,
        "root": root,
    }


def identities() -> tuple[dict[str, Any], dict[str, str]]:
    """For each type and kind a function that gives its argument back, and the queries that call them."""

    def series(values: pd.Series) -> pd.Series:
        return values

    def array(values: pa.Array) -> pa.Array:
        return values

    made: dict[str, Any] = {}
    queries: dict[str, str] = {}
    for name, kind in COLUMNS.items():
        made[f"same_{name}"] = udf(lambda value: value, kind)
        if name != "map":  # which is refused there
            made[f"pickled_{name}"] = udf(lambda value: value, kind, useArrow=False)
        if name != "pair":  # which is a DataFrame there
            made[f"pandas_{name}"] = pandas_udf(series, kind)
        made[f"arrow_{name}"] = arrow_udf(array, kind)
    for way in ("same", "pickled", "pandas", "arrow"):
        calls = [f"{way}_{name}({name}) AS {name}" for name in COLUMNS if f"{way}_{name}" in made]
        queries[way] = f"SELECT id, {', '.join(calls)} FROM typed"
    return made, queries


def oddities() -> tuple[dict[str, Any], str]:
    """For each type a function without Arrow that returns all sorts of values, and the query that calls
    them. What Spark makes of a value of another type is a law of its own."""
    values = [True, 1, -(2**40) - 3, 2**70, 1.5, 1e30, float("nan"), Decimal("-2.345"), "abc", None]
    nested = [b"\x01\xff", bytearray(b"x"), [1, 2], (3, 4), {"a": 1}]
    made: dict[str, Any] = {}
    for kind in ("boolean", "tinyint", "int", "bigint", "float", "double", "decimal", "string", "binary"):
        choice = values if kind == "string" else values + nested
        made[f"odd_{kind}"] = udf(lambda id, some=choice: some[id % len(some)], kind, useArrow=False)
    made["odd_list"] = udf(lambda id: (values + nested)[id % 15], "ARRAY<INT>", useArrow=False)
    pairs = [[1, "a"], (2, 2), {"a": 3}, None, (True, None)]
    made["odd_pair"] = udf(lambda id: pairs[id % 5], "a INT, b STRING", useArrow=False)
    return made, f"SELECT id, {', '.join(f'{name}(id) AS {name}' for name in made)} FROM typed"


def test_values_of_every_type_go_into_functions_and_come_out(new_york: SparkSession) -> None:
    made, queries = identities()
    odd, queries["odd"] = oddities()
    check(new_york, [typed()], queries, 2, configurations=[Config(2)], functions=made | odd, seed=3)


def test_views_with_functions_follow_changes(new_york: SparkSession) -> None:
    everything = ", ".join([name for name in COLUMNS if name != "map"] + ["array(at)", "struct(at, local)"])
    queries = {
        "all_shown": f"SELECT id, shown({everything}, map, map(id, at)) AS text FROM typed",
        "all_pickled": f"SELECT id, pickled({everything}) AS text FROM typed",
        "times": "SELECT id, later(at) AS a, later_pickled(at) AS b, midnight(at) AS c FROM typed",
        "iterated": "SELECT id, hours(at) AS h FROM typed",
        "chained": "SELECT id, letters(stretched(s, i, s)) AS n FROM typed WHERE letters(s) > 0",
        "named": "SELECT id, stretched(s, mark => s, times => i) AS n FROM typed WHERE i < 1000",
        "nested": "SELECT split_up(s) AS l, described(amount, day) AS d, swapped(pair, s) AS p FROM typed",
        "grouped": "SELECT letters(s) AS n, count(*), sum(doubled(n)) AS t FROM typed GROUP BY letters(s)",
        "over": "SELECT s, doubled(sum(i)) AS d, root(max(x)) AS r FROM typed GROUP BY s",
        "matched": "SELECT l.id AS a, r.id AS b FROM typed l JOIN typed r ON letters(l.s) = doubled(r.i)",
        "first": "SELECT id, s FROM typed ORDER BY letters(s) DESC, id LIMIT 3",
        "some": "SELECT id, CASE WHEN i > 0 THEN doubled(i) END AS d FROM typed WHERE letters(s) = 1 OR flag",
        "constant": "SELECT id, letters('four') + letters(NULL) AS n, shown() AS none FROM typed",
    }
    made = functions()
    check(new_york, [typed()], queries, 6, configurations=[Config(2)], functions=made, seed=11)


def test_staged_steps_call_functions_as_well(spark: SparkSession) -> None:
    queries = {
        "nested": "SELECT id, split_up(s) AS l, doubled(n) AS d FROM typed WHERE letters(s) > 0",
        "grouped": "SELECT letters(s) AS n, max(doubled(i)) AS m FROM typed GROUP BY letters(s)",
    }
    config = Config(2, "staged")
    check(spark, [typed()], queries, 4, configurations=[config], functions=functions(), seed=2)


def test_an_exception_in_a_function_is_the_step_s_error_and_the_pipeline_goes_on(spark: SparkSession) -> None:
    def inverse(value: float) -> float:
        return 1 / value

    numbers = table("numbers", "id BIGINT, x DOUBLE", key=["id"])
    rows = [[{"id": 1, "x": 2.0}], [{"id": 2, "x": 0.0}]]
    steps = steps_from([numbers], [[("numbers", "upsert", some)] for some in rows])
    query = "SELECT id, inverse(x) AS y FROM numbers"
    made = {"inverse": udf(inverse, "DOUBLE", useArrow=True)}
    for config in (Config(2), Config(1, "staged")):
        named = check_error(spark, [numbers], query, steps, configurations=[config], functions=made)
        assert named == "PYTHON_EXCEPTION"


def test_a_reopened_pipeline_goes_on_with_functions_declared_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    def tier(amount: Decimal | None) -> str:
        if amount is not None and amount < 0:
            raise ValueError(f"{amount} is negative")
        return "large" if amount is not None and amount > 100 else "small"

    def shouted(tables: Tables) -> DataFrame:
        def loud(text: str) -> str:
            return text.upper() + "!"

        return tables.orders.select("id", rows(loud, "STRING")("customer").alias("customer"))

    def opened() -> ps.Pipeline:
        return ps.Pipeline("tiers", tmp_path, spark=spark)

    def order(id: int, customer: str, amount: int) -> dict[str, Any]:
        return {"id": id, "customer": customer, "amount": Decimal(amount)}

    rows = partial(udf, useArrow=True)
    pipe = opened()
    pipe.function("tier", tier, returns="STRING")
    script = """
      CREATE TABLE orders (id BIGINT PRIMARY KEY, customer STRING, amount DECIMAL(9, 2));
      CREATE MATERIALIZED VIEW tiers AS SELECT tier(amount) AS tier, count(*) AS n FROM orders GROUP BY ALL;
    """
    pipe.sql(script)
    pipe.view("shouted", shouted)
    with pipe.run() as run:
        run.upsert("orders", [order(1, "ada", 5), order(2, "bob", 500), order(3, "eve", 7)])
        run.step()
        assert run.verify()
        run.upsert("orders", [order(4, "joe", -1)])
        message = r"tier\(…\) raised ValueError: -1.00 is negative \(in tier, line \d+\) \(in view tiers"
        with pytest.raises(EvaluationError, match=message):
            run.step()

    pipe = opened()
    pipe.view("shouted", shouted)
    pipe.sql(script)
    with pytest.raises(PipelineError, match=r"view tiers calls .* declare tier with pipe.function\('tier'"):
        pipe.run()
    pipe.function("tier", tier, returns="STRING")
    with pipe.run() as run:
        run.upsert("orders", [order(3, "eve", 700), order(1, "ida", 5)])
        run.delete("orders", [2])
        run.step()
        assert run.verify()
        assert sorted(row["customer"] for row in run.read("shouted").to_pylist()) == ["EVE!", "IDA!"]
        assert {row["tier"]: row["n"] for row in run.read("tiers").to_pylist()} == {"small": 1, "large": 1}
