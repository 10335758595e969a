"""``python -m bench NAME``: runs one benchmark, prints its table, and ends with one line per goal.

Exits 1 where a goal is missed. ``python -m bench`` alone lists what there is; ``all`` runs every measurement.
``python -m bench NAME --help`` shows the options of one benchmark.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType

from bench import growth, latency, nexmark, throughput, tpch
from bench.report import Result, write_report

MEASUREMENTS = {"growth": growth, "latency": latency, "throughput": throughput}
CHECKS = {"tpch": tpch, "nexmark": nexmark}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what was asked for; the exit code says whether all goals were met."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.name is None:
        parser.print_help()
        return 0
    chosen = MEASUREMENTS if options.name == "all" else {options.name: (MEASUREMENTS | CHECKS)[options.name]}
    results: list[Result] = []
    for number, (name, benchmark) in enumerate(chosen.items(), 1):
        if len(chosen) > 1:
            print(f"[{number}/{len(chosen)}] {name}", flush=True)
        found = _run(benchmark, options if options.name == name else _defaults(benchmark))
        for result in found:
            print(result.table(), flush=True)
        results += found
    if options.write:
        for result in results:
            print(f"written: {write_report(result)}")
    for result in results:
        print(result.verdict())
    return 0 if all(result.met for result in results) else 1


def _run(benchmark: ModuleType, options: argparse.Namespace) -> list[Result]:
    found = benchmark.run(options)
    return [found] if isinstance(found, Result) else list(found)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = parser.add_subparsers(dest="name", metavar="NAME", title="benchmarks")
    for name, benchmark in (MEASUREMENTS | CHECKS).items():
        about = (benchmark.__doc__ or "").strip()
        own = names.add_parser(name, help=about.splitlines()[0], description=about)
        _add_write(own)
        benchmark.add_arguments(own)
    _add_write(names.add_parser("all", help="every measurement, each with its default options"))
    return parser


def _defaults(benchmark: ModuleType) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    benchmark.add_arguments(parser)
    return parser.parse_args([])


def _add_write(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", action="store_true", help="also write the figures under docs/benchmarks/")


if __name__ == "__main__":
    sys.exit(main())
