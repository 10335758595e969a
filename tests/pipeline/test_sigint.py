"""Ctrl-C as a terminal sends it: a SIGINT to every process of the program, at random moments of its steps."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

SIGNALS = int(os.environ.get("PENSTOCK_SIGINTS", "4"))


@pytest.mark.parametrize("commit_interval_s", [0.0, 0.2], ids=["version every step", "versions meanwhile"])
def test_rows_are_there_once_however_often_steps_are_interrupted(
    tmp_path: Path, commit_interval_s: float
) -> None:
    command = [sys.executable, "-m", "tests.pipeline.interrupted_program"]
    with (
        (tmp_path / "errors").open("w") as errors,
        subprocess.Popen(
            [*command, str(tmp_path / "state"), str(SIGNALS), str(commit_interval_s)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
            cwd=Path(__file__).parents[2],
        ) as program,
    ):
        assert program.stdout is not None
        said = [program.stdout.readline()]
        reader = threading.Thread(target=lambda: said.extend(program.stdout or ()))
        reader.start()
        while program.poll() is None and len(said) == 1:
            os.killpg(program.pid, signal.SIGINT)
            time.sleep(random.random() * 1.5)
        reader.join()
    assert program.returncode == 0, "".join(said) + (tmp_path / "errors").read_text()[-4000:]
    assert said == ["stepping\n", "stepped\n", "done\n"]
