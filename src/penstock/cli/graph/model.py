"""What a drawing needs to know about a circuit, and nothing else.

The model is validated when built: edges join known nodes, every fragment lies in one level, and no edge
leads back to an earlier level. Layout and writers rely on that and check nothing again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

__all__ = ["GraphEdge", "GraphModel", "GraphNode", "NodeKind"]


class NodeKind(StrEnum):
    """What a node is, which decides its shape (tables, views) and its colour (how it is incremental)."""

    TABLE = "table"
    VIEW = "view"
    LINEAR = "linear"
    BILINEAR = "bilinear"
    NON_LINEAR = "non-linear"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One operator, table or view. ``label`` is short; ``detail`` says what it does and may be long."""

    id: int
    kind: NodeKind
    label: str
    detail: str
    level: int
    fragment: int
    stateful: bool = False


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A stream from ``source`` to ``target``. ``exchange`` names the key by which rows change worker."""

    source: int
    target: int
    exchange: str | None = None


@dataclass(frozen=True)
class GraphModel:
    """A whole circuit, ready to be laid out."""

    title: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def __post_init__(self) -> None:
        nodes = {node.id: node for node in self.nodes}
        if len(nodes) != len(self.nodes):
            raise ValueError("two nodes of a graph have the same id")
        levels: dict[int, int] = {}
        for node in self.nodes:
            if levels.setdefault(node.fragment, node.level) != node.level:
                raise ValueError(f"fragment {node.fragment} lies in more than one level")
        for edge in self.edges:
            if edge.source not in nodes or edge.target not in nodes:
                raise ValueError(f"edge {edge.source} → {edge.target} joins a node that is not in the graph")
            if nodes[edge.source].level > nodes[edge.target].level:
                raise ValueError(f"edge {edge.source} → {edge.target} leads back to an earlier level")

    @cached_property
    def node(self) -> Mapping[int, GraphNode]:
        """Nodes by id."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def fragments(self) -> Mapping[int, tuple[GraphNode, ...]]:
        """The nodes of every fragment, each before the nodes that read it."""
        members: dict[int, list[GraphNode]] = {}
        for node in self._in_order():
            members.setdefault(node.fragment, []).append(node)
        return {fragment: tuple(nodes) for fragment, nodes in sorted(members.items())}

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return 1 + max((node.level for node in self.nodes), default=-1)

    def _in_order(self) -> list[GraphNode]:
        """All nodes in topological order; among those that are ready, by id."""
        waiting = {node.id: 0 for node in self.nodes}
        readers: dict[int, list[int]] = {}
        for edge in self.edges:
            waiting[edge.target] += 1
            readers.setdefault(edge.source, []).append(edge.target)
        ready = sorted(node for node, count in waiting.items() if count == 0)
        order: list[GraphNode] = []
        while ready:
            current = ready.pop(0)
            order.append(self.node[current])
            freed = []
            for reader in readers.get(current, ()):
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    freed.append(reader)
            ready = sorted(freed) + ready  # depth first, so that chains stay together
        if len(order) != len(self.nodes):
            raise ValueError("the graph has a cycle inside a level")
        return order
