"""A drawing is legible only if nothing covers anything else and time runs from left to right."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings

from penstock.cli.graph import GraphEdge, GraphModel, GraphNode, NodeKind
from penstock.cli.graph.layout import place
from penstock.cli.graph.placement import Box, Route
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
