"""Workers in this process, without Spark: W worker objects that exchange their messages through lists.

Both ways of running a step are here, as the two runtimes run it: *resident* workers live from step to step,
*staged* ones are made anew for every level of every step and keep nothing but what they wrote. Both implement
:class:`penstock.spark.runtime.Runtime`, so the coordinator can be tested over them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.circuit.layout import Layout
from penstock.circuit.program import Program
from penstock.errors import PipelineError
from penstock.schedule import Message, Worker
from penstock.storage import Backend, MemoryBackend
from penstock.zset import HashSeed, ReferenceZSet, ZSet

SEED = HashSeed(0x5EED5EED5EED5EED, 0x0123456789ABCDEF)

Body = Mapping[str, Any]
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
    return Message(message.edge, message.target, pa.ipc.open_stream(sink.getvalue()).read_next_batch())


class Resident:
    """Workers that keep their state in memory between steps."""

    commits_every_step = False

    def __init__(
        self, program: Program, workers: int, backend: Backend | None = None, seed: HashSeed = SEED
    ) -> None:
        self.program, self.layout, self.seed = program, Layout.even(workers), seed
        self.backend = backend if backend is not None else MemoryBackend()
        self.workers: list[Worker] = []
        self.pending = False

    def make_worker(self, worker: int) -> Worker:
        """A new worker object, which knows nothing."""
        return Worker(self.program, worker, self.layout, self.backend, self.seed)

    def open(self, body: Body) -> None:
        self.workers = [self.make_worker(w) for w in range(self.layout.workers)]
        for worker in self.workers:
            worker.merge_in_passing()
            worker.open(json.loads(json.dumps(body)))
        self.pending = False

    def step(self, step: int, inputs: Sequence[Message], meanwhile: Meanwhile = None) -> list[dict[str, Any]]:
        assert not self.pending
        if meanwhile is not None:
            meanwhile()
        try:
            for worker in self.workers:
                worker.begin(step, [over_the_wire(m) for m in inputs if m.target == worker.worker])
            exchange(self.program, self.layout, self._runner({m.edge for m in inputs}))
        except BaseException:
            for worker in self.workers:
                worker.abort()
            raise
        self.pending = True
        return [json.loads(json.dumps(worker.finish())) for worker in self.workers]

    def _runner(self, edges: set[int]) -> Callable[[int, int, list[Message]], list[Message]]:
        exchanging = {worker.exchanging(sorted(edges)) for worker in self.workers}
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

    def commit(self, version: int) -> list[dict[str, Any]]:
        return [json.loads(json.dumps(worker.snapshot(version).write())) for worker in self.workers]

    def begin_commit(self, version: int) -> None:
        """Snapshots now; what was begun is written when somebody asks for it the second time, so that there
        are always steps in between."""
        self.snapshots = [worker.snapshot(version) for worker in self.workers]
        self.asked = 0

    def written(self) -> list[dict[str, Any]] | None:
        self.asked += 1
        return self.finish_commit() if self.asked > 1 else None

    def finish_commit(self) -> list[dict[str, Any]]:
        return [json.loads(json.dumps(snapshot.write())) for snapshot in self.snapshots]

    def committed(self, version: int, body: Body) -> None:
        pass

    def read(self, name: str) -> pa.Table:
        return pa.Table.from_batches([worker.read(name) for worker in self.workers])

    def changes(self, view: str, since: int) -> pa.Table:
        return pa.Table.from_batches([worker.changes(view, since) for worker in self.workers])

    def close(self) -> None:
        self.workers, self.pending = [], False


class Staged(Resident):
    """A new worker for every level of every step; a step exists once it is committed."""

    commits_every_step = True

    def open(self, body: Body) -> None:
        self.body = json.loads(json.dumps(body))
        self.version = 0
        self.replies: list[dict[str, Any]] | None = None
        self.pending = False

    def step(self, step: int, inputs: Sequence[Message], meanwhile: Meanwhile = None) -> list[dict[str, Any]]:
        if self.pending or self.replies is not None:
            raise PipelineError("the last step was not settled and committed")
        if meanwhile is not None:
            meanwhile()
        replies: list[dict[str, Any]] = []
        reports: list[dict[str, Any]] = []

        def run(level: int, w: int, inbox: list[Message]) -> list[Message]:
            worker = self.make_worker(w)
            worker.open(copy.deepcopy(self.body))
            worker.begin(step, [m for m in inputs if m.target == w] if level == 0 else [])
            sent = worker.run_level(level, inbox)
            reports.append(json.loads(json.dumps(worker.finish())))
            replies.append(json.loads(json.dumps(worker.flush_level(self.version + 1, level))))
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

    def commit(self, version: int) -> list[dict[str, Any]]:
        return list(self.replies or ())

    def committed(self, version: int, body: Body) -> None:
        self.version, self.body, self.replies = version, json.loads(json.dumps(body)), None

    def _opened(self) -> list[Worker]:
        workers = [self.make_worker(w) for w in range(self.layout.workers)]
        for worker in workers:
            worker.open(copy.deepcopy(self.body))
        return workers

    def read(self, name: str) -> pa.Table:
        return pa.Table.from_batches([worker.read(name) for worker in self._opened()])

    def changes(self, view: str, since: int) -> pa.Table:
        return pa.Table.from_batches([worker.changes(view, since) for worker in self._opened()])


def body_of(program: Program, replies: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The part of a manifest that workers open, from what they said they wrote."""
    arrangements: dict[str, list[Any]] = {slot: [] for slot in program.slots}
    for reply in replies:
        for slot, refs in reply["arrangements"].items():
            arrangements[slot] += refs
    return {"arrangements": arrangements, "opening": []}


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
