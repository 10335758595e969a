"""What a worker reads in a fill, instead of computing it: its part of a node's output so far.

Contents are read where a node wants them and at no other time: they do not travel through levels, and are let
go after the last node that wants them. Where the whole is needed, several batches are merged into one, which
is a copy. A join needs that of one side only: the other is searched batch by batch, as in any step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from penstock.circuit.circuit import Node
from penstock.circuit.delta import Arranged, Delta, delta_of
from penstock.circuit.operator import Flow, Incremental
from penstock.circuit.operators import LookupJoin
from penstock.circuit.program import Edge, Program
from penstock.schedule.fill import Fill
from penstock.schedule.state import Arrangements
from penstock.trace import Batch
from penstock.zset import ZSet

__all__ = ["Contents"]


class Contents:
    """Reads for the computed nodes of ``fill``."""

    def __init__(self, program: Program, fill: Fill, arrangements: Arrangements) -> None:
        self._nodes, self._fill, self._arrangements = program.circuit.nodes, fill, arrangements
        self._wanted = Counter(
            edge.source for edge in program.edges if edge.source in fill.read and edge.target in fill.computed
        )
        self._made: dict[int, Flow] = {}

    def inputs_of(self, node: Node, edges: Sequence[Edge]) -> dict[int, Flow]:
        """The inputs of a computed node that are read, by the number of the edge."""
        reading = [edge for edge in edges if edge.source in self._fill.read]
        searched = self._searched(node, reading)
        return {
            edge.id: self._past(edge.source) if edge in searched else self._taken(edge.source)
            for edge in reading
        }

    def _searched(self, node: Node, reading: Sequence[Edge]) -> Sequence[Edge]:
        """The inputs that a join only has to search. Of two the larger: rows of the other are looked up."""
        if isinstance(node.operator, LookupJoin):
            return [edge for edge in reading if edge.port == 1]
        if node.operator.info.incremental is not Incremental.BILINEAR:
            return ()
        by_size = sorted(reading, key=lambda edge: sum(map(len, self._stored(edge.source))))
        return by_size if len(reading) < len(node.inputs) else by_size[1:]

    def _past(self, source: int) -> Arranged:
        """An arrangement that does not change, with all it holds."""
        self._count_down(source)
        node, stored = self._nodes[source], self._stored(source)
        flow = node.operator.contents(stored[:1])
        assert isinstance(flow, Arranged)
        return Arranged(flow.schema, flow.batch.slice(0, 0), stored)

    def _taken(self, source: int) -> Flow:
        """All rows of a node's output, as one change."""
        if source not in self._made:
            self._made[source] = self._read(self._nodes[source])
        flow = self._made[source]
        self._count_down(source)
        return flow

    def _read(self, node: Node) -> Flow:
        holder = self._nodes[self._fill.read[node.id]]
        flow = holder.operator.contents(self._stored(node.id))
        if holder is node:
            return flow
        rows = delta_of(flow).zset
        return Delta(ZSet(node.operator.schema, rows.columns, rows.weights))

    def _stored(self, source: int) -> Sequence[Batch]:
        return self._arrangements.spine(self._nodes[self._fill.read[source]].slot(0)).batches

    def _count_down(self, source: int) -> None:
        self._wanted[source] -= 1
        if not self._wanted[source]:
            self._made.pop(source, None)
