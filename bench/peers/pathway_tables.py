"""Pathway running one of Nexmark's queries over CSV files until it has read them all.

Reads a request from standard input: ``{"query": name, "tables": {name: folder}, "answer": file or null}``;
prints ``{"seconds": time}`` or ``{"error": text}``. Files are read in Pathway's static mode, the one that
ends, which takes all of a source's rows at once. The output is thrown away unless an answer is asked for:
then the changes are written as JSON, one per line, with their ``diff``. How many threads there are is for
``PATHWAY_THREADS`` to say. Times are whole microseconds since 1970. Imports nothing of this project but the
queries beside it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pathway as pw
import pathway_queries


class Person(pw.Schema):
    """People."""

    ident: int
    name: str
    email_address: str
    credit_card: str
    city: str
    state: str
    date_time: int
    extra: str


class Auction(pw.Schema):
    """Auctions."""

    ident: int
    item_name: str
    description: str
    initial_bid: int
    reserve: int
    date_time: int
    expires: int
    seller: int
    category: int
    extra: str


class Bid(pw.Schema):
    """Bids."""

    auction: int
    bidder: int
    price: int
    channel: str
    url: str
    date_time: int
    extra: str


class SideInput(pw.Schema):
    """What query 13 looks up."""

    key: int
    value: str


SCHEMAS = {"person": Person, "auction": Auction, "bid": Bid, "side_input": SideInput}


def main() -> None:
    """Answers one request."""
    request = json.load(sys.stdin)
    try:
        found: dict[str, Any] = {"seconds": measured(request)}
    except Exception as problem:  # whatever it is, it belongs into the table
        found = {"error": f"{type(problem).__name__}: {problem}"}
    print(json.dumps(found), flush=True)


def measured(request: dict[str, Any]) -> float:
    """Seconds of the run."""
    tables = {
        name: pw.io.csv.read(folder, schema=SCHEMAS[name], mode="static")
        for name, folder in request["tables"].items()
    }
    result = getattr(pathway_queries, request["query"])(**tables)
    if request["answer"]:
        pw.io.jsonlines.write(result, request["answer"])
    else:
        pw.io.null.write(result)
    started = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
