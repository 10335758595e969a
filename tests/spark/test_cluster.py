"""Both ways of running on executors that are processes of their own, and the end of a driver that dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyspark
import pytest

from tests.spark.cluster_driver import ROUNDS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    """A stand-in for the package's folder: a local cluster writes its ``work`` folder there."""
    home = tmp_path / "spark-home"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return home


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_both_ways_run_on_a_cluster_and_no_process_outlives_a_killed_driver(
    tmp_path: Path, spark_home: Path
) -> None:
    folder = tmp_path / "state"
    folder.mkdir()
    environment = os.environ | {"SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": sys.executable}
    driver = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster_driver", str(folder)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    seen = json.loads(driver.stdout.splitlines()[-1])

    sums: Counter[int] = Counter()
    for value in [value for values in ROUNDS for value in values] * 2:
        sums[value // 10] += value
    assert seen["resident"] == seen["staged"] == [list(entry) for entry in sorted(sums.items())]

    assert len(set(seen["workers"])) == 2
    deadline = time.monotonic() + 30
    while (left := [p for p in seen["processes"] if is_running(p)]) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left, "processes that outlived their driver"
