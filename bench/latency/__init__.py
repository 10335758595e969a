"""How long does a step take, by the depth of the view and the rows that changed?

Three views over TPC-H's tables (see :mod:`bench.latency.views`), 1, 100 and 10,000 changed rows a step, once
with pauses between the steps (idle) and once without (tight loop); beside them an empty one-task Spark job
and Structured Streaming's trigger time for the small view. And a three-way join in turns with the empty job
(:mod:`bench.latency.job`).
"""

from __future__ import annotations

import argparse

from bench.latency.job import beside_a_job
from bench.latency.steps import measured
from bench.report import Result
from bench.tpch.data import generated
from penstock.spark import find_or_make_session

__all__ = ["MINUTES", "add_arguments", "run"]

MINUTES = 6.0
ROUNDS = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H's scale factor (default 0.1)")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help=f"timed steps of each kind (default {ROUNDS})"
    )


def run(arguments: argparse.Namespace) -> list[Result]:
    """The distributions, and the two ratios to an empty job. Those are measured first, in a Spark that has
    done nothing else yet, so that they can be compared with earlier ones."""
    ratios = beside_a_job()
    spark, _ = find_or_make_session("latency", 2)
    what = f"Milliseconds of a step, by view (TPC-H scale {arguments.scale:g}) and changed rows"
    distributions = measured(spark, generated(arguments.scale), arguments.rounds, what)
    return [*distributions, *ratios]
