"""One worker: runs the program's levels on its share of the keys.

The same object serves both ways of running. A *resident* worker lives in a barrier task, runs step after
step and commits now and then. A *staged* one is made by a Spark task for one level of one step. Either
way a step goes ``begin``, ``run_level`` for each level with the messages of the level before, ``finish``,
and then ``accept`` or ``abort``; nothing an operator stages is visible before ``accept``, so an aborted
step leaves no trace.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.circuit.circuit import Node
from penstock.circuit.layout import Layout
from penstock.circuit.operators import PassingTable, Table
from penstock.circuit.program import Program
from penstock.errors import PipelineError
from penstock.schedule.background import give_way
from penstock.schedule.change_log import ChangeLog, with_step
from penstock.schedule.files import FileShare
from penstock.schedule.fill import Fill, plan_fill
from penstock.schedule.levels import Levels
from penstock.schedule.memory import MemoryBudget, usual_budget
from penstock.schedule.message import FILE_LEVEL, InputFiles, Message, PushedRows, Route
from penstock.schedule.node_state import StepScope
from penstock.schedule.opening import Opening, Written
from penstock.schedule.snapshot import Snapshot, joined
from penstock.schedule.state import Arrangements
from penstock.storage import Backend, BatchRef, Pool, open_backend
from penstock.trace import read_from
from penstock.trace.stored import private
from penstock.zset import HashSeed, ZSet

__all__ = ["Reading", "Worker", "make_worker"]

READ_BYTES = 32 << 20
"""About how much of a table or view is read at a time."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Rows of a table or view, and the order word to go on from; None if these were the last."""

    batches: Sequence[pa.RecordBatch]
    next_low: int | None


