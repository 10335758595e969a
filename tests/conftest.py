"""Fixtures of all tests: one Spark session, because starting one takes seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Slots for eight resident workers and ordinary jobs beside them; few partitions all the same. One JVM
    serves thousands of tests, some with queries of megabytes: it needs more than the default heap of 1 GB."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[10]")
        .appName("penstock-tests")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.ui.retainedExecutions", "20")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.default.parallelism", "2")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .config("spark.python.daemon.module", "penstock.spark.daemon")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _tests_session_is_active(request: pytest.FixtureRequest) -> None:
    """Every test that uses the session finds it active, whatever session an earlier test worked in."""
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        session._jvm.SparkSession.setActiveSession(session._jsparkSession)
        SparkSession._activeSession = session
