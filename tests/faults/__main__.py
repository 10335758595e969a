"""``make faults-storage``: thousands of random corruptions of real state folders, and a disk that fails.

Every trial damages one file of a copy, runs the check that ``penstock check`` runs, opens the copy and reads
everything. Damage must be harmless or reported by an error of ours that names the file. Anything else is
printed with its number, and the exit code is 1. Then a short life of a pipeline is repeated on a disk of
which one system call fails, for each call of it: nothing may be lost, and the run must go on.
"""

from __future__ import annotations

import argparse
import errno
import faulthandler
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from penstock.errors import PenstockError
from penstock.spark import find_or_make_session
from tests.faults.damage import FOLDERS, FOREIGN, KINDS
from tests.faults.device import READS, WRITES
from tests.faults.failing_story import lived
from tests.faults.folders import RECIPES, WORKERS, made
from tests.faults.trial import BUGS, DETECTED, HARMLESS, Outcome, Subject, scratch_folder, trial

_SHOWN = 20
out = Console()


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--trials", type=int, default=6000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", type=int, help="a single trial, by its number")
    options = arguments.parse_args()
    with scratch_folder() as root:
        spark, _ = find_or_make_session("faults", WORKERS)
        with out.status("Making three state folders with Spark …"):
            subjects = [made(spark, root, name) for name in RECIPES]
        spark.stop()
        began = time.monotonic()
        numbers = range(options.trials) if options.only is None else [options.only]
        outcomes = _trials(subjects, options.seed, numbers, root)
        took = time.monotonic() - began
        lost = 0 if options.only is not None else _failing_disks(root)
    _print(outcomes)
    each = took / len(outcomes) * 1000
    out.print(f"{len(outcomes):,} trials, seed {options.seed}, {took:.0f} s ({each:.0f} ms each)")
    bugs = [outcome for outcome in outcomes if outcome.verdict in BUGS]
    for bug in bugs[:_SHOWN]:
        number = bug.seed - options.seed * 10**6
        out.print(
            f"[red]trial {number}, {bug.subject}: {bug.damage}: {bug.verdict}: {bug.text}[/]", markup=True
        )
    return 1 if bugs or lost else 0


def _trials(subjects: Sequence[Subject], seed: int, numbers: Sequence[int], root: Path) -> list[Outcome]:
    outcomes = []
    with Progress(console=out) as progress:
        task = progress.add_task("Damaging", total=len(numbers))
        for number in numbers:
            faulthandler.dump_traceback_later(120, exit=True)  # a hang that not even a signal ends
            outcomes.append(trial(subjects[number % len(subjects)], seed * 10**6 + number, root))
            faulthandler.cancel_dump_traceback_later()
            bugs = sum(outcome.verdict in BUGS for outcome in outcomes)
            progress.update(task, advance=1, description=f"Damaging ({bugs} bugs)")
    return outcomes


def _failing_disks(root: Path) -> int:
    """Fails each system call of a story once; how often that went wrong."""
    lost = 0
    table = Table("error", "call", "failed", "lost", title="A disk that fails at one call")
    for code, calls in ((errno.EIO, WRITES), (errno.ENOSPC, WRITES), (errno.EIO, READS)):
        counts: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        for at in count(1):
            name = f"{errno.errorcode[code]}-{calls[0]}-{at}"
            try:
                failed = lived(root / "disks" / name, at, code, calls)
            except (AssertionError, PenstockError) as error:
                failed = "somewhere"
                wrong[failed] += 1
                out.print(f"[red]{name}: {error}[/]")
            if not failed:
                break
            counts[failed] += 1
        for call, number in counts.items():
            table.add_row(errno.errorcode[code], call, str(number), str(wrong[call]))
        lost += wrong.total()
    out.print(table)
    return lost


def _print(outcomes: Sequence[Outcome]) -> None:
    verdicts = (DETECTED, HARMLESS, *BUGS)
    for title, names, of in (
        ("by damage", (*KINDS, FOREIGN), lambda outcome: outcome.damage.kind),
        ("by folder", FOLDERS, lambda outcome: outcome.damage.folder),
    ):
        table = Table("", *verdicts, "all", title=f"Trials {title}")
        counts = Counter((of(outcome), outcome.verdict) for outcome in outcomes)
        for name in names:
            row = [counts[name, verdict] for verdict in verdicts]
            table.add_row(name, *map(str, row), str(sum(row)))
        out.print(table)


if __name__ == "__main__":
    sys.exit(main())
