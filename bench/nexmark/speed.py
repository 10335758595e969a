"""How many of Nexmark's events per second, beside Structured Streaming, PyFlink and Pathway?

Every query runs alone, in each system in a process of its own, over the same events in files; the order of
the systems changes from query to query. What counts is the slope between two sizes of input, ``(N2 - N1) /
(t2 - t1)``, so that starting up, compiling and warming up drop out; where the larger input took no longer
it is ``N2 / t2``, and a note says so. CPU time is the difference between the two sizes too, memory is the
peak with the larger one. Final answers are compared with ours on the smaller input, in a run that is not
timed.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from bench.nexmark.answers import compared
from bench.nexmark.data import queries
from bench.nexmark.files import GROUP
from bench.nexmark.kept import Kept
from bench.nexmark.measured import Inputs, Measured
from bench.nexmark.ours import COMMIT_INTERVAL_S
from bench.nexmark.systems import PEER_SYSTEMS, THREADS, Peer, Penstock, System
from bench.peers import PeerMissingError
from bench.peers.watch import PeerFailedError, PeerTimeoutError, Watched
from bench.report import Result

__all__ = ["add_speed_arguments", "results", "run", "slope"]

EVENTS = 5_000_000
_TERMS = (
    "No system keeps the rows of its sources, nor those of the answer: changes are handed on and dropped. "
    f"Penstock makes its state durable every {COMMIT_INTERVAL_S:.0f} seconds and at the end, Structured "
    "Streaming after every batch, Flink and Pathway never."
)
_SHOWN = 100  # characters of an error in a table; the whole line is in the notes


def add_speed_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the measurement."""
    parser.add_argument("--small", type=int, help="events of the smaller input (default a tenth)")
    parser.add_argument("--peers", default=",".join(PEER_SYSTEMS), help="spark, flink, pathway (default all)")
    parser.add_argument("--repeats", type=int, default=1, help="timed runs of everything (default 1)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a run may take (default 300)")
    parser.add_argument(
        "--variants", type=int, default=8, help="of each peer, so many are tried (default all)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep what an earlier run with the same sizes has measured"
    )
    parser.add_argument("--group", type=int, default=GROUP, help=f"events of one step (default {GROUP:,})")


def run(arguments: argparse.Namespace) -> list[Result]:
    """All queries, one after the other."""
    events = arguments.events or EVENTS
    inputs = Inputs(
        arguments.small or events // 10,
        events,
        arguments.group,
        arguments.repeats,
        arguments.timeout,
        arguments.variants,
    )
    if inputs.small >= inputs.large:
        raise SystemExit("--small must be less than --events")
    peers = {name: PEER_SYSTEMS[name] for name in filter(None, arguments.peers.split(","))}
    kept, chosen = Kept.of(inputs, resume=arguments.resume), _chosen(arguments.only)
    left = [query for query in chosen if not peers.keys() <= kept.queries.get(query, {}).keys()]
    try:
        for number, query in enumerate(left):
            with tempfile.TemporaryDirectory(prefix="nexmark-") as folder:
                kept.add(query, _measured(query, number, peers, inputs, Path(folder)))
    except KeyboardInterrupt:  # hours of measuring should not be lost
        print("  interrupted: the rest can be measured with --resume", flush=True)
    found = {query: kept.queries[query] for query in chosen if query in kept.queries}
    missing = [query for query in chosen if query not in found]
    notes = [_TERMS, *kept.notes(), *([f"not measured: {', '.join(missing)}"] if missing else [])]
    if not found:
        raise SystemExit("nothing was measured")
    return results(found, peers, inputs, notes)


def _chosen(only: str) -> list[str]:
    names = [query.name for query in queries()]
    wanted = only.split(",") if only else names
    if unknown := set(wanted) - set(names):
        raise SystemExit(f"no such query: {', '.join(sorted(unknown))}")
    return [name for name in names if name in wanted]


def _measured(
    query: str, number: int, peers: Mapping[str, Peer], inputs: Inputs, folder: Path
) -> dict[str, Measured]:
    systems: dict[str, System] = {"penstock": Penstock(), **peers}
    turn = number % len(systems)
    names = list(systems)
    found: dict[str, Measured] = {}
    for name in names[turn:] + names[:turn]:
        found[name] = _timed_or_failed(systems[name], query, inputs)
        print(f"  {query} {systems[name].name}: {found[name].line()}", flush=True)
    ours = _our_answer(query, inputs, folder)
    for name, peer in peers.items():
        if found[name].ran:
            found[name].answer = _answered(peer, query, found[name].variant, inputs, folder / name, ours)
            print(f"  {query} {peer.name}: answer {found[name].answer}", flush=True)
    return found


def _timed_or_failed(system: System, query: str, inputs: Inputs) -> Measured:
    try:
        return _timed(system, query, inputs)
    except (PeerFailedError, PeerMissingError) as problem:
        return Measured(error=str(problem))


