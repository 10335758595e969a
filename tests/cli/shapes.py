"""Small circuits to draw."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.cli.graph import GraphEdge, GraphModel, GraphNode, NodeKind


def join_of_two_tables() -> GraphModel:
    """Two tables, exchanged into a join, a projection after it, a view; the first table is also a view."""
    nodes = (
        GraphNode(0, NodeKind.TABLE, "orders", "id, customer", 0, 0, True),
        GraphNode(1, NodeKind.TABLE, "customers", "id, city", 0, 1, True),
        GraphNode(2, NodeKind.VIEW, "all_orders", "", 0, 0, True),
        GraphNode(3, NodeKind.BILINEAR, "join", "customer = id", 1, 2, True),
        GraphNode(4, NodeKind.LINEAR, "project", 'city, id < 5 AND name = "R&D"', 1, 2),
        GraphNode(5, NodeKind.VIEW, "by_city", "", 1, 2, True),
    )
    edges = (
        GraphEdge(0, 2),
        GraphEdge(0, 3, "customer"),
        GraphEdge(1, 3, "id"),
        GraphEdge(3, 4),
        GraphEdge(4, 5),
    )
    return GraphModel("two tables", nodes, edges)


@st.composite
def graph_models(draw: st.DrawFn) -> GraphModel:
    """Random layered graphs: fragments spread over levels, edges forward or inside a level."""
    sizes = draw(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=5))
    nodes: list[GraphNode] = []
    fragment = 0
    for level, members in enumerate(sizes):
        for size in members:
            for _ in range(size):
                kind = draw(st.sampled_from(list(NodeKind)))
                detail = draw(st.text("abc, ()", max_size=90))
                nodes.append(GraphNode(len(nodes), kind, f"n{len(nodes)}", detail, level, fragment))
            fragment += 1
    pairs = st.tuples(st.integers(0, len(nodes) - 1), st.integers(0, len(nodes) - 1))
    edges = [
        GraphEdge(a, b, "key" if nodes[a].level < nodes[b].level else None)
        for a, b in draw(st.lists(pairs, max_size=25, unique=True))
        if a < b
    ]
    return GraphModel("random", tuple(nodes), tuple(edges))
