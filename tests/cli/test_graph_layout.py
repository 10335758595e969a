"""A drawing is legible only if nothing covers anything else and time runs from left to right."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings

from penstock.cli.graph import GraphEdge, GraphModel, GraphNode, NodeKind
from penstock.cli.graph.layout import place
from penstock.cli.graph.placement import Box, Metrics, Route
from tests.cli.shapes import graph_models, join_of_two_tables


def _apart(a: Box, b: Box) -> bool:
    slack = 1e-6
    return (
        a.right <= b.x + slack or b.right <= a.x + slack or a.bottom <= b.y + slack or b.bottom <= a.y + slack
    )


@settings(max_examples=60, deadline=None)
@given(graph_models())
def test_no_fragment_covers_another(model: GraphModel) -> None:
    placement = place(model)
    assert len(placement.fragments) == len(model.fragments)
    for a, b in combinations(placement.fragments, 2):
        assert _apart(a.box, b.box), f"fragments {a.fragment} and {b.fragment} overlap"


@settings(max_examples=60, deadline=None)
@given(graph_models())
def test_every_operator_lies_inside_its_fragment_and_the_drawing(model: GraphModel) -> None:
    placement = place(model)
    frames = {item.fragment: item.box for item in placement.fragments}
    for node in model.nodes:
        box, frame = placement.nodes[node.id], frames[node.fragment]
        assert frame.x < box.x and box.right < frame.right
        assert frame.y < box.y and box.bottom < frame.bottom
        assert frame.right < placement.width and frame.bottom < placement.height


@settings(max_examples=60, deadline=None)
@given(graph_models())
def test_edges_between_fragments_run_from_left_to_right(model: GraphModel) -> None:
    for wire in place(model).wires:
        if wire.route is Route.ACROSS:
            xs = [x for x, _ in wire.points]
            assert xs == sorted(xs)
            assert xs[0] < xs[-1]


@settings(max_examples=60, deadline=None)
@given(graph_models())
def test_a_long_edge_passes_no_box_on_its_way(model: GraphModel) -> None:
    placement = place(model)
    for wire in placement.wires:
        lanes = wire.points[1:-1] if wire.route is Route.ACROSS else ()
        for (left, y), (right, _) in zip(lanes[::2], lanes[1::2], strict=True):
            lane = Box(left, y - 1, right - left, 2)
            assert all(_apart(lane, item.box) for item in placement.fragments)


@settings(max_examples=60, deadline=None)
@given(graph_models())
def test_lines_of_a_card_follow_each_other_and_read_each_other(model: GraphModel) -> None:
    placement = place(model)
    read = {(edge.source, edge.target) for edge in model.edges}
    assert sorted(node for card in placement.cards for node in card) == sorted(model.node)
    for card in placement.cards:
        boxes = [placement.nodes[node] for node in card]
        assert all(upper.bottom == pytest.approx(lower.y) for upper, lower in pairwise(boxes))
        for place_, node in enumerate(card[1:], 1):
            assert any((above, node) in read for above in card[:place_])


@settings(max_examples=60, deadline=None)
@given(graph_models())
def test_a_drawing_is_no_taller_than_its_tallest_column(model: GraphModel) -> None:
    metrics = Metrics()
    placement = place(model, metrics)
    taken: dict[float, float] = {}
    for item in placement.fragments:
        taken[item.box.x] = taken.get(item.box.x, 0.0) + item.box.height + metrics.fragment_gap
    lanes = {(x, y) for wire in placement.wires if wire.route is Route.ACROSS for x, y in wire.points[1:-1:2]}
    for x, _ in lanes:
        taken[x] = taken.get(x, 0.0) + metrics.lane_height + metrics.fragment_gap
    assert (
        placement.height <= metrics.top + max(taken.values()) - metrics.fragment_gap + metrics.margin + 0.01
    )


def test_many_views_over_one_table_make_a_compact_drawing() -> None:
    """A dozen chains from one table, each exchanged into an aggregate and a view."""
    chains = 12
    nodes = [GraphNode(0, NodeKind.TABLE, "trips", "id, rider, price", 0, 0, True)]
    edges = []
    for chain in range(chains):
        first = len(nodes)
        words = ("project", "filter", "project", "index")
        nodes += [
            GraphNode(first + i, NodeKind.LINEAR, word, "rider, price", 0, 0) for i, word in enumerate(words)
        ]
        nodes.append(GraphNode(first + 4, NodeKind.NON_LINEAR, "aggregate", "sum(price)", 1, 1 + chain, True))
        nodes.append(GraphNode(first + 5, NodeKind.VIEW, f"v{chain}", "rider, total", 1, 1 + chain, True))
        edges += [GraphEdge(0, first), *(GraphEdge(first + i, first + i + 1) for i in (0, 1, 2, 4))]
        edges.append(GraphEdge(first + 3, first + 4, "rider"))
    placement = place(GraphModel("many", tuple(nodes), tuple(edges)))
    assert placement.height < 1300, "operators of a chain are lines, not boxes"
    filled = sum(item.box.width * item.box.height for item in placement.fragments)
    assert filled > 0.4 * placement.width * placement.height
    wires = [wire for wire in placement.wires if wire.edge.exchange]
    starts = sorted(wires, key=lambda wire: wire.points[0][1])
    assert starts == sorted(wires, key=lambda wire: wire.points[-1][1]), "and no two exchanges cross"


def test_levels_stand_in_order_from_left_to_right() -> None:
    bands = place(join_of_two_tables()).bands
    assert [band.level for band in bands] == [0, 1]
    assert bands[0].right < bands[1].left


def test_edges_into_one_operator_do_not_cross_at_its_door() -> None:
    wires = {wire.edge: wire for wire in place(join_of_two_tables()).wires if wire.edge.exchange}
    (first, second) = wires.values()
    assert (first.points[0][1] < second.points[0][1]) == (first.points[-1][1] < second.points[-1][1])
    assert first.points[-1][1] != second.points[-1][1]


def test_an_empty_circuit_can_be_drawn() -> None:
    assert place(GraphModel("nothing", (), ())).nodes == {}


def _node(number: int, level: int, fragment: int) -> GraphNode:
    return GraphNode(number, NodeKind.LINEAR, "map", "", level, fragment)


@pytest.mark.parametrize(
    ("nodes", "edges", "complaint"),
    [
        ((_node(0, 0, 0), _node(0, 0, 1)), (), "same id"),
        ((_node(0, 0, 0), _node(1, 1, 0)), (), "more than one level"),
        ((_node(0, 0, 0),), (GraphEdge(0, 9),), "not in the graph"),
        ((_node(0, 1, 0), _node(1, 0, 1)), (GraphEdge(0, 1),), "earlier level"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused_when_built(
    nodes: tuple[GraphNode, ...], edges: tuple[GraphEdge, ...], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        GraphModel("wrong", nodes, edges)
