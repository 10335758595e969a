"""``python -m bench all``: one benchmark after the other, with an idea of how long it will take.

Each benchmark runs in a process of its own, because a Spark session (its slots, the heap of its JVM) outlives
the benchmark that made it. One that fails is shown as failed, and the others go on. How long one takes is
taken from its last report; before there is one, from what it says itself (``MINUTES``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from bench.pages import Report

__all__ = ["Outcome", "estimates", "in_own_process", "run_series", "summary"]

DEFAULT_MINUTES = 5.0

Outcome = Report | str
"""A report, or why there is none."""


def estimates(benchmarks: Mapping[str, ModuleType], reports: Sequence[Report]) -> dict[str, float]:
    """Minutes by name."""
    known = {report.benchmark: report.seconds / 60 for report in reports if report.seconds is not None}
    return {
        name: known.get(name, getattr(module, "MINUTES", DEFAULT_MINUTES))
        for name, module in benchmarks.items()
    }


def run_series(
    minutes: Mapping[str, float],
    run_one: Callable[[str], Outcome],
    tell: Callable[[str], None] = lambda line: print(line, flush=True),
) -> dict[str, Outcome]:
    """Runs all names of ``minutes`` in their order and says before each how long is left."""
    outcomes: dict[str, Outcome] = {}
    left = sum(minutes.values())
    for number, (name, own) in enumerate(minutes.items(), 1):
        tell(f"[{number}/{len(minutes)}] {name}, about {_minutes(own)}, {_minutes(left)} left in all")
        started = time.monotonic()
        outcomes[name] = outcome = run_one(name)
        left -= own
        took = (time.monotonic() - started) / 60
        tell(f"{name} failed: {outcome}" if isinstance(outcome, str) else f"{name} took {_minutes(took)}")
    return outcomes


def _minutes(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes >= 1 else f"{max(1.0, minutes * 60):.0f} s"


def in_own_process(name: str) -> Outcome:
    """Runs one benchmark as ``python -m bench NAME``; what it prints is seen as it comes."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        kept = Path(folder) / "report.json"
        command = [sys.executable, "-m", "bench", name, "--json", str(kept)]
        done = subprocess.run(command, cwd=Path(__file__).parent.parent)
        if kept.exists():
            return Report.from_json(json.loads(kept.read_text(encoding="utf-8")))
    return f"it ended with exit code {done.returncode} and no figures; its message is above"


def summary(outcomes: Mapping[str, Outcome]) -> tuple[list[str], bool]:
    """One line per goal and per benchmark that failed, and whether all is well."""
    lines: list[str] = []
    well = True
    for name, outcome in outcomes.items():
        if isinstance(outcome, str):
            lines.append(f"{name}: FAILED")
            well = False
        else:
            lines += [result.verdict() for result in outcome.results]
            well = well and all(result.met for result in outcome.results)
    return lines, well
