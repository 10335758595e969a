"""Other processes can see whether a pipeline is alive."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.pipeline import heartbeat
from penstock.pipeline.heartbeat import Beat, Heartbeat, in_use, last_beat
from penstock.pipeline.pipeline import Pipeline


def test_a_heart_beats_until_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "INTERVAL_S", 0.05)
    step = [3]
    heart = Heartbeat(tmp_path, lambda: (step[0], "running"))
    first = last_beat(tmp_path)
    assert first is not None and (first.step, first.phase, first.ended) == (3, "running", False)
    step[0] = 4
    deadline = time.monotonic() + 30
    while (beat := last_beat(tmp_path)) is None or beat.step != 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert not beat.is_gone and beat.at_us > first.at_us
    heart.stop()
    ended = last_beat(tmp_path)
    assert ended is not None and ended.ended and ended.phase == "closed" and not ended.is_fresh
    assert [path.name for path in tmp_path.iterdir()] == [".heartbeat.json"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"pid": 1', "null"])
def test_a_damaged_file_is_no_sign_of_life(tmp_path: Path, content: str) -> None:
    (tmp_path / ".heartbeat.json").write_text(content)
    assert last_beat(tmp_path) is None
    assert "another process" in str(in_use("p", str(tmp_path)))


def test_status_from_another_process_tells_life_death_and_silence(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "state"
    pipe = Pipeline("p", folder, workers=1, mode="staged", spark=spark)
    pipe.sql("CREATE TABLE t (a INT); CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t;")
    with pipe.run() as run:
        run.insert("t", [{"a": 1}])
        run.step()
        alive = run.status().alive_at
        command = [sys.executable, "-c", "from penstock.cli.main import app; app()", "status", str(folder)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        beat = last_beat(folder)
    assert beat is not None and alive is not None and alive <= beat.at
    assert f"yes: 0 s ago, process {beat.pid}" in shown or f"s ago, process {beat.pid}" in shown
    assert "stepping by hand" in shown
    assert "no: closed" in _status(folder)
    _write(folder, replace(beat, at_us=beat.at_us - 3600 * 10**6, host="elsewhere"))
    assert "silent: last seen 1 h ago, process" in _status(folder)
    assert f"is being run by process {beat.pid} on elsewhere" in str(in_use("p", str(folder)))
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True
    )
    _write(folder, replace(beat, pid=int(gone.stdout)))
    assert "is gone without closing" in _status(folder)


def _write(folder: Path, beat: Beat) -> None:
    (folder / ".heartbeat.json").write_text(json.dumps(vars(beat)))


def _status(folder: Path) -> str:
    result = CliRunner().invoke(app, ["status", str(folder)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())
