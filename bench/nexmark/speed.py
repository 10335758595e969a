"""How many of Nexmark's events per second, beside Structured Streaming, PyFlink and Pathway?

Every query runs alone, in each system in a process of its own, over the same events in files; the order of
the systems changes from query to query and from round to round. What counts is the slope between two sizes of
input, ``(N2 - N1) / (t2 - t1)``, so that starting up, compiling and warming up drop out; where the larger
input took no longer it is ``N2 / t2``, and a note says so. A system's rate is the median of its rounds. CPU
time is the difference between the two sizes too, memory is the peak with the larger one. Final answers are
compared with ours on the smaller input, in a run that is not timed.

Where others are through with the usual input in half a second and start-up varies by as much, so that noise
would decide, a query gets more of it (``LONGER``).

A round of all queries takes about an hour. All queries have had a round before the next begins, so whenever
it ends there is something to see, and ``--resume`` goes on from there.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence

from bench.nexmark.answers import EQUAL
from bench.nexmark.data import queries
from bench.nexmark.files import GROUP
from bench.nexmark.kept import Kept, commits
from bench.nexmark.measured import Inputs, Measured
from bench.nexmark.ours import COMMIT_INTERVAL_S
from bench.nexmark.rounds import run_round
from bench.nexmark.systems import PEER_SYSTEMS, THREADS, Peer
from bench.report import Result, agreement

__all__ = ["add_speed_arguments", "results", "run"]

EVENTS = 5_000_000
LONGER = {"q00": 30_000_000}
"""Pass-through queries, and how many events they get."""
REPEATS = 5
_TERMS = (
    "No system stores the rows of its sources or of its result: changes are emitted and dropped. "
    f"Penstock makes its state durable every {COMMIT_INTERVAL_S:.0f} seconds and at the end, Structured "
    "Streaming after every batch, Flink and Pathway never."
)
_SHOWN = 100  # characters of an error in a table; the whole line is in the notes


def add_speed_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the measurement."""
    parser.add_argument("--small", type=int, help="events of the smaller input (default a tenth)")
    parser.add_argument("--peers", default=",".join(PEER_SYSTEMS), help="spark, flink, pathway (default all)")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"rounds (default {REPEATS})")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a run may take (default 300)")
    parser.add_argument(
        "--variants", type=int, default=8, help="of each peer, so many are tried (default all)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="add to what earlier runs of these sizes measured, or published"
    )
    parser.add_argument("--group", type=int, default=GROUP, help=f"events of one step (default {GROUP:,})")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All queries, round after round."""
    peers = {name: PEER_SYSTEMS[name] for name in filter(None, arguments.peers.split(","))}
    chosen = _chosen(arguments.only)
    inputs = {query: _inputs(query, arguments) for query in chosen}
    of_sizes = {each: Kept.of(each, () if arguments.resume else chosen) for each in {*inputs.values()}}
    kept = {query: of_sizes[inputs[query]] for query in chosen}
    systems = ["penstock", *peers]
    try:
        for number in range(arguments.repeats):
            for place, query in enumerate(chosen):
                if kept[query].rounds(query, systems) <= number:
                    print(f"  round {number + 1} of {arguments.repeats}, {query}", flush=True)
                    before = kept[query].queries.get(query, {})
                    kept[query].add(query, run_round(query, place + number, peers, inputs[query], before))
    except KeyboardInterrupt:  # hours of measuring should not be lost
        print("  interrupted: the rest can be measured with --resume", flush=True)
    found = {query: kept[query].queries[query] for query in chosen if kept[query].rounds(query, systems)}
    missing = [query for query in chosen if query not in found]
    notes = [_TERMS, *commits(found), *([f"not measured: {', '.join(missing)}"] if missing else [])]
    if not found:
        raise SystemExit("nothing was measured")
    if arguments.write:
        for each in of_sizes.values():
            each.publish()
    return results(found, peers, inputs, notes)


def _inputs(query: str, arguments: argparse.Namespace) -> Inputs:
    """How much of the events a query gets: what was asked for, or what shows its rate."""
    events = arguments.events or LONGER.get(query, EVENTS)
    small = arguments.small or events // 10
    if small >= events:
        raise SystemExit("--small must be less than --events")
    return Inputs(small, events, arguments.group, arguments.timeout, arguments.variants)


def _chosen(only: str) -> list[str]:
    names = [query.name for query in queries()]
    wanted = only.split(",") if only else names
    if unknown := set(wanted) - set(names):
        raise SystemExit(f"no such query: {', '.join(sorted(unknown))}")
    return [name for name in names if name in wanted]


def results(
    found: Mapping[str, Mapping[str, Measured]],
    peers: Mapping[str, Peer],
    inputs: Mapping[str, Inputs],
    notes: Sequence[str] = (),
) -> list[Result]:
    """One result per peer and one of all answers, or the rates alone if there is no peer."""
    if not peers:
        rows = [_row(query, of["penstock"]) for query, of in found.items()]
        slowest = min((of["penstock"].rate if of["penstock"].ran else 0.0) for of in found.values())
        return [Result("nexmark", _title(inputs), slowest, 0, " events/s", rows, at_least=True, notes=notes)]
    answers = {
        f"{query}, {peer.name}": of[key].answer
        for query, of in found.items()
        for key, peer in peers.items()
        if of[key].ran
    }
    wrong = [f"{who}: {answer}" for who, answer in answers.items() if not answer.startswith(EQUAL)]
    return [
        *(_result(key, peer, found, inputs, notes) for key, peer in peers.items()),
        agreement("nexmark-answers", len(answers), wrong),
    ]


def _result(
    key: str,
    peer: Peer,
    found: Mapping[str, Mapping[str, Measured]],
    inputs: Mapping[str, Inputs],
    remarks: Sequence[str],
) -> Result:
    rows, ratios, notes = [], [], list(remarks)
    for query, of in found.items():
        theirs = of[key]
        ours = of["penstock"].beside(theirs)
        row = _row(query, ours)
        ratio: object = "-"
        if theirs.ran:
            ratio = ours.rate / theirs.rate if ours.ran else 0.0
            ratios.append(ratio)
        row |= _cells(peer.name, theirs)
        row["variant"] = theirs.variant or "-"
        row["ratio"] = ratio
        row["from"], row["to"] = _range(ours, theirs)
        row["rounds"] = len(theirs.rounds)
        row["answers"] = theirs.answer.partition(":")[0] if theirs.ran else _short(theirs.error)
        rows.append(row)
        notes += _remarks(query, "Penstock", ours) + _remarks(query, peer.name, theirs)
        notes += [
            f"{query}: {text}" for text in (theirs.error, theirs.answer) if len(text) > _SHOWN or ":" in text
        ]
    return Result(
        f"nexmark-{key}",
        f"{_title(inputs)} {peer.name}",
        min(ratios, default=math.nan),
        peer.goal,
        f"x {peer.name}",
        rows,
        at_least=True,
        notes=notes,
    )


def _range(ours: Measured, theirs: Measured) -> tuple[object, object]:
    """The smallest and the largest ratio of one round."""
    ratios = [mine.rate / other.rate for mine, other in zip(ours.rounds, theirs.rounds, strict=False)]
    return (min(ratios), max(ratios)) if ratios else ("-", "-")


def _remarks(query: str, name: str, of: Measured) -> list[str]:
    flat = sum(each.flat for each in of.rounds)
    text = f"{query}: {name} took no longer for the larger input in {flat} of {len(of.rounds)} rounds; there "
    told = [f"{text}its rate is that of the whole run"] if flat else []
    return told + [f"{query}: {name} failed in a later round: {failure}" for failure in of.failures]


def _title(inputs: Mapping[str, Inputs]) -> str:
    sizes: dict[tuple[int, int], list[str]] = {}
    for query, of in inputs.items():
        sizes.setdefault((of.small, of.large), []).append(query)
    (small, large), *others = sorted(sizes)
    longer = "".join(
        f" ({', '.join(sizes[less, more])}: between {less:,} and {more:,})" for less, more in others
    )
    group = next(iter(inputs.values())).group
    return (
        f"Nexmark, each query alone, {THREADS} threads, steps of {group:,} events; events/s between "
        f"{small:,} and {large:,} events{longer}."
    )


def _row(query: str, ours: Measured) -> dict[str, object]:
    return {"query": query, **_cells("Penstock", ours)}


def _cells(name: str, of: Measured) -> dict[str, object]:
    columns = (f"{name} events/s", f"{name} MB", f"{name} CPU s")
    values = (round(of.rate), round(of.peak_mb), of.cpu_s) if of.ran else ("-", "-", "-")
    return dict(zip(columns, values, strict=True))


def _short(error: str) -> str:
    return error if len(error) <= _SHOWN else f"{error[:_SHOWN]}…"