class Worker:
    """Worker number ``worker`` of ``layout.workers``."""

    def __init__(
        self,
        program: Program,
        worker: int,
        layout: Layout,
        backend: Backend,
        seed: HashSeed,
        *,
        compact: bool = False,
        memory: MemoryBudget | None = None,
        retained_steps: int = 1000,
    ) -> None:
        """Without a budget of ``memory``, workers share that of the machine."""
        self.program, self.worker, self.layout = program, worker, layout
        self.backend, self.seed = backend, seed
        self._compact = compact
        self._memory = memory or MemoryBudget(usual_budget(layout.workers))
        self._merger: Executor | None = None
        self._arrangements = self._opened(0, {})
        self._fill: Fill | None = None
        self._levels = Levels(program, self._scope())
        self._read = {node: program.circuit.columns_read(node) for node in program.circuit.tables.values()}
        self._exchanging: dict[frozenset[Route], frozenset[int]] = {}
        self._step = 0
        self._files: list[Message] = []
        self._pushed: list[Message] = []
        self._checksums: dict[str, int] = {}  # of what was read of files
        self._changes = ChangeLog(retained_steps)

    def _scope(self) -> StepScope:
        return StepScope(self.seed, self.layout, self.worker, self._arrangements, self._fill)

    def _clear(self) -> None:
        self._levels.begin(self._scope())
        self._checksums = {}

    # ---- life cycle -------------------------------------------------------------------------------

    def merge_in_passing(self) -> None:
        """From :meth:`open` on, large batches are merged by another thread. For workers that live on: one
        that ends with the step would never see the result."""
        self._merger = ThreadPoolExecutor(1, thread_name_prefix="penstock-merge", initializer=give_way)

    def open(self, opening: Opening) -> None:
        """Opens the state of a version."""
        self._arrangements = self._opened(opening.version, opening.arrangements)
        missing = opening.missing
        self._fill = plan_fill(self.program, missing, self.layout.workers) if missing else None
        self._changes.clear()
        self._clear()

    def _opened(self, version: int, stored: Mapping[str, Sequence[BatchRef]]) -> Arrangements:
        owners = {slot: node.operator for slot, node in self.program.slots.items()}
        return Arrangements(
            self.backend,
            self.layout,
            self.worker,
            stored,
            owners,
            self.seed,
            version=version,
            compact=self._compact,
            memory=self._memory,
            merger=self._merger,
        )

    def begin(self, step: int, inputs: Sequence[Message]) -> None:
        """Starts a step with the rows pushed to this worker's share of the tables."""
        self._clear()
        self._step = step
        self._arrangements.turns.step_began()
        self._arrangements.pool.trim()
        if self._fill is not None and inputs:
            raise PipelineError("the step that fills new arrangements takes no input")
        self._files = [message for message in inputs if isinstance(message.route, InputFiles)]
        self._pushed = [message for message in inputs if isinstance(message.route, PushedRows)]

    def exchanging(self, routes: Collection[Route]) -> frozenset[int]:
        """The levels after which an exchange is needed, in the step that was begun, if input comes on
        ``routes`` to any worker. All workers find the same."""
        if self._fill is not None:
            return self._fill.exchanging(self.program)
        inputs = frozenset(routes)
        if inputs not in self._exchanging:
            files = {route.table for route in inputs if isinstance(route, InputFiles)}
            rows = {route.table for route in inputs if isinstance(route, PushedRows)}
            found = self.program.exchanging(files | rows)
            dealt = any(self._table(node).routing is not None for node in files)
            self._exchanging[inputs] = found | {FILE_LEVEL} if dealt else found
        return self._exchanging[inputs]

    def _table(self, node: int) -> Table | PassingTable:
        table = self.program.circuit.nodes[node].operator
        assert isinstance(table, Table | PassingTable)
        return table

    def run_level(self, level: int, inbox: Sequence[Message]) -> list[Message]:
        """Runs the fragments of a level and returns what they send, to others and to this worker."""
        if level == FILE_LEVEL:
            return self._read_files()
        if level == 0:
            inbox = [*inbox, *self._pushed]
        return self._levels.run(level, inbox)

    def finish(self) -> dict[str, Any]:
        """What the step did here: changed rows per view, counters, time and rows per node."""
        self._arrangements.turns.step_ended()
        done = {"worker": self.worker, "step": self._step, **self._levels.done()}
        if self._changes.nbytes > self._memory.changes:
            done["commit_soon"] = True
        return {**done, "file_checksums": self._checksums} if self._checksums else done

    def accept(self) -> None:
        """Makes the step part of the state."""
        held = self._changes.nbytes
        self._changes.accept(self._step, {view: delta.zset for view, delta in self._levels.changes.items()})
        self._arrangements.added(max(0, self._changes.nbytes - held))
        for slot, batch in self._levels.scope.staged:
            self._arrangements.added(batch.nbytes)
            self._arrangements.spine(slot).insert(batch)
        self._arrangements.continue_merging()
        self._arrangements.make_room()
        self._fill = None
        self._clear()

    def abort(self) -> None:
        """Forgets the step."""
        self._arrangements.turns.step_ended()
        self._clear()

    def continue_merging(self) -> bool:
        """To be called while no step comes: merges what steps left for later. False if nothing is left."""
        return self._arrangements.continue_merging()

    def settle(self) -> None:
        """The same, and waits for it."""
        self._arrangements.settle()

    # ---- durability and reading -------------------------------------------------------------------

    def snapshot(self, version: int) -> Snapshot:
        """What a commit of ``version`` has to write, for another thread to write it while steps go on.

        The same version again means that nobody published what was written for it."""
        return self._snapshot(version, self.program.slots)

    def flush_level(self, version: int, level: int) -> Written:
        """Accepts and writes what one level staged (a staged step: levels run in different tasks)."""
        nodes = [node for node in self.program.circuit.nodes if self.program.level_of[node.id] == level]
        self.accept()
        slots = [node.slot(i) for node in nodes for i in range(node.operator.slots)]
        return self._snapshot(version, slots).write()

    def _snapshot(self, version: int, slots: Sequence[str] | Mapping[str, Node]) -> Snapshot:
        return self._arrangements.snapshot(version, slots, self._changes.unwritten(version))

    def read(self, name: str, low: int = 0) -> Reading:
        """Some of this worker's rows of a table or view, from the order word ``low`` on, with their weights:
        at least one batch. The blocks that are read do not stay, so that a large view does not drive out what
        steps need."""
        circuit = self.program.circuit
        node = circuit.nodes[circuit.tables[name] if name in circuit.tables else circuit.views[name]]
        schema = node.operator.schema
        batches = [
            private(batch, Pool(READ_BYTES)) for batch in self._arrangements.spine(node.slot(0)).batches
        ]
        pieces, next_low = read_from(batches, low, READ_BYTES)
        found = [row for piece in pieces for row in ZSet(schema, piece.values, piece.weights).to_batches()]
        return Reading(found or ZSet.empty(schema).to_batches(), next_low)

    def changes(self, view: str, since: int) -> list[pa.RecordBatch]:
        """The changes of a view after step ``since`` that may not be in a manifest yet: at least one batch.

        Those of the last commit are still here, because only the next one tells that it was published:
        ``since`` is at least the step of the newest manifest."""
        node = self.program.circuit.nodes[self.program.circuit.views[view]]
        empty = with_step(ZSet.empty(node.operator.schema), 0)
        return joined([*empty, *self._changes.since(view, since)])

    # ---- files ------------------------------------------------------------------------------------

    def _read_files(self) -> list[Message]:
        """The level before the first: reads this worker's shares and sends every row to its owner, which it
        is itself where rows may be anywhere. What was pushed is handed on to level 0."""
        outbox, self._pushed = self._pushed, []
        for name, node in self.program.circuit.tables.items():
            table = self._table(node)
            for message in self._files:
                if message.route == InputFiles(node):
                    share = FileShare.decode(message.batch)
                    rows, found = share.read(name, table.schema, table.routing, self.seed, self._read[node])
                    self._checksums |= {f"{share.path}\n{chunk}": value for chunk, value in found.items()}
                    parts = [(self.worker, rows)] if rows.keys is None else self.layout.split(rows)
                    outbox += [Message(PushedRows(node), owner, part) for owner, part in parts]
        return outbox


def make_worker(
    program: Program,
    layout: Layout,
    url: str,
    seed: HashSeed,
    compact: bool,
    memory: MemoryBudget | None,
    retained_steps: int,
    worker: int,
) -> Worker:
    """Runs in the worker's process: state is opened there, nothing but the program is shipped."""
    return Worker(
        program,
        worker,
        layout,
        open_backend(url),
        seed,
        compact=compact,
        memory=memory,
        retained_steps=retained_steps,
    )
