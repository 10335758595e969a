"""Nexmark: 23 queries over the people, auctions and bids of an auction house, checked or measured.

With ``--check`` all queries are views of one pipeline, compared with batch Spark after every step. Without it
each is measured alone, beside other systems.
"""

from __future__ import annotations

import argparse

from bench.check import Subject, add_check_arguments, check_as_asked, session
from bench.nexmark import speed
from bench.nexmark.data import queries, stream, tables
from bench.report import Result

__all__ = ["MINUTES", "NOTES", "add_arguments", "queries", "run", "stream", "tables"]

MINUTES = 275.0

NOTES = (
    "q12 asks for processing time, an ever-changing clock: here it counts by event time",
    "q13 asks for a lookup outside: here its side input is a static table",
)
CHECKED = 20_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command line."""
    add_check_arguments(parser, required=False)
    longer = ", ".join(f"of {query} {events:,}" for query, events in speed.LONGER.items())
    parser.add_argument(
        "--events",
        type=int,
        help=f"events in all (default {speed.EVENTS:,}, {longer}; with --check {CHECKED:,})",
    )
    speed.add_speed_arguments(parser)


def run(arguments: argparse.Namespace) -> Result | list[Result]:
    """Checks all views, or measures them."""
    if not arguments.check:
        return speed.run(arguments)
    spark = session(arguments)
    events = arguments.events or CHECKED
    subject = Subject(
        "nexmark",
        f"Nexmark, {events:,} events: 23 views of one pipeline against batch Spark after each of "
        f"{arguments.steps} steps",
        tables(),
        queries(),
        stream(events, arguments.steps, arguments.seed),
        NOTES,
    )
    return check_as_asked(spark, subject, arguments)
