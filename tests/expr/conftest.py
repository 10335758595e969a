"""One checker for all tests of expressions: it loads its samples into Spark once."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from checker import Checker
from samples import DDL, samples


@pytest.fixture(scope="session")
def checker(spark: SparkSession) -> Checker:
    return Checker(spark, samples(), DDL)
