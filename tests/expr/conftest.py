"""One checker for all tests of expressions: it loads its samples into Spark once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.expr.checker import Checker, active_session_kept
from tests.expr.samples import DDL, samples


@pytest.fixture(scope="session")
def _checker(spark: SparkSession) -> Checker:
    return Checker(spark, samples(), DDL)


@pytest.fixture
def checker(_checker: Checker, spark: SparkSession) -> Iterator[Checker]:
    """The checker; after the test the session of all tests is Spark's active one again."""
    with active_session_kept(spark):
        yield _checker
