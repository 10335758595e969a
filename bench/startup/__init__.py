"""How long does it take to the first step: without state, with one and with eight gigabytes of it, and with
``penstock run``? And how much of the state is read for that?

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

MINUTES = 12.0
GOAL = 8.0
GOAL_LARGE = 1.2
GOAL_READ = 0.02
GOAL_SCRIPT = 6.0
REPEATS = 5
STATE_MB = 1000
LARGE_MB = 8000
_ROOT = Path(__file__).parent.parent.parent
_CACHE = _ROOT / "artifacts" / "startup"
NOTES = (
    "workers: starting the Spark job of the resident tasks, their processes and connections; restore: "
    "opening the state and replaying steps that are not in the last version (none here)",
    "penstock run: a script with one view on its second and later starts; imports happen while Spark starts",
    "state is mapped, and read when a step first needs it: that is part of the first step, not of the second",
    "read: pages of the state's files in the system's cache when the first step begins, all of which were "
    "dropped before the start, beside the size of the files",
)
_AFTER_SPARK = ("planning", "workers", "restore", "first step")
_NOT_PARTS = ("second step", "read", "files")

Start = Mapping[str, float]
"""Seconds of each part of one start, in order. ``second step`` is not a part of it; ``read`` and ``files``
are bytes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument(
        "--repeats", type=int, default=REPEATS, help=f"starts of each kind (default {REPEATS})"
    )
    parser.add_argument(
        "--state-mb", type=int, default=STATE_MB, help=f"size of the state to reopen (default {STATE_MB} MB)"
    )
    parser.add_argument(
        "--large-mb", type=int, default=LARGE_MB, help=f"size of the large one (default {LARGE_MB} MB)"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    """Cold starts and reopenings in turns."""
    states: dict[str, Path] = {}
    for size in (arguments.large_mb, arguments.state_mb):
        states[f"reopen, {size:,} MB"] = state = _CACHE / f"{size}mb"
        if not state.exists():
            print(f"  making {size} MB of state, once", flush=True)
            _asked("make", state, size)
    starts: dict[str, list[Start]] = {name: [] for name in ("penstock run", "cold start", *states)}
    with tempfile.TemporaryDirectory(prefix="startup-", dir=_made(_CACHE)) as folder:
        script = tiny_script(Path(folder))
        _script_start(script)  # makes the pipeline, and the archive of classes where there is none
        for number in range(arguments.repeats):
            kinds = list(starts)
            for kind in kinds if number % 2 else kinds[::-1]:
                if kind == "penstock run":
                    starts[kind].append(_script_start(script))
                else:
                    starts[kind].append(_start(states.get(kind)))
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
        "read": 0.0,
        "files": 0.0,
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
    return {name: seconds for name, seconds in start.items() if name not in _NOT_PARTS}


def _whole(start: Start) -> float:
    return sum(_parts(start).values())


def _after_spark(start: Start) -> float:
    return sum(start[part] for part in _AFTER_SPARK)


def results(starts: Mapping[str, Sequence[Start]]) -> list[Result]:
    """Medians of every part. Judged by the last kind, the reopening, and by how much longer the one before,
    that of the large state, takes; the goal of a script is drawn beside."""
    rows: list[dict[str, object]] = []
    for kind, found in starts.items():
        wholes = [_whole(start) for start in found]
        parts = {
            f"{name} s": median(start[name] for start in found) for name in (*_parts(found[0]), "second step")
        }
        read = {"read MB": median(start["read"] for start in found) / 1e6, "of MB": found[0]["files"] / 1e6}
        spans = {"all s (median)": median(wholes), "min": min(wholes), "max": max(wholes)}
        rows.append({"start": kind, **spans, **parts, **read})
    what = "Seconds from starting Python to the end of the first step"
    last = [_whole(start) for start in list(starts.values())[-1]]
    stacks = [
        Stack(kind, {name: median(start[name] for start in found) for name in _parts(found[0])})
        for kind, found in starts.items()
    ]
    large, small = list(starts.values())[-2:]
    longer = median(map(_after_spark, large)) / median(map(_after_spark, small))
    share = median(start["read"] / max(1.0, start["files"]) for start in large)
    reopen = Result(
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
    return [
        reopen,
        Result("startup-large", "After Spark is up, beside the small state", longer, GOAL_LARGE, "x", rows),
        Result(
            "startup-read", "Share of the large state that is read", share, GOAL_READ, " of the state", rows
        ),
    ]
