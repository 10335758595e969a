"""Turns a compiled program into the model that is drawn: the only place that knows both.

What is written on a node is what the operator says of itself; the key on an exchange is that of the node
that hashed the rows for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from penstock.circuit.circuit import Node
from penstock.circuit.operator import Incremental
from penstock.circuit.program import Program
from penstock.cli.graph.model import GraphEdge, GraphModel, GraphNode, NodeKind

__all__ = ["from_program"]

_KINDS: dict[Incremental, NodeKind] = {
    Incremental.SOURCE: NodeKind.TABLE,
    Incremental.SINK: NodeKind.VIEW,
    Incremental.LINEAR: NodeKind.LINEAR,
    Incremental.BILINEAR: NodeKind.BILINEAR,
    Incremental.GROUPS: NodeKind.NON_LINEAR,
}


def from_program(
    program: Program, title: str, columns: Mapping[str, Sequence[str]], views: Iterable[str] | None = None
) -> GraphModel:
    """The model of ``program``, or of the part that computes ``views``; ``columns`` are those of every table
    and view, as they were declared."""
    circuit = program.circuit
    fragment_of = {node: fragment.id for fragment in program.fragments for node in fragment.nodes}
    names = {node: name for name, node in (*circuit.tables.items(), *circuit.views.items())}
    shown = set(range(len(circuit.nodes)))
    if views is not None:
        shown = set().union(*(circuit.ancestors(circuit.views[view]) for view in views))
    nodes = tuple(
        _node(node, names.get(node.id), columns, program.level_of[node.id], fragment_of[node.id])
        for node in circuit.nodes
        if node.id in shown
    )
    # An operator may read another twice (a table joined with itself): that is one line in a drawing.
    edges = dict.fromkeys(
        GraphEdge(edge.source, edge.target, _key(circuit.nodes[edge.source]) if edge.exchange else None)
        for edge in program.edges
        if edge.target in shown
    )
    return GraphModel(title, nodes, tuple(edges))


def _node(
    node: Node, name: str | None, columns: Mapping[str, Sequence[str]], level: int, fragment: int
) -> GraphNode:
    operator = node.operator
    kind = _KINDS[operator.info.incremental]
    if kind is NodeKind.TABLE and name is None:
        kind = NodeKind.LINEAR  # a source that is no table, such as the rows of VALUES
    label, detail = operator.info.name, operator.describe()
    if name is not None:
        label, detail = name, ", ".join(columns[name])
    return GraphNode(node.id, kind, label, detail, level, fragment, operator.slots > 0)


def _key(source: Node) -> str:
    return source.operator.describe().removeprefix("by ").split(": ")[0] or "row"
