"""The levels of a program, run for one worker: flows go from operator to operator and on to other levels.

Within a fragment operators pass their flows on directly; handoffs stand only at its border, and gather what
several messages bring. A level's messages may be addressed to later levels; they are handed on level by
level, so nothing is kept between levels but what operators staged.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.circuit.circuit import Node
from penstock.circuit.delta import Arranged, Delta
from penstock.circuit.operator import Flow
from penstock.circuit.operators import View
from penstock.circuit.program import Edge, Fragment, Program
from penstock.errors import EvaluationError
from penstock.schedule.handoff import Handoff
from penstock.schedule.message import Message, input_edge
from penstock.schedule.node_state import NodeState, StepScope
from penstock.trace import Batch

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
        self._handoffs = {e.id: Handoff(self._schema(e.source)) for e in program.edges if e.handoff}
        for node_id in program.circuit.tables.values():
            self._handoffs[input_edge(node_id)] = Handoff(self._schema(node_id))
        self._fragments = [program.fragments_at(level) for level in range(program.levels)]
        self.begin(scope)

    def _schema(self, node: int) -> pa.Schema:
        return self._program.circuit.nodes[node].operator.schema

    def begin(self, scope: StepScope) -> None:
        """Starts a step; what is left of another one is forgotten."""
        self.scope = scope
        self.changes: dict[str, Delta] = {}
        """What the step changed in each view, so far."""
        self._millis: dict[int, float] = defaultdict(float)
        self._rows_in: dict[int, int] = {}
        self._rows_out: dict[int, int] = {}
        for handoff in self._handoffs.values():
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
            if message.edge >= 0:
                edge = self._program.edges[message.edge]
                if self._program.level_of[edge.target] > level:
                    onward.append(message)
                    continue
            self._handoffs[message.edge].give(self._flow(message))
        return onward

    def _flow(self, message: Message) -> Flow:
        """What a message holds."""
        if not isinstance(message.content, pa.RecordBatch):
            return message.content
        if message.edge < 0:
            return Delta.decode(self._schema(-1 - message.edge), message.content)
        node = self._program.circuit.nodes[self._program.edges[message.edge].source]
        if node.operator.arranged:
            before = NodeState(self.scope, node).before(0)
            return Arranged(node.operator.schema, Batch.from_arrow(message.content), before)
        return Delta.decode(node.operator.schema, message.content)

    def _drain(self, edge: Edge) -> Flow:
        """What came along an edge; an arrangement that did not change is not sent, yet can be searched."""
        handoff = self._handoffs[edge.id]
        source = self._program.circuit.nodes[edge.source]
        if handoff.waiting or not source.operator.arranged:
            return handoff.drain()
        return source.operator.idle(NodeState(self.scope, source))

    def _run(self, fragment: Fragment, outbox: list[Message]) -> None:
        """One fragment: operators pass their flows on directly, handoffs only at its border."""
        flows: dict[int, Flow] = {}
        for node_id in fragment.nodes:
            node = self._program.circuit.nodes[node_id]
            inputs = [
                self._drain(edge) if edge.handoff else flows[edge.source] for edge in self._inputs[node_id]
            ]
            if not inputs and input_edge(node_id) in self._handoffs:
                inputs = [self._handoffs[input_edge(node_id)].drain()]
            flows[node_id] = flow = self._apply(node, inputs)
            for edge in self._outputs[node_id]:
                if edge.handoff:
                    self._send(edge, flow, outbox)

    def _apply(self, node: Node, inputs: list[Flow]) -> Flow:
        state = NodeState(self.scope, node)
        if not any(map(len, inputs)) and not (self.scope.opening and node.operator.opens):
            return node.operator.idle(state)
        started = time.perf_counter()
        try:
            flow = node.operator.run(inputs, state)
        except EvaluationError as error:
            views = ", ".join(self._program.circuit.views_of(node.id))
            raise error.located(views, node.operator.describe()) from error
        self._millis[node.id] += (time.perf_counter() - started) * 1000
        self._rows_in[node.id], self._rows_out[node.id] = sum(map(len, inputs)), len(flow)
        if isinstance(node.operator, View) and isinstance(flow, Delta):
            self.changes[node.operator.name] = flow
        return flow

    def _send(self, edge: Edge, flow: Flow, outbox: list[Message]) -> None:
        here, there = self._program.level_of[edge.source], self._program.level_of[edge.target]
        if here == there:
            self._handoffs[edge.id].give(flow)
        elif edge.exchange:
            assert isinstance(flow, Delta)
            outbox += [Message(edge.id, target, part) for target, part in self.scope.layout.split(flow)]
        elif len(flow):
            outbox.append(Message(edge.id, self.scope.worker, flow))
