"""Queries with thousands of terms, levels, items, branches and columns: a pipeline runs what Spark can."""

from __future__ import annotations

import pickle
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Pipeline
from penstock.errors import PenstockError, SqlError, UnsupportedQuery

ROWS = [{"id": i, "a": i, "b": i * 3 % 7 or None, "s": f"x{i}" if i % 2 else None} for i in range(-4, 9)]


@pytest.fixture
def pipe(spark: SparkSession, tmp_path: Path) -> Pipeline:
    pipe = Pipeline("deep", tmp_path / "state", workers=2, spark=spark)
    pipe.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, a BIGINT, b INT, s STRING)")
    return pipe


def filled(pipe: Pipeline, *views: str) -> list[list[tuple[object, ...]]]:
    """The rows of views after inserts and deletes, each as a sorted list."""
    with pipe.run() as run:
        run.insert("t", ROWS)
        run.step()
        run.delete("t", [2, 3])
        run.step()
        tables = [run.read(view) for view in views]
    return [sorted((tuple(row.values()) for row in table.to_pylist()), key=repr) for table in tables]


def kept() -> list[dict[str, object]]:
    return [row for row in ROWS if row["id"] not in (2, 3)]


@pytest.mark.parametrize("terms", [500, 2000])
def test_a_sum_of_many_terms(pipe: Pipeline, terms: int) -> None:
    pipe.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {' + '.join(['a'] * terms)} AS total FROM t")
    assert str(terms) not in pipe.explain("v") or pipe.explain("v").count("+") == terms - 1
    (rows,) = filled(pipe, "v")
    assert rows == sorted([(row["a"] * terms,) for row in kept()], key=repr)  # type: ignore[operator]
    assert sys.getrecursionlimit() < 5000


@pytest.mark.parametrize("levels", [200, 1000])
def test_functions_nested_many_levels_deep(pipe: Pipeline, levels: int) -> None:
    inner = "abs(" * levels + "a" + ")" * levels
    lazy = "coalesce(nullif(a, 1), " * levels + "a" + ")" * levels
    pipe.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {inner} AS x, {lazy} AS y FROM t")
    (rows,) = filled(pipe, "v")
    assert rows == sorted([(abs(row["a"]), row["a"]) for row in kept()], key=repr)  # type: ignore[arg-type]


def test_a_condition_of_many_parts(pipe: Pipeline) -> None:
    parts = " AND ".join(f"a <> {i}" for i in range(1000, 2000))
    others = " OR ".join(f"a + 1 = {i}" for i in range(2, 1000))
    pipe.sql(f"CREATE MATERIALIZED VIEW v AS SELECT a FROM t WHERE ({parts}) AND ({others})")
    (rows,) = filled(pipe, "v")
    assert rows == [(row["a"],) for row in kept() if 1 <= row["a"] < 999]  # type: ignore[operator]


@pytest.mark.parametrize("items", [1000, 20_000, 100_000])
def test_a_long_list(pipe: Pipeline, items: int) -> None:
    numbers = ", ".join(map(str, range(1, items + 1)))
    texts = ", ".join(f"'x{i}'" for i in range(3, items))
    pipe.sql(
        f"CREATE MATERIALIZED VIEW v AS SELECT id, b IN ({numbers}) AS n, s NOT IN ({texts}) AS s, "
        f"b IN ({numbers}, NULL) AS u FROM t"
    )
    assert "more" in pipe.explain("v") and len(pipe.explain("v")) < 10_000
    with pipe.run() as run:
        run.insert("t", ROWS)
        run.step()
        found = {row["id"]: (row["n"], row["s"], row["u"]) for row in run.read("v").to_pylist()}
        assert run.verify()
    for row in ROWS:
        b, s = row["b"], row["s"]
        n = None if b is None else True
        assert found[row["id"]] == (n, None if s is None else s in ("x-3", "x-1", "x1"), True if n else None)


