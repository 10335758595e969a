"""The program that workers run: the circuit cut into fragments and levels.

The circuit is cut at every exchange. A node's *level* is the number of exchanges on the longest path to it,
so all nodes of a level can run once the level before has been exchanged, and a step makes as many exchanges
as its deepest view needs, however many views there are. If only some tables change, a level after which no
worker can have anything to send needs no exchange.

Inside a level the nodes are grouped into *fragments*: subgraphs that are in-out trees, meaning that all paths
from an input of the fragment to an output run through one central node. A fragment runs as one function that
passes deltas from operator to operator; between fragments, and across levels, there are handoffs. Cutting is
greedy in topological order and is checked afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter

from penstock.circuit.circuit import Circuit, Node

__all__ = ["Edge", "Fragment", "Program", "cut", "is_in_out_tree"]


@dataclass(frozen=True)
class Edge:
    """Node ``source`` feeds input ``port`` of node ``target``; ``exchange``: across workers, by key.

    ``handoff``: the edge is buffered because it crosses fragments or levels."""

    id: int
    source: int
    target: int
    port: int
    exchange: bool
    handoff: bool


@dataclass(frozen=True)
class Fragment:
    """Nodes that run as one function, in order."""

    id: int
    level: int
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """A circuit with its cut."""

    circuit: Circuit
    levels: int
    level_of: tuple[int, ...]
    fragments: tuple[Fragment, ...]
    edges: tuple[Edge, ...]

    def fragments_at(self, level: int) -> list[Fragment]:
        """The fragments of a level, in topological order."""
        return [fragment for fragment in self.fragments if fragment.level == level]

    def exchanging(self, touched: Iterable[int]) -> frozenset[int]:
        """The levels after which workers may have something to exchange, in a step in which only the nodes
        ``touched`` (tables) have input."""
        reached = set(touched)
        for node in self.circuit.nodes:  # in topological order
            if not reached.isdisjoint(node.inputs):
                reached.add(node.id)
        return frozenset(
            self.level_of[edge.source] for edge in self.edges if edge.exchange and edge.source in reached
        )

    @property
    def slots(self) -> dict[str, Node]:
        """All arrangements by name, with the node that keeps them."""
        return {node.slot(i): node for node in self.circuit.nodes for i in range(node.operator.slots)}


def cut(circuit: Circuit) -> Program:
    """Cuts a circuit into fragments and levels."""
    level_of = _levels(circuit)
    fragment_of = _fragments(circuit, level_of)
    members: dict[int, list[int]] = defaultdict(list)
    for node in circuit.nodes:
        members[fragment_of[node.id]].append(node.id)
    order = sorted(_feeding_first(circuit, fragment_of), key=lambda f: level_of[f])
    fragments = tuple(Fragment(i, level_of[members[f][0]], tuple(members[f])) for i, f in enumerate(order))
    edges: list[Edge] = []
    for node in circuit.nodes:
        for port, source in enumerate(node.inputs):
            apart = fragment_of[source] != fragment_of[node.id]
            edges.append(Edge(len(edges), source, node.id, port, node.exchanged[port], apart))
    program = Program(circuit, max(level_of, default=0) + 1, tuple(level_of), fragments, tuple(edges))
    _check(program)
    return program


def _levels(circuit: Circuit) -> list[int]:
    level_of: list[int] = []
    for node in circuit.nodes:
        below = [
            level_of[source] + exchanged
            for source, exchanged in zip(node.inputs, node.exchanged, strict=True)
        ]
        level_of.append(max(below, default=0))
    return level_of


def _fragments(circuit: Circuit, level_of: list[int]) -> list[int]:
    """Assigns each node to a fragment, named by its first node.

    A node joins the fragments of its inputs (those of its own level, over edges that are not exchanges) as
    long as the union stays an in-out tree and the graph of fragments stays acyclic; otherwise it starts a new
    fragment.
    """
    fragment_of: list[int] = []
    members: dict[int, list[int]] = {}
    for node in circuit.nodes:
        near = _near(level_of, fragment_of, node)
        joined = sorted({member for fragment in near for member in members[fragment]} | {node.id})
        fits = bool(near) and is_in_out_tree(circuit, joined)
        if fits and not _makes_cycle(circuit, level_of, fragment_of, members, node):
            home = min(near)
            for fragment in near - {home}:
                del members[fragment]
        else:
            home, joined = node.id, [node.id]
        members[home] = joined
        fragment_of.append(home)
        for member in joined:
            fragment_of[member] = home
    return fragment_of


def _feeding_first(circuit: Circuit, fragment_of: list[int]) -> list[int]:
    """The fragments in topological order."""
    graph: TopologicalSorter[int] = TopologicalSorter()
    for node in circuit.nodes:
        home = fragment_of[node.id]
        graph.add(home, *(fragment_of[source] for source in node.inputs if fragment_of[source] != home))
    return list(graph.static_order())


def _makes_cycle(
    circuit: Circuit, level_of: list[int], fragment_of: list[int], members: dict[int, list[int]], node: Node
) -> bool:
    """Whether merging the fragments next to ``node`` with it creates a cycle, that is, a path that leaves the
    union and comes back.

    A path goes from fragment to fragment (one that enters a fragment anywhere leaves it anywhere, since it
    runs as a whole) and never down a level, so only the fragments of this level can be on one.
    """
    near = _near(level_of, fragment_of, node)
    level = level_of[node.id]

    def feeding(nodes: list[int]) -> set[int]:
        sources = (source for member in nodes for source in circuit.nodes[member].inputs)
        return {fragment_of[source] for source in sources if level_of[source] == level}

    union = [node.id, *(member for fragment in near for member in members[fragment])]
    stack = list(feeding(union) - near)
    seen: set[int] = set()
    while stack:
        fragment = stack.pop()
        if fragment in near:
            return True
        if fragment not in seen:
            seen.add(fragment)
            stack.extend(feeding(members[fragment]) - {fragment})
    return False


def _near(level_of: list[int], fragment_of: list[int], node: Node) -> set[int]:
    """The fragments of the same level that feed a node directly."""
    return {
        fragment_of[source]
        for source, exchanged in zip(node.inputs, node.exchanged, strict=True)
        if not exchanged and level_of[source] == level_of[node.id]
    }


def is_in_out_tree(circuit: Circuit, nodes: list[int]) -> bool:
    """Whether the subgraph is a tree with one node on every path from a source to a sink of it.

    Only one node needs to be tried as that centre: the last one at which paths meet. Below a centre nothing
    meets, so it is that node or one further down, and then every node between them is a centre too. Where
    paths never meet it is the one source. Costs one visit per node.
    """
    inside = set(nodes)
    incoming: dict[int, list[int]] = {n: [s for s in circuit.nodes[n].inputs if s in inside] for n in nodes}
    outgoing: dict[int, list[int]] = {n: [] for n in nodes}
    for node, sources in incoming.items():
        for source in sources:
            outgoing[source].append(node)
    if sum(map(len, incoming.values())) != len(nodes) - 1:
        return False
    meeting = [n for n in nodes if len(incoming[n]) > 1]
    centre = max(meeting) if meeting else min(nodes)  # nodes are numbered in topological order
    above = _hanging(centre, incoming, lambda n: len(outgoing[n]) == 1)
    below = _hanging(centre, outgoing, lambda n: len(incoming[n]) == 1)
    return above is not None and below is not None and above + below - 1 == len(nodes)


def _hanging(root: int, neighbours: dict[int, list[int]], narrow: Callable[[int], bool]) -> int | None:
    """How many nodes are reachable from the root in one direction, including itself; None if one of them has
    more than one edge towards it."""
    count, stack = 0, [root]
    while stack:
        node = stack.pop()
        if node != root and not narrow(node):
            return None
        count += 1
        stack.extend(neighbours[node])
    return count


def _check(program: Program) -> None:
    """Checks what the runtime relies on: in-out trees, and fragments that can run one after the other."""
    done: set[int] = set()
    for fragment in program.fragments:
        if not is_in_out_tree(program.circuit, list(fragment.nodes)):
            raise AssertionError(f"fragment {fragment.id} is not an in-out tree")
        for node in fragment.nodes:
            for source in program.circuit.nodes[node].inputs:
                if source not in done and source not in fragment.nodes:
                    raise AssertionError(f"fragment {fragment.id} would run before node {source}")
        done.update(fragment.nodes)
