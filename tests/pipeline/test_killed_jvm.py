"""The JVM killed under a running pipeline: an error that says so, and nothing acknowledged is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps

PROGRAM = """
import os, signal, sys
import penstock as ps

pipe = ps.Pipeline("killed", storage=sys.argv[1], workers=2, mode=sys.argv[2])
pipe.sql("CREATE TABLE t (id BIGINT); CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM t")
run = pipe.run()
for row in range(3):
    run.insert("t", [{"id": row}])
    run.step()
frame, opened = pipe.spark.range(1), ps.Pipeline("killed", storage=sys.argv[1], workers=2)
jvm = pipe.spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
os.kill(jvm, signal.SIGKILL)
acknowledged = 3
run.insert("t", [{"id": 3}])
try:
    # Workers may outlive the JVM for a moment, long enough for a step.
    run.step()
    acknowledged = 4
except ps.PenstockError as error:
    print(type(error).__name__, error)
for call in (
    lambda: run.view("n"),
    lambda: run.verify("n"),
    lambda: run.sql("DELETE FROM t"),
    lambda: run.insert("t", frame),
    lambda: opened.tables,
    lambda: ps.Pipeline("other", storage=sys.argv[1] + "-other"),
):
    try:
        call()
    except ps.PenstockError as error:
        print(type(error).__name__, error)
assert run.status().step == acknowledged, run.status()
try:
    run.close()
except ps.PenstockError as error:
    print(type(error).__name__, error)
print("closed", acknowledged)
"""


@pytest.mark.parametrize("mode", ["resident", "staged"])
def test_a_killed_jvm_is_said_to_be_gone_and_loses_nothing(tmp_path: Path, mode: str) -> None:
    storage = str(tmp_path / "state")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, storage, mode], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    lines = done.stdout.splitlines()
    acknowledged = int(lines[-1].removeprefix("closed "))
    assert len(lines) >= 7, done.stdout
    assert all("JVM does not answer" in line and "again" in line for line in lines[:-1]), done.stdout
    with ps.Pipeline("killed", storage=storage, workers=2).run() as run:
        assert run.read("n").to_pylist() == [{"n": acknowledged}]
