"""Workers in this process, without Spark: W worker objects that exchange their messages through lists.

Both ways of running a step are here, as the two runtimes run it: *resident* workers live from step to step,
*staged* ones are made anew for every level of every step and keep nothing but what they wrote. Both implement
:class:`penstock.spark.runtime.Runtime`, so the coordinator can be tested over them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import PipelineError
from penstock.schedule import Message, Worker
from penstock.schedule.memory import MemoryBudget
from penstock.schedule.message import Route
from penstock.schedule.opening import Opening, Written
from penstock.spark.runtime import rows_of
from penstock.storage import Backend, BatchRef, MemoryBackend
from penstock.zset import HashSeed, ReferenceZSet, ZSet

SEED = HashSeed(0x5EED5EED5EED5EED, 0x0123456789ABCDEF)

_Shipped = TypeVar("_Shipped", Opening, Written)
Meanwhile = Callable[[], None] | None


def exchange(
    program: Program, layout: Layout, run: Callable[[int, int, list[Message]], list[Message]]
) -> None:
    """Runs all levels on all workers; ``run(level, worker, inbox)`` gives what a worker sends."""
    inboxes: list[list[Message]] = [[] for _ in range(layout.workers)]
    for level in range(program.levels):
        outgoing = [run(level, w, inboxes[w]) for w in range(layout.workers)]
        inboxes = [[] for _ in range(layout.workers)]
        for message in (message for messages in outgoing for message in messages):
            inboxes[message.target].append(over_the_wire(message))
    assert not any(inboxes), "the last level sent something"


def over_the_wire(message: Message) -> Message:
    """The message as it arrives elsewhere: in memory of its own."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, message.batch.schema) as writer:
        writer.write_batch(message.batch)
    return Message(message.route, message.target, pa.ipc.open_stream(sink.getvalue()).read_next_batch())


class Resident:
    """Workers that keep their state in memory between steps."""

    commits_every_step = False
    memory: MemoryBudget | None = None

    def __init__(
        self, program: Program, workers: int, backend: Backend | None = None, seed: HashSeed = SEED
    ) -> None:
        self.program, self.layout, self.seed = program, Layout.even(workers), seed
        self.backend = backend if backend is not None else MemoryBackend()
        self.workers: list[Worker] = []
        self.pending = False

    def make_worker(self, worker: int) -> Worker:
        """A new worker object, which knows nothing."""
        return Worker(self.program, worker, self.layout, self.backend, self.seed, memory=self.memory)

    def open(self, opening: Opening) -> None:
        self.workers = [self.make_worker(w) for w in range(self.layout.workers)]
        for worker in self.workers:
            worker.merge_in_passing()
            worker.open(shipped(opening))
        self.pending = False

    def step(self, step: int, inputs: Sequence[Message], meanwhile: Meanwhile = None) -> list[dict[str, Any]]:
        assert not self.pending
        if meanwhile is not None:
            meanwhile()
        try:
            for worker in self.workers:
                worker.begin(step, [over_the_wire(m) for m in inputs if m.target == worker.worker])
            exchange(self.program, self.layout, self._runner({m.route for m in inputs}))
        except BaseException:
            for worker in self.workers:
                worker.abort()
            raise
        self.pending = True
        return [json.loads(json.dumps(worker.finish())) for worker in self.workers]

    def _runner(self, routes: set[Route]) -> Callable[[int, int, list[Message]], list[Message]]:
        exchanging = {worker.exchanging(routes) for worker in self.workers}
        assert len(exchanging) == 1, "workers must agree on when to exchange"
        [needed] = exchanging

        def run(level: int, w: int, inbox: list[Message]) -> list[Message]:
            sent = self.workers[w].run_level(level, inbox)
            assert level in needed or all(message.target == w for message in sent), "nobody would get it"
            return sent

        return run

    def accept(self) -> None:
        assert self.pending
        self.pending = False
        for worker in self.workers:
            worker.accept()

    def abort(self) -> None:
        self.pending = False
        for worker in self.workers:
            worker.abort()

    def settle(self) -> None:
        for worker in self.workers:
            worker.settle()

    def commit(self, version: int) -> list[Written]:
        return [shipped(worker.snapshot(version).write()) for worker in self.workers]

    def begin_commit(self, version: int) -> None:
        """Snapshots now; what was begun is written when somebody asks for it the second time, so that there
        are always steps in between."""
        self.snapshots = [worker.snapshot(version) for worker in self.workers]
        self.asked = 0

    def written(self) -> list[Written] | None:
        self.asked += 1
        return self.finish_commit() if self.asked > 1 else None

    def finish_commit(self) -> list[Written]:
        return [shipped(snapshot.write()) for snapshot in self.snapshots]

    def committed(self, version: Opening) -> None:
        pass

    def read(self, name: str) -> pa.Table:
        return pa.Table.from_batches([part for worker in self.workers for part in rows_of(worker, name)])

    def changes(self, view: str, since: int) -> pa.Table:
        return pa.Table.from_batches([part for w in self.workers for part in w.changes(view, since)])

    def close(self) -> None:
        self.workers, self.pending = [], False


