"""Which nodes run when new arrangements are filled, and which are read instead. A pure function.

A version names the arrangements that exist. A program with new views has more, and these are filled in a step
without input, in which every stream that flows carries all of its rows. Only what is new has to compute:

- A node with a missing arrangement is *computed*.
- A node that exists and is wanted by a computed one is *read* if its output lies somewhere: in its own
  arrangement (a table, an arrangement for joins) or in that of a node which keeps all it is given (a view
  over it, an arrangement of it by some key).
- A node in between that keeps no output (a join, an aggregate) is computed as well, from what it reads or
  computes in turn. What it stages is dropped: its own arrangements exist.
- Nobody else does anything.

**Where rows are.** Rows that are read from a view, or from an arrangement by another key, are on other
workers than the node's own output is. That is fine on the way to an exchange or to the end of a view. Where a
node relies on the place of its rows (a join on the columns just grouped by needs no exchange), what it is
given is not read from there, but computed.

**Bits.** Stored rows stand for a stream only if they are its rows to the bit
(:mod:`penstock.circuit.canonical`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from penstock.circuit.canonical import canonical_nodes
from penstock.circuit.circuit import Node
from penstock.circuit.operators import Arrange, Index, Union, View
from penstock.circuit.program import Edge, Program

__all__ = ["Fill", "plan_fill"]


@dataclass(frozen=True)
class Fill:
    """What a fill does. A node that is neither computed nor read takes no part."""

    slots: frozenset[str]
    """The arrangements that are new."""
    computed: frozenset[int]
    read: Mapping[int, int]
    """Nodes whose output is read, each with the node whose arrangement 0 holds it."""

    def exchanging(self, program: Program) -> frozenset[int]:
        """The levels at whose end workers may have something for each other."""
        return frozenset(
            program.level_of[edge.source]
            for edge in program.edges
            if edge.exchange and edge.source in self.computed and edge.target in self.computed
        )


def plan_fill(program: Program, missing: Collection[str], workers: int) -> Fill:
    """How the arrangements ``missing`` are filled by that many workers, all others being there."""
    planning = _Planning(program, frozenset(missing), workers)
    for node in reversed(program.circuit.nodes):  # whoever wants its output comes before it
        planning.decide(node)
    return Fill(planning.missing, frozenset(planning.computed), planning.read)


class _Planning:
    def __init__(self, program: Program, missing: frozenset[str], workers: int) -> None:
        self._program, self.missing, self._workers = program, missing, workers
        self._nodes = program.circuit.nodes
        self._outputs: dict[int, list[Edge]] = defaultdict(list)
        for edge in program.edges:
            self._outputs[edge.source].append(edge)
        self._canonical = canonical_nodes(program.circuit)
        self._placed: set[int] = set()  # those whose rows must be on the workers where steps put them
        self.computed: set[int] = set()
        self.read: dict[int, int] = {}

    def decide(self, node: Node) -> None:
        """Has a node computed, or read, or left alone. Those that it feeds have been decided about."""
        wanted = [edge for edge in self._outputs[node.id] if edge.target in self.computed]
        if any(map(self._relies_on_place, wanted)):
            self._placed.add(node.id)
        if not self._exists(node):
            self.computed.add(node.id)
        elif wanted:
            holder = None if any(edge.exchange for edge in wanted) else self._holder(node)
            if holder is None:
                self.computed.add(node.id)
            else:
                self.read[node.id] = holder

    def _exists(self, node: Node) -> bool:
        return all(node.slot(i) not in self.missing for i in range(node.operator.slots))

    def _relies_on_place(self, edge: Edge) -> bool:
        """Whether it matters to the target on which workers the rows are that come along an edge."""
        if edge.exchange:
            return False
        target = self._nodes[edge.target]
        row_by_row = len(target.inputs) == 1 or isinstance(target.operator, Union)
        if isinstance(target.operator, View) or (row_by_row and not target.operator.slots):
            return target.id in self._placed  # then it matters to those behind it, or to nobody
        return True

    def _holder(self, node: Node) -> int | None:
        """The node in whose arrangement the output of ``node`` lies, in the right place if that matters."""
        anywhere = self._workers == 1 or node.id not in self._placed
        for holder, moved in self._holders(node):
            if anywhere or not moved:
                return holder.id
        return None

    def _holders(self, node: Node) -> Iterator[tuple[Node, bool]]:
        """The nodes that hold the output, and whether its rows are on other workers there. (A view's rows are
        opened by the hash of the row, whoever computed them.)"""
        if node.operator.readable:
            yield node, isinstance(node.operator, View)
        if node.id not in self._canonical:
            return
        for edge in self._outputs[node.id]:
            reader = self._nodes[edge.target]
            if isinstance(reader.operator, View) and self._can_be_read(reader):
                yield reader, True
            if isinstance(reader.operator, Index) and not _leaves_out(reader.operator):
                for further in self._outputs[reader.id]:
                    arranged = self._nodes[further.target]
                    if isinstance(arranged.operator, Arrange) and self._can_be_read(arranged):
                        yield arranged, further.exchange

    def _can_be_read(self, node: Node) -> bool:
        return node.operator.readable and self._exists(node)


def _leaves_out(index: Index) -> bool:
    """Whether rows with a NULL in a key may be missing behind an index."""
    return any(drop and key.nullable for key, drop in zip(index.keys, index.drop_null, strict=True))