def test_case_with_many_branches_and_in_each_other(pipe: Pipeline) -> None:
    wide = " ".join(f"WHEN a = {i} THEN b + {i}" for i in range(1000))
    deep = "".join(f"CASE WHEN a = {i} THEN b + {i} ELSE " for i in range(60)) + "a" + " END" * 60
    both = "".join(f"CASE WHEN a > {i} THEN " for i in range(-30, 0)) + "a" + " END" * 30
    pipe.sql(f"CREATE MATERIALIZED VIEW v AS SELECT CASE {wide} END AS w, {deep} AS d, {both} AS c FROM t")
    (rows,) = filled(pipe, "v")

    def expected(a: int, b: int | None) -> tuple[object, ...]:
        at = None if b is None else a + b
        return (at if a >= 0 else None, at if a >= 0 else a, a if a > -1 else None)

    assert rows == sorted([expected(row["a"], row["b"]) for row in kept()], key=repr)  # type: ignore[arg-type]


def test_a_view_of_a_thousand_columns(pipe: Pipeline) -> None:
    pipe.sql(
        "CREATE MATERIALIZED VIEW v AS SELECT "
        + ", ".join(f"a + {i} AS c{i}" for i in range(1000))
        + " FROM t"
    )
    pipe.sql("CREATE MATERIALIZED VIEW w AS SELECT sum(c999) AS s, max(c0) AS m FROM v WHERE c500 > 500")
    wide, narrow = filled(pipe, "v", "w")
    values = [row["a"] for row in kept()]
    assert wide == sorted([tuple(a + i for i in range(1000)) for a in values], key=repr)  # type: ignore[operator]
    some = [a for a in values if a > 0]  # type: ignore[operator]
    assert narrow == [(sum(some) + 999 * len(some), max(some))]  # type: ignore[arg-type,operator,type-var]


def test_views_on_views_a_hundred_deep(pipe: Pipeline) -> None:
    pipe.sql("CREATE MATERIALIZED VIEW v0 AS SELECT id, a FROM t")
    for i in range(1, 101):
        below = f"v{i - 1}"
        query = f"SELECT l.id, l.a + 1 AS a FROM {below} l JOIN {below} r USING (id)"
        pipe.sql(f"CREATE MATERIALIZED VIEW v{i} AS {query}")
    (rows,) = filled(pipe, "v100")
    assert rows == sorted([(row["id"], row["a"] + 100) for row in kept()], key=repr)  # type: ignore[operator]


def test_a_deep_program_reaches_workers_and_is_found_again(pipe: Pipeline, spark: SparkSession) -> None:
    pipe.sql(f"CREATE MATERIALIZED VIEW v AS SELECT {'-(' * 300}a{')' * 300} AS x FROM t")
    circuit = pipe.program().circuit
    shipped = pickle.loads(pickle.dumps(circuit))
    assert [node.fingerprint for node in shipped.nodes] == [node.fingerprint for node in circuit.nodes]
    (before,) = filled(pipe, "v")
    again = Pipeline("deep", pipe._backend.url, workers=1, mode="staged", spark=spark)
    with again.run() as run:
        run.insert("t", [{"id": 77, "a": 77, "b": 0, "s": ""}])
        run.step()
        assert run.read("v").num_rows == len(before) + 1


def test_parentheses_deeper_than_spark_reads_them(pipe: Pipeline, spark: SparkSession) -> None:
    """Spark's own parser overflows its stack below a thousand; here it is given a larger one."""
    query = f"SELECT {'(' * 2000}a{')' * 2000} AS x FROM t"
    pipe.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    (rows,) = filled(pipe, "v")
    assert rows == sorted([(row["a"],) for row in kept()], key=repr)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {'abs(' * 3500}a{')' * 3500} AS x FROM t",
        f"SELECT {'(' * 100_000}a{')' * 100_000} AS x FROM t",
    ],
)
def test_what_is_too_deep_is_refused_in_words_and_soon(pipe: Pipeline, query: str) -> None:
    began = time.monotonic()
    with pytest.raises(PenstockError, match=r"nested|complex") as refused:
        pipe.sql(f"CREATE MATERIALIZED VIEW v AS {query}")
    assert isinstance(refused.value, SqlError | UnsupportedQuery)
    assert time.monotonic() - began < 60
    pipe.sql("CREATE MATERIALIZED VIEW v AS SELECT a FROM t")
