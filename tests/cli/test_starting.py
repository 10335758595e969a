"""Starting says what it waits for, and keeps only the JVM's known greetings from the user."""

from __future__ import annotations

import logging
import re
import subprocess
import sys

import pytest
from pyspark.sql import SparkSession

from penstock.cli.starting import Starting, is_chatter

_PROGRAM = """
import os, subprocess, sys, time
from penstock.cli.starting import _filtered_stderr
with _filtered_stderr():
    child = subprocess.Popen(["sh", "-c", "echo 'Setting default log level to' >&2; echo OutOfMemory >&2"])
    print("our own line", file=sys.stderr)
    child.wait()
time.sleep(0.3)
print("afterwards", file=sys.stderr)
os.write(2, b"straight to the descriptor\\n")
"""


def test_children_lose_their_chatter_and_nothing_else() -> None:
    seen = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True).stderr
    assert sorted(seen.splitlines()) == [
        "OutOfMemory",
        "afterwards",
        "our own line",
        "straight to the descriptor",
    ]


@pytest.mark.parametrize("line", [b"WARNING: An illegal access\n", b"ERROR Executor\n", b"\n"])
def test_other_warnings_are_not_chatter(line: bytes) -> None:
    assert not is_chatter(line)


def test_a_start_names_its_phases_and_how_long_they_took(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    with Starting("shop", workers=1) as start:
        assert start.spark() is spark, "the session that is there is used"
        start.phase("views")
        start.phase("workers")
    assert re.fullmatch(
        r"Ready in \d+\.\d s \(Spark \d+\.\d, views \d+\.\d, workers \d+\.\d\)\n", capsys.readouterr().err
    )


def test_the_line_shows_what_the_library_tells(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Starting("shop", workers=1) as start:
        lines: list[str] = []
        monkeypatch.setattr(start._status, "update", lines.append)
        start.phase("workers")
        logging.getLogger("penstock.pipeline.coordinator").info("replaying step %d of %d", 3, 10)
        logging.getLogger("penstock.pipeline.coordinator").warning("a worker was lost")
    assert lines == ["Starting: workers …", "Starting: workers, replaying step 3 of 10 …"]
    assert "Warning: a worker was lost" in capsys.readouterr().err
    assert not logging.getLogger("penstock").handlers


def test_a_start_that_fails_raises_what_was_wrong_and_claims_nothing(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="wrong"), Starting("shop", workers=1):
        raise ValueError("wrong")
    assert "Ready" not in capsys.readouterr().err


def test_the_command_line_imports_nothing_heavy_before_spark_starts() -> None:
    """``--help`` answers at once, and Spark starts before the second of imports that the verbs need."""
    program = (
        "import sys, penstock.cli.main, penstock.cli.starting\n"
        "print([name for name in ('numba', 'pandas', 'pyspark', 'penstock.zset') if name in sys.modules])"
    )
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"
