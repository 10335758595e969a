"""APPROX_COUNT_DISTINCT gives Spark's estimate, in every range of its arithmetic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructType

from penstock.circuit.accumulators import GroupRows
from penstock.expr.evaluate import evaluate
from penstock.sql import PlanningSession, import_view
from penstock.sql.plan import Aggregate, AggregateCall
from penstock.sql.planning.functions import GroupSpec, specified

SIZES = (0, 1, 2, 10, 45, 90, 200, 400, 700, 1_000, 2_000, 2_600, 5_000, 20_000)
ERRORS = (0.39, 0.2, 0.1, 0.05, 0.02)


@pytest.fixture(scope="module")
def calls(spark: SparkSession) -> dict[float, AggregateCall]:
    planning = PlanningSession(spark)
    planning.add_relation("t", StructType().add("x", LongType()))
    listed = ", ".join(f"approx_count_distinct(x, {error}) AS e{i}" for i, error in enumerate(ERRORS))
    plan = import_view(planning, "v", f"SELECT {listed} FROM t").plan
    assert isinstance(plan, Aggregate)
    return dict(zip(ERRORS, plan.calls, strict=True))


def estimates(call: AggregateCall, sizes: tuple[int, ...]) -> list[int]:
    """What the function answers for groups of so many different numbers, each in the group twice."""
    spec = specified(call)
    assert isinstance(spec, GroupSpec)
    numbers = pa.array(np.concatenate([np.arange(size) for size in sizes]))
    group = np.repeat(np.arange(len(sizes)), sizes)
    registers = evaluate(spec.columns[0], [numbers], len(numbers)).to_numpy()
    order = np.lexsort((registers, group))
    rows = GroupRows(len(sizes), group[order], np.full(len(numbers), 2), (pa.array(registers[order]),))
    answer: list[int] = spec.function.result(rows).to_pylist()
    return answer


def test_estimates_are_sparks(spark: SparkSession, calls: dict[float, AggregateCall]) -> None:
    listed = ", ".join(f"approx_count_distinct(id, {error}) AS e{i}" for i, error in enumerate(ERRORS))
    wanted = [spark.sql(f"SELECT {listed} FROM range(0, {size}, 1, 1)").first() for size in SIZES]
    for i, error in enumerate(ERRORS):
        assert estimates(calls[error], SIZES) == [row[i] for row in wanted if row is not None], error


def test_large_groups_are_not_counted_exactly(calls: dict[float, AggregateCall]) -> None:
    assert estimates(calls[0.39], (20_000,)) != [20_000]
