"""``python -m penstock.oracle``: put tables and queries in SQL files to the oracle, from the command line.

    python -m penstock.oracle --tables tables.sql queries/*.sql --workers 1,2 --modes resident

Exits 1 and prints a small reproduction if any view was ever different from batch Spark.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from penstock.oracle.drive import Config, Mode
from penstock.oracle.fixtures import Query, closed, read_queries, read_tables
from penstock.oracle.harness import OracleError, check
from penstock.spark import find_or_make_session

__all__ = ["main"]

_FULL = {"steps": 20, "workers": "1,2,3", "modes": "resident,staged"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    if options.full:
        vars(options).update(_FULL)
    workers = [int(number) for number in options.workers.split(",")]
    modes = [cast(Mode, mode) for mode in options.modes.split(",")]
    logging.getLogger("penstock.sql").setLevel(logging.ERROR)  # notes are for people who create views
    spark, _ = find_or_make_session("oracle", max(workers))
    tables = read_tables(options.tables.read_text(encoding="utf-8"))
    queries = _chosen(read_queries(sorted(_files(options.queries))), options.only)
    configurations = [Config(count, mode) for mode in modes for count in workers]
    print(f"{len(queries)} queries, {options.steps} steps, seed {options.seed}", flush=True)
    try:
        report = check(
            spark,
            tables,
            queries,
            options.steps,
            configurations=configurations,
            seed=options.seed,
            shrink_seconds=options.shrink_seconds,
        )
    except OracleError as found:
        print(found)
        return 1
    print(report)
    return 0


def _files(paths: Sequence[Path]) -> list[Path]:
    return [file for path in paths for file in (path.glob("*.sql") if path.is_dir() else [path])]


def _chosen(queries: list[Query], pattern: str) -> list[Query]:
    """The queries whose names match, and the views they read."""
    return closed(queries, [query for query in queries if re.search(pattern, query.name)])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m penstock.oracle",
        description="Runs random change streams through pipelines and compares every view with batch Spark "
        "after every step.",
        epilog="How files of tables and queries look is said in docs/testing.md.",
    )
    parser.add_argument("queries", nargs="+", type=Path, help="files of queries, or folders of them")
    parser.add_argument("--tables", type=Path, required=True, help="the file of CREATE TABLE statements")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only queries whose name matches")
    parser.add_argument("--steps", type=int, default=10, help="steps of the stream (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the stream (default 0)")
    parser.add_argument("--workers", default="2", help="numbers of workers, as in 1,2,3 (default 2)")
    parser.add_argument("--modes", default="resident", help="resident, staged or both, with a comma")
    parser.add_argument("--full", action="store_true", help="20 steps; 1, 2 and 3 workers; both modes")
    parser.add_argument(
        "--shrink-seconds", type=float, default=120, metavar="S", help="time to make a failure small"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