class Staged(Resident):
    """A new worker for every level of every step; a step exists once it is committed."""

    commits_every_step = True

    def open(self, opening: Opening) -> None:
        self.opening = shipped(opening)
        self.replies: list[Written] | None = None
        self.pending = False

    def step(self, step: int, inputs: Sequence[Message], meanwhile: Meanwhile = None) -> list[dict[str, Any]]:
        if self.pending or self.replies is not None:
            raise PipelineError("the last step was neither accepted and committed nor aborted")
        if meanwhile is not None:
            meanwhile()
        replies: list[Written] = []
        reports: list[dict[str, Any]] = []

        def run(level: int, w: int, inbox: list[Message]) -> list[Message]:
            worker = self.make_worker(w)
            worker.open(shipped(self.opening))
            worker.begin(step, [m for m in inputs if m.target == w] if level == 0 else [])
            sent = worker.run_level(level, inbox)
            reports.append(json.loads(json.dumps(worker.finish())))
            replies.append(shipped(worker.flush_level(self.opening.version + 1, level)))
            return sent

        exchange(self.program, self.layout, run)
        self.pending, self.replies = True, replies
        return reports

    def accept(self) -> None:
        assert self.pending
        self.pending = False

    def abort(self) -> None:
        self.pending, self.replies = False, None

    def settle(self) -> None:
        pass

    def commit(self, version: int) -> list[Written]:
        return list(self.replies or ())

    def committed(self, version: Opening) -> None:
        self.opening, self.replies = shipped(version), None

    def _opened(self) -> list[Worker]:
        workers = [self.make_worker(w) for w in range(self.layout.workers)]
        for worker in workers:
            worker.open(shipped(self.opening))
        return workers

    def read(self, name: str) -> pa.Table:
        return pa.Table.from_batches([part for worker in self._opened() for part in rows_of(worker, name)])

    def changes(self, view: str, since: int) -> pa.Table:
        return pa.Table.from_batches([part for w in self._opened() for part in w.changes(view, since)])


def opening_of(program: Program, replies: Iterable[Written], version: int = 0) -> Opening:
    """The version that workers open, from what they said they wrote."""
    arrangements: dict[str, tuple[BatchRef, ...]] = dict.fromkeys(program.slots, ())
    for reply in replies:
        for slot, refs in reply.arrangements.items():
            arrangements[slot] += refs
    return Opening(version, arrangements)


def filling(opening: Opening, program: Program) -> Opening:
    """The same version, to be opened by a program that has more."""
    return replace(opening, missing=tuple(sorted(set(program.slots) - set(opening.arrangements))))


def shipped(value: _Shipped) -> _Shipped:
    """A value as it arrives in another process."""
    return type(value).from_json(json.loads(json.dumps(value.to_json())))


def zset_of(table: pa.Table, hidden: int = 1) -> ReferenceZSet:
    """Rows with their weights (the column ``hidden`` from the end) as a reference Z-set."""
    weight = table.num_columns - hidden
    columns = table.combine_chunks().columns[:weight]
    rows = ZSet.of(
        pa.Table.from_arrays(columns, names=[f"c{i}" for i in range(weight)])
        if columns
        else pa.table({"none": pa.nulls(table.num_rows)}),
        table.column(weight).to_numpy(),
    )
    return ReferenceZSet.of(rows)