def _timed(system: System, query: str, inputs: Inputs) -> Measured:
    """Tries all variants on the smaller input, and the fastest that can on the larger."""

    def runs(variant: str, size: int) -> list[Watched]:
        files = inputs.files(system, size)
        return [
            system.run(query, files, variant, None, timeout_s=inputs.timeout_s) for _ in range(inputs.repeats)
        ]

    tried: dict[str, list[Watched]] = {}
    problems: list[PeerFailedError] = []
    for variant in system.variants(query)[: inputs.variants]:
        try:
            tried[variant] = runs(variant, inputs.small)
        except PeerFailedError as failed:
            problems.append(failed)
    for variant in sorted(tried, key=lambda variant: _seconds(tried[variant])):
        try:
            return _slope_of(variant, tried[variant], runs(variant, inputs.large), inputs)
        except PeerTimeoutError:
            raise  # the others are slower
        except PeerFailedError as failed:
            problems.append(failed)
    raise problems[0]


def _slope_of(variant: str, small: Sequence[Watched], large: Sequence[Watched], inputs: Inputs) -> Measured:
    rate, estimated = slope(inputs.small, _seconds(small), inputs.large, _seconds(large))
    return Measured(
        rate,
        max(run.peak_mb for run in large),
        median(run.cpu_s for run in large) - median(run.cpu_s for run in small),
        variant,
        estimated=estimated,
    )


def _seconds(runs: Sequence[Watched]) -> float:
    return median(float(run.answer["seconds"]) for run in runs)


def slope(small: int, small_s: float, large: int, large_s: float) -> tuple[float, bool]:
    """Events per second by the slope, or by the larger input alone if that took no longer; whether so."""
    if large_s > small_s:
        return (large - small) / (large_s - small_s), False
    return large / large_s, True


def _our_answer(query: str, inputs: Inputs, folder: Path) -> pa.Table | None:
    system, path = Penstock(), folder / "penstock.parquet"
    try:
        system.run(query, inputs.files(system, inputs.small), "", path, timeout_s=inputs.timeout_s)
    except PeerFailedError:
        return None
    return pq.read_table(path)


def _answered(peer: Peer, query: str, variant: str, inputs: Inputs, path: Path, ours: pa.Table | None) -> str:
    if ours is None:
        return "not compared: Penstock has none"
    try:
        peer.run(query, inputs.files(peer, inputs.small), variant, path, timeout_s=inputs.timeout_s)
    except PeerFailedError as problem:
        return f"not compared: {problem}"
    try:
        return compared(ours, peer.read(query, path, ours.schema), held_back=peer.held_back(query))
    except Exception as problem:  # an answer that cannot be read must not end a run of hours
        return f"not compared: {type(problem).__name__}: {problem}"


def results(
    found: Mapping[str, Mapping[str, Measured]],
    peers: Mapping[str, Peer],
    inputs: Inputs,
    notes: Sequence[str] = (),
) -> list[Result]:
    """One result per peer, or the rates alone if there is none."""
    if not peers:
        rows = [_row(query, of["penstock"]) for query, of in found.items()]
        slowest = min((of["penstock"].rate if of["penstock"].ran else 0.0) for of in found.values())
        return [Result("nexmark", _title(inputs), slowest, 0, " events/s", rows, at_least=True, notes=notes)]
    return [_result(key, peer, found, inputs, notes) for key, peer in peers.items()]


def _result(
    key: str,
    peer: Peer,
    found: Mapping[str, Mapping[str, Measured]],
    inputs: Inputs,
    remarks: Sequence[str],
) -> Result:
    rows, ratios, notes = [], [], list(remarks)
    for query, of in found.items():
        ours, theirs = of["penstock"], of[key]
        row = _row(query, ours)
        ratio: object = "-"
        if theirs.ran:
            ratio = ours.rate / theirs.rate if ours.ran else 0.0
            ratios.append(ratio)
        row |= _cells(peer.name, theirs)
        row["variant"] = theirs.variant or "-"
        row["ratio"] = ratio
        row["answers"] = theirs.answer.partition(":")[0] if theirs.ran else _short(theirs.error)
        rows.append(row)
        notes += _flat(query, "Penstock", ours) + _flat(query, peer.name, theirs)
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


def _flat(query: str, name: str, of: Measured) -> list[str]:
    text = f"{query}: {name} took no longer for the larger input, so its rate is that of the whole run"
    return [text] if of.estimated else []


def _title(inputs: Inputs) -> str:
    return (
        f"Nexmark, each query alone, {THREADS} threads, steps of {inputs.group:,} events; events/s between "
        f"{inputs.small:,} and {inputs.large:,} events."
    )


def _row(query: str, ours: Measured) -> dict[str, object]:
    return {"query": query, **_cells("Penstock", ours)}


def _cells(name: str, of: Measured) -> dict[str, object]:
    columns = (f"{name} events/s", f"{name} MB", f"{name} CPU s")
    values = (round(of.rate), round(of.peak_mb), of.cpu_s) if of.ran else ("-", "-", "-")
    return dict(zip(columns, values, strict=True))


def _short(error: str) -> str:
    return error if len(error) <= _SHOWN else f"{error[:_SHOWN]}…"
