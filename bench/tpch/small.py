"""TPC-H at a tenth of the scale: how much of the speed-up remains when the tables are small.

The same measurement as ``tpch``. Recomputing a view costs a tenth, a refresh of as many rows costs the
same, so ratios are smaller; the goals are those of scale 1 that hold at any scale: no view is slower than
Spark, and loading takes no more than three times what Spark takes for all answers.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from bench.report import Result
from bench.tpch import speed

__all__ = ["MINUTES", "add_arguments", "run"]

MINUTES = 5.0
SCALE = 0.1
_JUDGED = {
    "tpch-slowest": "tpch-small",
    "tpch-load": "tpch-small-load",
    "tpch-answers": "tpch-small-answers",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    parser.add_argument("--only", default="", metavar="PATTERN", help="only queries whose name matches")
    speed.add_arguments(parser)


def run(arguments: argparse.Namespace) -> list[Result]:
    """The measurement, with the goals that hold at any scale."""
    arguments.scale = SCALE
    found = {result.name: result for result in speed.run(arguments)}
    return [replace(found[name], name=ours) for name, ours in _JUDGED.items() if name in found]
