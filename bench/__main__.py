"""``python -m bench NAME``: runs one benchmark, prints its table, and ends with one line per goal.

Exits 1 where a goal is missed. ``python -m bench`` alone lists what there is; ``all`` runs everything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping

from bench import growth, latency, throughput
from bench.report import Result, write_report

BENCHMARKS: Mapping[str, Callable[[], Result]] = {
    "growth": growth.run,
    "latency": latency.run,
    "throughput": throughput.run,
}


def main() -> int:
    """Runs what was asked for; the exit code says whether all goals were met."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[*BENCHMARKS, "all"], help="which benchmark")
    parser.add_argument("--write", action="store_true", help="also write the figures under docs/benchmarks/")
    arguments = parser.parse_args()
    if arguments.name is None:
        parser.print_help()
        return 0
    names = list(BENCHMARKS) if arguments.name == "all" else [arguments.name]
    results = []
    for number, name in enumerate(names, 1):
        if len(names) > 1:
            print(f"[{number}/{len(names)}] {name}", flush=True)
        results.append(BENCHMARKS[name]())
        print(results[-1].table(), flush=True)
    if arguments.write:
        for result in results:
            print(f"written: {write_report(result)}")
    for result in results:
        print(result.verdict())
    return 0 if all(result.met for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
