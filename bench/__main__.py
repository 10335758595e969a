"""``python -m bench NAME``: runs one benchmark, prints its table, and ends with one line per goal.

Exits 1 where a goal is missed. ``python -m bench`` alone lists what there is; ``all`` runs every measurement.
``python -m bench NAME --help`` shows the options of one benchmark.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from bench import (
    commits,
    growth,
    latency,
    memory,
    merging,
    nexmark,
    scale,
    spill,
    startup,
    storage,
    throughput,
    tpch,
)
from bench.machine import commit, load_average, machine, versions
from bench.pages import Report, read_reports, tables, write_pages, write_report
from bench.report import Result
from bench.series import Outcome, estimates, in_own_process, run_series, summary

BENCHMARKS: dict[str, ModuleType] = {
    "latency": latency,
    "throughput": throughput,
    "growth": growth,
    "scale": scale,
    "memory": memory,
    "storage": storage,
    "spill": spill,
    "merging": merging,
    "commits": commits,
    "startup": startup,
    "tpch": tpch,
    "tpch-small": tpch.small,
    "nexmark": nexmark,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for; the exit code says whether all goals were met."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.name is None:
        parser.print_help()
        return 0
    if options.name == "pages":
        write_pages()
        return 0
    if options.name == "all":
        return _all(options)
    report = _measured(options.name, options)
    for _, text in tables(report):
        print(f"{text}\n", flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps(report.to_json()), encoding="utf-8")
    if options.write:
        print(f"written: {write_report(report)}")
    for result in report.results:
        print(result.verdict())
    return 0 if all(result.met for result in report.results) else 1


def _all(options: argparse.Namespace) -> int:
    def run_one(name: str) -> Outcome:
        outcome = in_own_process(name)
        if options.write and isinstance(outcome, Report):
            print(f"written: {write_report(outcome)}", flush=True)
        return outcome

    lines, well = summary(run_series(estimates(BENCHMARKS, read_reports()), run_one))
    print("\n".join(lines))
    return 0 if well else 1


def _measured(name: str, options: argparse.Namespace) -> Report:
    benchmark, before, started = BENCHMARKS[name], load_average(), time.monotonic()
    found = benchmark.run(options)
    whole = not getattr(options, "resume", False)  # what goes on from earlier runs says nothing of its length
    return Report(
        benchmark=name,
        about=_about(benchmark),
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seconds=round(time.monotonic() - started, 1) if whole else None,
        commit=commit(),
        machine=machine(),
        versions=versions(),
        load={"start": before, "end": load_average()},
        results=[found] if isinstance(found, Result) else list(found),
    )


def _about(benchmark: ModuleType) -> str:
    return (benchmark.__doc__ or "").strip().splitlines()[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = parser.add_subparsers(dest="name", metavar="NAME", title="benchmarks")
    for name, benchmark in BENCHMARKS.items():
        own = names.add_parser(name, help=_about(benchmark), description=benchmark.__doc__)
        _add_write(own)
        own.add_argument("--json", type=Path, metavar="FILE", help="also write the figures into this file")
        benchmark.add_arguments(own)
    _add_write(names.add_parser("all", help="every benchmark, each with its default options"))
    names.add_parser("pages", help="write the pages under docs/benchmarks/ again from their figures")
    return parser


def _add_write(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="also renew the report under docs/benchmarks/")


if __name__ == "__main__":
    sys.exit(main())
