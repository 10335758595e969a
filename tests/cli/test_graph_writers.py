"""The SVG must be well-formed and complete; the Mermaid text must survive any query text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given, settings

from penstock.cli.graph import GraphModel, GraphNode, NodeKind, to_mermaid, to_svg
from tests.cli.shapes import graph_models, join_of_two_tables

_SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str, tag: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(_SVG + tag)]


def test_svg_names_every_table_view_level_fragment_and_key() -> None:
    words = _texts(to_svg(join_of_two_tables()), "text")
    for expected in (
        "orders",
        "customers",
        "all_orders",
        "by_city",
        "join",
        "level 0",
        "level 1",
        "customer",
    ):
        assert expected in words
    assert {"fragment 0", "fragment 1", "fragment 2"} <= set(words)


def test_svg_holds_in_full_what_it_had_to_shorten() -> None:
    detail = " ".join(f"column_{number}" for number in range(50))
    model = GraphModel("long", (GraphNode(0, NodeKind.LINEAR, "project", detail, 0, 0),), ())
    svg = to_svg(model)
    assert any(detail in title for title in _texts(svg, "title"))
    assert not any(detail in text for text in _texts(svg, "text"))


def test_svg_fetches_nothing_from_elsewhere() -> None:
    svg = to_svg(join_of_two_tables())
    assert "<script" not in svg and "href" not in svg and "@import" not in svg


def test_only_operators_with_state_carry_the_cylinder() -> None:
    stateful, stateless = (
        GraphModel("one", (GraphNode(0, NodeKind.LINEAR, "map", "", 0, 0, keeps),), ())
        for keeps in (True, False)
    )
    assert to_svg(stateful).count("<ellipse") == to_svg(stateless).count("<ellipse") + 1


@settings(max_examples=40, deadline=None)
@given(graph_models())
def test_svg_of_any_circuit_is_well_formed(model: GraphModel) -> None:
    words = _texts(to_svg(model), "text")
    assert all(node.label in words for node in model.nodes)


def test_mermaid_has_levels_fragments_shapes_and_keyed_exchanges() -> None:
    lines = [line.strip() for line in to_mermaid(join_of_two_tables()).splitlines()]
    assert lines[0] == "flowchart LR"
    assert 'subgraph level1["level 1"]' in lines
    assert 'subgraph fragment2["fragment 2"]' in lines
    assert 'n0 == "customer" ==> n3' in lines
    assert "n3 --> n4" in lines
    assert any(line.startswith("n0[/") and line.endswith("/]:::table") for line in lines)
    assert any(line.startswith("n5([") and line.endswith("]):::view") for line in lines)
    assert lines.count("end") == sum(line.startswith("subgraph") for line in lines)


def test_mermaid_labels_cannot_break_out_of_their_quotes() -> None:
    model = GraphModel("x", (GraphNode(0, NodeKind.LINEAR, 'say "hi"', 'a < b && c > "d" #1', 0, 0),), ())
    line = next(line for line in to_mermaid(model).splitlines() if "say" in line)
    label = re.search(r'\["(.*)"\]', line)
    assert label is not None
    assert '"' not in label[1].replace("&quot;", "")
    assert "&lt; b &amp;&amp; c &gt;" in label[1]
