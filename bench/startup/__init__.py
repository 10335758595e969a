"""How long does it take to the first step: without state, with a gigabyte of it, and with ``penstock run``?

Every start is a new Python process with a Spark of its own, so nothing is warm but the operating system and
the archive of Spark's classes (:mod:`penstock.spark.class_archive`), which the first start of all makes; for
a reopening the files of the state are dropped from the system's cache first, as far as it lets us. The kinds
of starts take turns. The state is made once and kept under ``artifacts/``; a start works on a copy whose
large files are links, so all starts see the same.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.report import Result, spread
from bench.sketch import Mark, Stack, Stacks

__all__ = ["MINUTES", "add_arguments", "linked_copy", "results", "run", "script_parts", "tiny_script"]

MINUTES = 3.0
GOAL = 8.0
GOAL_SCRIPT = 6.0
REPEATS = 5
STATE_MB = 1000
_ROOT = Path(__file__).parent.parent.parent
_CACHE = _ROOT / "artifacts" / "startup"
NOTES = (
    "workers: starting the Spark job of the resident tasks, their processes and connections; restore: "
    "opening the state and replaying steps that are not in the last version (none here)",
    "penstock run: a script with one view on its second and later starts; imports happen while Spark starts",
    "state is mapped, and read when a step first needs it: that is part of the first step, not of the second",
)

Start = Mapping[str, float]
"""Seconds of each part of one start, in order; ``second step`` is not a part of it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help=f"starts of each kind (default {REPEATS})"
    )
    parser.add_argument(
        "--state-mb", type=int, default=STATE_MB, help=f"size of the state to reopen (default {STATE_MB} MB)"
    )


def run(arguments: argparse.Namespace) -> Result:
    """Cold starts and reopenings in turns."""
    state = _CACHE / f"{arguments.state_mb}mb"
    if not state.exists():
        print(f"  making {arguments.state_mb} MB of state, once", flush=True)
        _asked("make", state, arguments.state_mb)
    starts: dict[str, list[Start]] = {
        "penstock run": [],
        "cold start": [],
        f"reopen, {arguments.state_mb:,} MB": [],
    }
    with tempfile.TemporaryDirectory(prefix="startup-", dir=_made(_CACHE)) as folder:
        script = tiny_script(Path(folder))
        _script_start(script)  # makes the pipeline, and the archive of classes where there is none
        for number in range(arguments.repeats):
            kinds = list(starts)
            for kind in kinds if number % 2 else kinds[::-1]:
                if kind == "penstock run":
                    starts[kind].append(_script_start(script))
                else:
                    starts[kind].append(_start(state if kind.startswith("reopen") else None))
                print(f"  {kind}: {_whole(starts[kind][-1]):.1f} s", flush=True)
    return results(starts)


def tiny_script(folder: Path) -> Path:
    """A script with one view, and a file with a row for it."""
    (folder / "rows.csv").write_text("a,b\n1,x\n")
    script = folder / "tiny.sql"
    script.write_text(
        "CREATE TABLE t (a INT, b STRING);\n"
        "CREATE MATERIALIZED VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b;\n"
    )
    return script


def _script_start(script: Path) -> Start:
    """``penstock run`` up to the end of its step; what it says of its own phases."""
    rows = f"t={script.with_name('rows.csv')}"
    command = [
        sys.executable,
        "-c",
        "from penstock.cli.main import app; app()",
        "run",
        str(script),
        "-i",
        rows,
    ]
    asked = time.time()
    with subprocess.Popen(command, cwd=_ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        told = {line.split()[0]: (time.time() - asked, line) for line in process.stderr}
    if process.returncode != 0 or not {"Ready", "Step"} <= told.keys():
        raise RuntimeError(f"penstock run failed with exit code {process.returncode}")
    return script_parts(*told["Ready"], told["Step"][0])


def script_parts(ready_s: float, line: str, stepped_s: float) -> Start:
    """The parts of a start with ``penstock run``, from its line ``Ready in 4.8 s (Spark 2.9, …)``."""
    phases = {name: float(seconds) for name, seconds in re.findall(r"(\w+) (\d+\.\d)(?=[,)])", line)}
    return {
        "Python and imports": ready_s - sum(phases.values()),
        "session": phases["Spark"],
        "planning": phases["views"],
        "workers": phases["workers"],
        "restore": 0.0,
        "first step": stepped_s - ready_s,
        "second step": 0.0,
    }


def _start(state: Path | None) -> Start:
    with tempfile.TemporaryDirectory(prefix="startup-", dir=_made(_CACHE)) as folder:
        storage = Path(folder) / "state"
        if state is not None:
            linked_copy(state, storage)
            _forget(storage)
        return _asked("start", storage, time.time())


def _asked(what: str, storage: Path, number: float) -> Start:
    """What the probe says, from a process of its own."""
    command = [sys.executable, "-m", "bench.startup.probe", what, str(storage), str(number)]
    done = subprocess.run(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(
            f"the start failed with exit code {done.returncode}; if {storage} is of an older "
            "version of Penstock, delete it"
        )
    found: Start = json.loads(done.stdout.splitlines()[-1])
    return found


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def linked_copy(state: Path, storage: Path) -> None:
    """A copy of a pipeline's state for reading and going on: segments are immutable, so they are linked."""

    def link(source: str, target: str) -> None:
        if source.endswith(".seg"):
            os.link(source, target)
        else:
            shutil.copy2(source, target)

    shutil.copytree(state, storage, copy_function=link)


def _forget(storage: Path) -> None:
    """Asks the operating system to drop the files from its cache (they are on disk already)."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in storage.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def _parts(start: Start) -> dict[str, float]:
    return {name: seconds for name, seconds in start.items() if name != "second step"}


def _whole(start: Start) -> float:
    return sum(_parts(start).values())


def results(starts: Mapping[str, Sequence[Start]]) -> Result:
    """Medians of every part. Judged by the last kind, the reopening; the goal of a script is drawn beside."""
    rows: list[dict[str, object]] = []
    for kind, found in starts.items():
        wholes = [_whole(start) for start in found]
        parts = {f"{name} s": median(start[name] for start in found) for name in found[0]}
        rows.append(
            {"start": kind, "all s (median)": median(wholes), "min": min(wholes), "max": max(wholes), **parts}
        )
    what = "Seconds from starting Python to the end of the first step"
    last = [_whole(start) for start in list(starts.values())[-1]]
    stacks = [
        Stack(kind, {name: median(start[name] for start in found) for name in _parts(found[0])})
        for kind, found in starts.items()
    ]
    return Result(
        "startup-reopen",
        what,
        median(last),
        GOAL,
        " s",
        rows,
        notes=NOTES,
        spread=spread(last),
        sketch=Stacks(
            what,
            "seconds (medians)",
            stacks,
            [
                Mark(GOAL_SCRIPT, f"goal for penstock run: {GOAL_SCRIPT:g} s"),
                Mark(GOAL, f"goal for reopening: {GOAL:g} s"),
            ],
        ),
    )
