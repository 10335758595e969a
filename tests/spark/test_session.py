"""What is missing is said before Spark finds out the hard way."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import EnvironmentProblem
from penstock.schedule.opening import Opening
from penstock.spark.resident import ResidentRuntime
from penstock.spark.session import (
    driver_address,
    find_or_make_session,
    java_major,
    require_classic,
    require_java,
    require_slots,
)
from penstock.spark.staged import StagedRuntime
from tests.spark import toy


def fake_java(folder: Path, answer: str, status: int = 0) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit {status}\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("answer", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("what?", None),
    ],
)
def test_the_version_of_java_is_read_from_what_it_says(answer: str, major: int | None) -> None:
    assert java_major(answer) == major


def test_no_java_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EnvironmentProblem, match=r"none on PATH: install .* version 17"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="none in JAVA_HOME"):
        require_java()


def test_an_old_or_broken_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", 'java version "11.0.2"')))
    with pytest.raises(EnvironmentProblem, match=r"Java 17 or later, and .*java is 11"):
        require_java()
    (tmp_path / "broken").mkdir()
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "broken", "", status=1)))
    with pytest.raises(EnvironmentProblem, match="does not run"):
        require_java()


def test_a_new_enough_java_passes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, 'openjdk version "25" 2025-09-16')))
    require_java()


@pytest.mark.parametrize("variable", ["SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"])
def test_an_environment_that_asks_for_connect_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(EnvironmentProblem, match="Spark Connect"):
        find_or_make_session("x", 2)


def test_a_connect_session_is_refused() -> None:
    stranger = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(EnvironmentProblem, match="Spark Connect session"):
        require_classic(stranger)


def test_the_active_session_is_joined(spark: SparkSession) -> None:
    found, made = find_or_make_session("x", 2)
    # Not necessarily this object: a session beside it, over the same context, may be the active one.
    assert found.sparkContext is spark.sparkContext
    assert not made


def test_slots_are_counted_and_one_is_left_for_ordinary_jobs(spark: SparkSession) -> None:
    require_slots(spark, 9, held=0)
    require_slots(spark, 5, held=4)
    with pytest.raises(EnvironmentProblem, match=r"10 resident workers .* has 10 \(master local\[10\]\)"):
        require_slots(spark, 10, held=0)
    with pytest.raises(EnvironmentProblem, match=r"has 10, 5 held by other pipelines"):
        require_slots(spark, 5, held=5)


def test_an_embedded_driver_listens_on_loopback_only(spark: SparkSession) -> None:
    assert driver_address(spark) == ("127.0.0.1", "127.0.0.1")


@pytest.mark.parametrize("runtime", [ResidentRuntime, StagedRuntime])
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (None, "there is no program .*python"),
        ('exec {python} -S "$@"', "it cannot import (penstock|numpy|pyarrow|pandas)"),
        ("echo 'no python here' >&2; exit 1", "it does not start"),
        ('exec {python} "$@"', r"it is Python 3\.\d+ than that in driver: 3\.1\."),
    ],
    ids=["no program", "no penstock", "not python", "another version"],
)
def test_workers_with_a_python_that_cannot_run_penstock_say_what_to_set(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runtime: type[ResidentRuntime] | type[StagedRuntime],
    program: str | None,
    reason: str,
) -> None:
    python = tmp_path / "python"
    if program is not None:
        python.write_text("#!/bin/sh\n" + program.format(python=sys.executable) + "\n")
        python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    if "in driver" in reason:
        monkeypatch.setattr(spark.sparkContext, "pythonVer", "3.1")
    workers = runtime(spark, toy.toy_crew(tmp_path, 2))
    with pytest.raises(EnvironmentProblem, match=rf"workers run {python}.*{reason}.*PYSPARK_PYTHON"):
        workers.open(Opening())
        workers.step(1, [])
    workers.close()
