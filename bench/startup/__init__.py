"""How long until the first step: from nothing, and with a gigabyte of state?

Every start is a new Python process with a Spark of its own, so nothing is warm but the operating system; for
a reopening the files of the state are dropped from its cache first, as far as the system lets us. Cold starts
and reopenings take turns. The state is made once and kept under ``artifacts/``; a start works on a copy whose
large files are links, so all starts see the same.
"""

from __future__ import annotations

import argparse
import json
import os
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

__all__ = ["MINUTES", "add_arguments", "linked_copy", "results", "run"]

MINUTES = 3.0
GOAL = 10.0
REPEATS = 5
STATE_MB = 1000
_ROOT = Path(__file__).parent.parent.parent
_CACHE = _ROOT / "artifacts" / "startup"
NOTES = (
    "workers: Spark's job with the tasks that stay, their processes and channels; restore: telling them what "
    "to open, and running steps that the last version lacks (none here)",
    "state is mapped, and read when a step first needs it: the first step includes that, the second does not",
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
    starts: dict[str, list[Start]] = {"cold start": [], f"reopen, {arguments.state_mb:,} MB": []}
    for number in range(arguments.repeats):
        kinds = list(starts)
        for kind in kinds if number % 2 else kinds[::-1]:
            starts[kind].append(_start(state if kind.startswith("reopen") else None))
            print(f"  {kind}: {_whole(starts[kind][-1]):.1f} s", flush=True)
    return results(starts)


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
    """Medians of every part. Judged by the last kind, the reopening."""
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
        sketch=Stacks(what, "seconds (medians)", stacks, [Mark(GOAL, f"goal for reopening: {GOAL:g} s")]),
    )
