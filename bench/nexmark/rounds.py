"""One round of a query: every system runs it over the smaller and the larger input, in a process of its own.

Systems may have variants. The first round tries all of them on the smaller input; the fastest goes on, in
later rounds too. Then answers are compared, on the smaller input, in a run that is not timed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bench.machine import commit
from bench.nexmark.answers import compared
from bench.nexmark.measured import Inputs, Measured, Round
from bench.nexmark.systems import Peer, Penstock, System
from bench.peers import PeerMissingError
from bench.peers.watch import PeerFailedError, PeerTimeoutError, Watched

__all__ = ["run_round", "slope"]


def run_round(
    query: str, turn: int, peers: Mapping[str, Peer], inputs: Inputs, before: Mapping[str, Measured]
) -> dict[str, Measured]:
    """What was measured ``before``, with one round more. With each ``turn`` another system begins, and every
    other time they go the other way round: nobody always comes after the same one."""
    systems: dict[str, System] = {"penstock": Penstock(), **peers}
    names = list(systems)
    way = -1 if turn % 2 else 1
    found: dict[str, Measured] = {}
    for name in (names[(turn + way * place) % len(names)] for place in range(len(names))):
        found[name] = deepcopy(before.get(name, Measured()))  # a round that is broken off leaves no trace
        if not found[name].error:
            _timed(systems[name], query, inputs, found[name])
        print(f"  {query} {systems[name].name}: {found[name].line()}", flush=True)
    unknown = {name: peer for name, peer in peers.items() if found[name].ran and not found[name].answer}
    if unknown:
        with tempfile.TemporaryDirectory(prefix="nexmark-") as folder:
            ours = _our_answer(query, inputs, Path(folder))
            for name, peer in unknown.items():
                path = Path(folder) / name
                found[name].answer = _answered(peer, query, found[name].variant, inputs, path, ours)
                print(f"  {query} {peer.name}: answer {found[name].answer}", flush=True)
    return found


def _timed(system: System, query: str, inputs: Inputs, found: Measured) -> None:
    """Adds a round to what was found, or the reason why there is none."""
    try:
        if found.ran or found.variant:
            small = _run(system, query, found.variant, inputs.small, inputs)
            large = _run(system, query, found.variant, inputs.large, inputs)
        else:
            found.variant, small, large = _fastest(system, query, inputs)
    except (PeerFailedError, PeerMissingError) as problem:
        if found.ran:
            found.failures.append(str(problem))
        else:
            found.error = str(problem)
        return
    rate, flat = slope(inputs.small, _seconds(small), inputs.large, _seconds(large))
    found.rounds.append(Round(rate, large.peak_mb, large.cpu_s - small.cpu_s, flat, commit()))


def _fastest(system: System, query: str, inputs: Inputs) -> tuple[str, Watched, Watched]:
    """The variant that is fastest on the smaller input and can do the larger one, with its two runs."""
    tried: dict[str, Watched] = {}
    problems: list[PeerFailedError] = []
    for variant in system.variants(query)[: inputs.variants]:
        try:
            tried[variant] = _run(system, query, variant, inputs.small, inputs)
        except PeerFailedError as failed:
            problems.append(failed)
    for variant in sorted(tried, key=lambda variant: _seconds(tried[variant])):
        try:
            return variant, tried[variant], _run(system, query, variant, inputs.large, inputs)
        except PeerTimeoutError:
            raise  # the others are slower
        except PeerFailedError as failed:
            problems.append(failed)
    raise problems[0]


def _run(system: System, query: str, variant: str, size: int, inputs: Inputs) -> Watched:
    files = inputs.files(system, size)
    return system.run(query, files, variant, None, timeout_s=inputs.timeout_s)


def _seconds(run: Watched) -> float:
    return float(run.answer["seconds"])


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
