"""A worker small enough to read at a glance, for testing how workers are run and not what they run.

Three levels over integers. Level 0 sends each number to the worker that owns it; level 1 counts each number
and sends it on by its tens; level 2 sums each ten. Two views: ``counts`` (number, count) and ``totals``
(ten, sum). Some numbers are unlucky and make a certain level fail.
"""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.errors import EvaluationError, InputError
from penstock.schedule.message import AlongEdge, Message, Route
from penstock.schedule.opening import Opening, Written
from penstock.schedule.worker import Reading
from penstock.spark.runtime import Crew
from penstock.storage import BatchRef

LEVELS = 3
VIEWS = {"counts": 1, "totals": 2}
FAILS_AT_BEGIN, FAILS_AT_0, FAILS_AT_1, FAILS_AT_2, FAILS_AT_FINISH = (
    1_000_011,
    1_000_013,
    1_000_017,
    1_000_019,
    1_000_023,
)
CRASHES, KILLS = 1_000_029, 1_000_031
SLEEPS = 1_000_033
UNLUCKY = range(1_000_000, 1_000_100)


@dataclass(frozen=True)
class ToyFactory:
    folder: str
    workers: int

    def __call__(self, index: int) -> Toy:
        return Toy(Path(self.folder), index, self.workers)


@dataclass(frozen=True)
class ToySnapshot:
    worker: Toy
    entries: list[tuple[int, int, int, int]]

    def write(self) -> Written:
        return self.worker.write(self.entries)


def toy_crew(folder: Path, workers: int) -> Crew:
    return Crew("toy", workers, LEVELS, ToyFactory(str(folder), workers))


def opening_of(replies: Iterable[Written], before: Opening | None = None, version: int = 0) -> Opening:
    """The version that consists of what ``before`` had and what was written since."""
    refs = () if before is None else before.arrangements["log"]
    refs += tuple(ref for reply in replies for ref in reply.arrangements["log"])
    return Opening(version, {"log": refs})


def numbers(values: Sequence[int] | np.ndarray, target: int, edge: int = 0) -> Message:
    return Message(
        AlongEdge(edge), target, pa.record_batch({"number": pa.array(np.asarray(values, dtype=np.int64))})
    )


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


class Toy:
    def __init__(self, folder: Path, index: int, workers: int) -> None:
        self.folder, self.index, self.workers = folder, index, workers
        self.state: dict[int, Counter[int]] = {1: Counter(), 2: Counter()}
        self.log: list[tuple[int, int, int, int]] = []  # step, level, key, delta
        self.pending: list[tuple[int, int, int, int]] = []
        self.step = -1
        self.failing = False
        self.opened = 0

    def open(self, opening: Opening) -> None:
        self.opened += 1
        self.state, self.log, self.pending = {1: Counter(), 2: Counter()}, [], []
        for reference in opening.arrangements.get("log", ()):
            self.log += [tuple(entry) for entry in json.loads((self.folder / reference.segment).read_text())]
        self.log = [entry for entry in self.log if entry[2] % self.workers == self.index]
        for _, level, key, delta in self.log:
            self.state[level][key] += delta
        self.durable = len(self.log)

    def begin(self, step: int, inputs: Sequence[Message]) -> None:
        assert not self.pending, "the last step was not settled"
        self.step, self.inputs, self.failing = step, inputs, False
        if any(FAILS_AT_BEGIN in message.batch[0].to_numpy() for message in inputs):
            raise InputError("numbers", "an unlucky number", row=3, column="number")

    def merge_in_passing(self) -> None:
        pass

    def continue_merging(self) -> bool:
        return False

    def settle(self) -> None:
        pass

    def exchanging(self, routes: Collection[Route]) -> range:
        return range(LEVELS)

    def run_level(self, level: int, inbox: Sequence[Message]) -> list[Message]:
        arrived = [message.batch[0].to_numpy() for message in (self.inputs if level == 0 else inbox)]
        values = np.concatenate([np.empty(0, dtype=np.int64), *arrived])
        self.misfortune(level, values)
        if level == 0:
            return self.send(1, values, values)
        uniques, counts = np.unique(values, return_counts=True)
        if level == 1:
            self.pending += [(self.step, 1, int(k), int(d)) for k, d in zip(uniques, counts, strict=True)]
            return self.send(2, values, values // 10)
        sums = Counter()
        for key, count in zip(uniques, counts, strict=True):
            sums[int(key) // 10] += int(key * count)
        self.pending += [(self.step, 2, key, delta) for key, delta in sums.items()]
        return []

    def send(self, edge: int, values: np.ndarray, keys: np.ndarray) -> list[Message]:
        owners = keys % self.workers
        return [numbers(values[owners == w], w, edge) for w in range(self.workers) if (owners == w).any()]

    def misfortune(self, level: int, values: np.ndarray) -> None:
        unlucky = set(values[values >= UNLUCKY.start].tolist()) if len(values) else set()
        if {0: FAILS_AT_0, 1: FAILS_AT_1, 2: FAILS_AT_2}[level] in unlucky:
            raise EvaluationError("UNLUCKY", f"level {level}", view="totals", expression="x + 1")
        if CRASHES in unlucky and level == 1:
            raise ZeroDivisionError("not on purpose")
        if KILLS in unlucky and level == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if SLEEPS in unlucky and level == 1:
            time.sleep(0.3)
        if FAILS_AT_FINISH in unlucky:
            self.failing = True

    def finish(self) -> dict[str, Any]:
        if self.failing:
            raise EvaluationError("UNLUCKY", "finish")
        return {
            "worker": self.index,
            "process": os.getpid(),
            "views": {v: sum(e[1] == level for e in self.pending) for v, level in VIEWS.items()},
            "opened": self.opened,
        }

    def accept(self) -> None:
        for _, level, key, delta in self.pending:
            self.state[level][key] += delta
        self.log += self.pending
        self.pending = []

    def abort(self) -> None:
        self.pending = []

    def write(self, entries: list[tuple[int, int, int, int]]) -> Written:
        name = f"{uuid.uuid4()}.json"
        (self.folder / name).write_text(json.dumps(entries))
        return Written(self.index, {"log": (BatchRef(name, 0, 0, len(entries)),)})

    def snapshot(self, version: int) -> ToySnapshot:
        entries, self.durable = self.log[self.durable :], len(self.log)
        return ToySnapshot(self, entries)

    def flush_level(self, version: int, level: int) -> Written:
        return self.write([entry for entry in self.pending if entry[1] == level])

    def read(self, name: str, low: int) -> Reading:
        """Two rows at a time."""
        state = sorted(self.state[VIEWS[name]].items())
        some, more = state[low : low + 2], len(state) > low + 2
        columns = {"key": [k for k, _ in some], "value": [v for _, v in some]}
        return Reading([pa.record_batch(columns, schema=SCHEMA)], low + 2 if more else None)

    def changes(self, view: str, since: int) -> list[pa.RecordBatch]:
        found = [(s, k, d) for s, level, k, d in self.log if level == VIEWS[view] and s > since]
        columns = [[entry[i] for entry in found] for i in range(3)]
        return [pa.record_batch(columns, schema=pa.schema([("step", pa.int64()), *SCHEMA]))]


SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64())])
