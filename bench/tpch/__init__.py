"""TPC-H: the 22 queries as views of one pipeline, through a stream of refreshes."""

from __future__ import annotations

import argparse

from bench.check import Subject, add_check_arguments, check_as_asked, session
from bench.report import Result
from bench.tpch import small, speed
from bench.tpch.data import generated, queries, tables
from bench.tpch.refresh import Refresh, first_load

__all__ = ["MINUTES", "add_arguments", "run", "small"]

MINUTES = 40.0
SCALE, CHECKED_SCALE = 1.0, 0.01


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    add_check_arguments(parser, required=False)
    speed.add_arguments(parser)
    parser.add_argument(
        "--scale",
        type=float,
        help=f"TPC-H's scale factor (default {SCALE:g}, with --check {CHECKED_SCALE:g})",
    )


def run(arguments: argparse.Namespace) -> Result | list[Result]:
    """Checks all views, or measures them."""
    arguments.scale = arguments.scale or (CHECKED_SCALE if arguments.check else SCALE)
    if not arguments.check:
        return speed.run(arguments)
    spark = session(arguments)
    contents = generated(arguments.scale)
    refresh = Refresh(tables(), contents, seed=arguments.seed)
    subject = Subject(
        "tpch",
        f"TPC-H, scale {arguments.scale:g}: 22 views of one pipeline against batch Spark after each of "
        f"{arguments.steps} refreshes and the first load",
        tables(),
        queries(arguments.scale),
        [first_load(contents), *(refresh.step() for _ in range(arguments.steps))],
    )
    return check_as_asked(spark, subject, arguments)
