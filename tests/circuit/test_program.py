"""Cutting: fragments are in-out trees, levels count exchanges, and nothing runs before what feeds it."""

from __future__ import annotations

import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.circuit.program import Program, cut, is_in_out_tree
from tests.circuit.shapes import circuit

# The invalid compiled subtrees of the hydroflow design, and the valid one, as subgraphs.
NOT_A_TREE = circuit("", "0", "0", "1 2")  # example 1: two ways from 0 to 3
FROM_OUTSIDE = circuit("", "", "0 1", "2")  # example 2: an edge into the middle
NO_CENTRE = circuit("", "", "0", "0 1")  # example 3: 0 feeds 2 and 3, and 3 is fed by 1 too
VALID = circuit("", "", "0 1", "2", "2")


def test_a_diamond_is_not_an_in_out_tree() -> None:
    assert not is_in_out_tree(NOT_A_TREE, [0, 1, 2, 3])
    assert is_in_out_tree(NOT_A_TREE, [0, 1, 2])
    assert is_in_out_tree(NOT_A_TREE, [1, 2, 3])


def test_a_tree_without_a_central_node_is_not_an_in_out_tree() -> None:
    assert not is_in_out_tree(NO_CENTRE, [0, 1, 2, 3])
    assert is_in_out_tree(NO_CENTRE, [0, 2, 3])
    assert is_in_out_tree(NO_CENTRE, [0, 1, 3])


def test_fan_in_then_fan_out_through_one_node_is_an_in_out_tree() -> None:
    assert is_in_out_tree(VALID, [0, 1, 2, 3, 4])
    assert is_in_out_tree(VALID, [2])


def test_nodes_that_do_not_hang_together_are_not_an_in_out_tree() -> None:
    assert not is_in_out_tree(VALID, [0, 1])
    assert not is_in_out_tree(VALID, [3, 4])
    two_and_a_loop = circuit("", "0 0", "")
    assert not is_in_out_tree(two_and_a_loop, [0, 1])  # two edges between two nodes
    assert not is_in_out_tree(two_and_a_loop, [0, 1, 2])  # right number of edges, wrong places


def test_every_edge_into_a_fragment_from_outside_is_a_handoff() -> None:
    # Example 2 of the design: here the cut cannot make it, for such an edge always gets a buffer.
    program = cut(FROM_OUTSIDE)
    for edge in program.edges:
        assert edge.handoff == (fragment_of(program, edge.source) != fragment_of(program, edge.target))


def fragment_of(program: Program, node: int) -> int:
    (found,) = [fragment.id for fragment in program.fragments if node in fragment.nodes]
    return found


def test_a_node_used_twice_by_one_consumer_passes_by_handoffs() -> None:
    program = cut(circuit("", "0 0"))
    assert [fragment.nodes for fragment in program.fragments] == [(0,), (1,)]
    assert [(edge.port, edge.handoff) for edge in program.edges if edge.target == 1] == [(0, True), (1, True)]


def test_a_chain_is_one_fragment_up_to_the_exchange() -> None:
    program = cut(circuit("", "0", "1", "2!", "3"))
    assert [(f.level, f.nodes) for f in program.fragments] == [(0, (0, 1, 2)), (1, (3, 4))]
    assert program.levels == 2


def test_a_diamond_is_cut_once() -> None:
    program = cut(circuit("", "0", "0", "1 2", "3"))
    assert [f.nodes for f in program.fragments] == [(0, 1, 2), (3, 4)]
    assert all(f.level == 0 for f in program.fragments)


def test_a_wide_pipeline_needs_no_more_levels_than_its_deepest_view() -> None:
    one_view = ("0!", "1", "2!", "3")
    wide = circuit("", *one_view, "0!", "5", "0!", "7!", "8")
    assert cut(wide).levels == cut(circuit("", *one_view)).levels == 3


def test_an_input_from_two_levels_below_is_handed_on() -> None:
    program = cut(circuit("", "0!", "1!", "0 2"))
    assert program.level_of == (0, 1, 2, 2)
    edge = next(edge for edge in program.edges if (edge.source, edge.target) == (0, 3))
    assert edge.handoff and not edge.exchange


def test_an_empty_circuit_has_one_level_without_fragments() -> None:
    program = cut(circuit())
    assert (program.levels, program.fragments, program.edges) == (1, (), ())


@st.composite
def graphs(draw: st.DrawFn) -> list[str]:
    """Random graphs with shared inputs, parallel edges and exchanges."""
    nodes: list[str] = []
    for i in range(draw(st.integers(1, 14))):
        edges = draw(st.lists(st.integers(max(0, i - 5), i - 1), max_size=3)) if i else []
        marks = draw(st.lists(st.sampled_from(["", "", "!"]), min_size=len(edges), max_size=len(edges)))
        nodes.append(" ".join(f"{edge}{mark}" for edge, mark in zip(edges, marks, strict=True)))
    return nodes


@given(nodes=graphs())
@example(nodes=["", "0 0", "", "1 2", "2", "0", "4!", "5 4", "4 5 6", ""])  # a cycle of whole fragments
@example(nodes=["", "0 0", "", "0 1", "1!", "1 3 3", "", "6! 6! 4", "2 5", "2", "8! 5", "3 9"])
@settings(deadline=None, max_examples=140)
def test_any_circuit_is_cut_into_fragments_that_can_run_in_order(nodes: list[str]) -> None:
    program = cut(circuit(*nodes))
    placed = [node for fragment in program.fragments for node in fragment.nodes]
    assert sorted(placed) == list(range(len(nodes)))  # every node once
    ready: set[int] = set()
    for level in range(program.levels):
        for fragment in program.fragments_at(level):
            assert is_in_out_tree(program.circuit, list(fragment.nodes))
            for node in fragment.nodes:
                assert program.level_of[node] == level
                assert set(program.circuit.nodes[node].inputs) <= ready | set(fragment.nodes)
                ready.add(node)
    for edge in program.edges:
        gap = program.level_of[edge.target] - program.level_of[edge.source]
        assert gap >= edge.exchange  # an exchange always leads to a later level
        assert not edge.exchange or edge.handoff
        assert gap == 0 or edge.handoff
    for node in program.circuit.nodes:
        below = [
            program.level_of[source] + exchanged
            for source, exchanged in zip(node.inputs, node.exchanged, strict=True)
        ]
        assert program.level_of[node.id] == max(below, default=0)  # no later than needed


def test_cutting_a_large_circuit_takes_seconds_at_most() -> None:
    texts = [""] * 5
    for i in range(5, 1500):
        texts.append(f"{i - 1} {i % 5}" if i % 3 == 0 else f"{i - 2}!" if i % 11 == 0 else f"{i - 1}")
    started = time.process_time()
    cut(circuit(*texts))
    assert time.process_time() - started < 10


def test_exchanges_are_made_where_a_touched_table_can_send_something() -> None:
    # Tables 0 and 1; 0 is exchanged into 2, 2 is joined with 1 in 3 (exchanged), 3 into 4 without exchange.
    program = cut(circuit("", "", "0!", "2! 1!", "3"))
    assert program.levels == 3
    assert program.exchanging([0]) == {0, 1}
    assert program.exchanging([1]) == {0}  # what 1 sends at level 0 waits for level 2
    assert program.exchanging([0, 1]) == {0, 1}
    assert program.exchanging([]) == set()
