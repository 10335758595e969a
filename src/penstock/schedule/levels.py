"""The levels of a program, run for one worker: flows go from operator to operator and on to other levels.

Within a fragment operators pass their flows on directly; handoffs stand only at its border, and gather what
several messages bring. A level's messages may be addressed to later levels; they are handed on level by
level, so nothing is kept between levels but what operators staged.

In a fill only the nodes run that it needs; what exists is read (:mod:`penstock.schedule.contents`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from penstock.circuit.circuit import Node
from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.operator import Flow
from penstock.circuit.operators import View
from penstock.circuit.program import Edge, Fragment, Program
from penstock.errors import EvaluationError, PipelineError
from penstock.schedule.contents import Contents
from penstock.schedule.handoff import Handoff
from penstock.schedule.message import AlongEdge, Message, PushedRows
from penstock.schedule.node_state import NodeState, StepScope
from penstock.trace import Batch, prefetch

__all__ = ["Levels"]


class Levels:
    """Runs one level after the other of the step that was begun, in its ``scope``."""

    def __init__(self, program: Program, scope: StepScope) -> None:
        self._program = program
        self._inputs: dict[int, list[Edge]] = defaultdict(list)
        self._outputs: dict[int, list[Edge]] = defaultdict(list)
        for edge in program.edges:  # an edge into a later port has a higher number
            self._inputs[edge.target].append(edge)
            self._outputs[edge.source].append(edge)
        self._along = {e.id: Handoff(self._schema(e.source)) for e in program.edges if e.handoff}
        self._pushed = {node: Handoff(self._schema(node)) for node in program.circuit.tables.values()}
        self._fragments = [program.fragments_at(level) for level in range(program.levels)]
        self.begin(scope)

    def _schema(self, node: int) -> pa.Schema:
        return self._program.circuit.nodes[node].operator.schema

    def begin(self, scope: StepScope) -> None:
        """Starts a step; what is left of another one is forgotten."""
        self.scope = scope
        fill = scope.fill
        self._contents = None if fill is None else Contents(self._program, fill, scope.arrangements)
        self.changes: dict[str, Delta] = {}
        """What the step changed in each view, so far."""
        self._millis: dict[int, float] = defaultdict(float)
        self._rows_in: dict[int, int] = {}
        self._rows_out: dict[int, int] = {}
        for handoff in chain(self._along.values(), self._pushed.values()):
            handoff.clear()

    def run(self, level: int, inbox: Sequence[Message]) -> list[Message]:
        """Runs the fragments of a level and returns what they send, to others and to this worker."""
        outbox = self._receive(inbox, level)
        for fragment in self._fragments[level]:
            self._run(fragment, outbox)
        return outbox

    def done(self) -> dict[str, Any]:
        """What the step did so far: changed rows per view, counters, time and rows per node."""
        return {
            "views": {name: len(delta) for name, delta in self.changes.items()},
            "counters": dict(self.scope.counters),
            "node_ms": {str(node): round(ms, 3) for node, ms in self._millis.items()},
            "rows_in": {str(node): rows for node, rows in self._rows_in.items()},
            "rows_out": {str(node): rows for node, rows in self._rows_out.items()},
        }

    def _receive(self, messages: Sequence[Message], level: int) -> list[Message]:
        """Puts messages into handoffs; those for later levels are handed on."""
        onward: list[Message] = []
        for message in messages:
            match message.route:
                case PushedRows(table):
                    rows = self._rows(table, message.content)
                    self._read_ahead(table, rows)
                    self._pushed[table].give(rows)
                case AlongEdge(number):
                    edge = self._program.edges[number]
                    if self._program.level_of[edge.target] > level:
                        onward.append(message)
                    else:
                        flow = self._flow(edge, message.content)
                        self._read_ahead(edge.target, flow)
                        self._along[number].give(flow)
                case other:
                    raise PipelineError(f"no level takes {other}; this is a defect of Penstock")
        return onward

    def _read_ahead(self, node: int, flow: Flow) -> None:
        """Starts to read what will be looked up for rows that came to a node, for all nodes of a level before
        the first one runs, where waiting takes long."""
        arrangements = self.scope.arrangements
        if not arrangements.are_remote or self.scope.fill is not None:
            return
        if isinstance(flow, Delta) and flow.keys is not None:
            for slot in self._looked_up(node):
                prefetch(arrangements.spine(slot).batches, flow.keys)

    def _looked_up(self, node_id: int) -> list[str]:
        """The arrangements in which the keys of rows that come to a node are looked up: its own, or, if it
        arranges its rows for others, those that they are matched with."""
        nodes = self._program.circuit.nodes
        node = nodes[node_id]
        if not node.operator.arranged:
            return [node.slot(i) for i in range(node.operator.slots)]
        targets = {edge.target for edge in self._outputs[node_id]}
        matched = {edge.source for target in targets for edge in self._inputs[target]} - {node_id}
        return [
            nodes[other].slot(0)
            for other in sorted(matched)
            if nodes[other].operator.arranged and nodes[other].operator.slots
        ]

    def _rows(self, table: int, content: pa.RecordBatch | Flow) -> Flow:
        """Rows that were pushed to a table."""
        return Delta.decode(self._schema(table), content) if isinstance(content, pa.RecordBatch) else content

    def _flow(self, edge: Edge, content: pa.RecordBatch | Flow) -> Flow:
        """What came along an edge, from this worker or another."""
        if not isinstance(content, pa.RecordBatch):
            return content
        node = self._program.circuit.nodes[edge.source]
        if node.operator.arranged:
            before = NodeState(self.scope, node).before(0)
            return Arranged(node.operator.schema, Batch.from_arrow(content), before)
        return Delta.decode(node.operator.schema, content)

    def _drain(self, edge: Edge) -> Flow:
        """What came along an edge; an arrangement that did not change is not sent, yet can be searched."""
        handoff = self._along[edge.id]
        source = self._program.circuit.nodes[edge.source]
        if handoff.waiting or not source.operator.arranged:
            return handoff.drain()
        return source.operator.idle(NodeState(self.scope, source))

    def _run(self, fragment: Fragment, outbox: list[Message]) -> None:
        """One fragment: operators pass their flows on directly, handoffs only at its border."""
        flows: dict[int, Flow] = {}
        fill = self.scope.fill
        for node_id in fragment.nodes:
            if fill is not None and node_id not in fill.computed:
                continue
            node, edges = self._program.circuit.nodes[node_id], self._inputs[node_id]
            read = {} if self._contents is None else self._contents.inputs_of(node, edges)
            inputs = [
                read[edge.id]
                if edge.id in read
                else (self._drain(edge) if edge.handoff else flows[edge.source])
                for edge in edges
            ]
            if not inputs and (pushed := self._pushed.get(node_id)) is not None:
                inputs = [pushed.drain()]
            flows[node_id] = flow = self._apply(node, inputs)
            for edge in self._outputs[node_id]:
                if edge.handoff and (fill is None or edge.target in fill.computed):
                    self._send(edge, flow, outbox)

    def _apply(self, node: Node, inputs: list[Flow]) -> Flow:
        state = NodeState(self.scope, node)
        if not any(map(len, inputs)) and not (state.opening and node.operator.opens):
            return node.operator.idle(state)
        started = time.perf_counter()
        try:
            flow = node.operator.run(inputs, state)
        except EvaluationError as error:
            views = ", ".join(self._program.circuit.views_of(node.id))
            raise error.located(views, node.operator.describe()) from error
        self._millis[node.id] += (time.perf_counter() - started) * 1000
        self._rows_in[node.id], self._rows_out[node.id] = sum(map(len, inputs)), len(flow)
        if isinstance(node.operator, View) and isinstance(flow, Delta) and self.scope.keeps(node.slot(0)):
            self.changes[node.operator.name] = flow
        return flow

    def _send(self, edge: Edge, flow: Flow, outbox: list[Message]) -> None:
        here, there = self._program.level_of[edge.source], self._program.level_of[edge.target]
        if here == there:
            self._along[edge.id].give(flow)
        elif edge.exchange:
            assert isinstance(flow, Delta)
            outbox += [
                Message(AlongEdge(edge.id), target, part) for target, part in self.scope.layout.split(flow)
            ]
        elif len(flow):
            outbox.append(Message(AlongEdge(edge.id), self.scope.worker, flow))
