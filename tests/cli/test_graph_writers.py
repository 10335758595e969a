"""The SVG must be well-formed and complete; the Mermaid text must survive any query text."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given, settings

from penstock.cli.graph import GraphModel, GraphNode, NodeKind, to_mermaid, to_svg
from penstock.cli.graph.text import text_width
from tests.cli.shapes import graph_models, join_of_two_tables

_SVG = "{http://www.w3.org/2000/svg}"


def _elements(svg: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(_SVG + tag))


def _texts(svg: str, tag: str) -> list[str]:
    return [element.text or "" for element in _elements(svg, tag)]


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


def test_a_label_and_what_stands_beside_it_are_one_line_of_text() -> None:
    """So they cannot overlap, whatever face a viewer has."""
    model = GraphModel("one", (GraphNode(0, NodeKind.LINEAR, "project", "id, name", 0, 0),), ())
    (label,) = (element for element in _elements(to_svg(model), "text") if element.text == "project")
    assert [part.text for part in label] == ["id, name"]


@settings(max_examples=40, deadline=None)
@given(graph_models())
def test_all_text_lies_inside_its_card_and_the_picture(model: GraphModel) -> None:
    svg = ElementTree.fromstring(to_svg(model))
    clips = {clip.get("id"): clip[0] for clip in svg.iter(_SVG + "clipPath")}
    sides = {id(element): float(svg.get("width", 0)) for element in svg.iter(_SVG + "text")}
    for group in svg.iter(_SVG + "g"):
        if group.get("clip-path"):
            box = clips[group.get("clip-path", "")[5:-1]]
            right = float(box.get("x", 0)) + float(box.get("width", 0))
            sides |= {id(element): right for element in group.iter(_SVG + "text")}
    for element in svg.iter(_SVG + "text"):
        bold = element.get("font-weight") == "600"
        width = text_width(element.text or "", float(element.get("font-size", 0)), bold=bold)
        for part in element:
            width += float(part.get("dx", 0)) + text_width(part.text or "", float(part.get("font-size", 0)))
        start = float(element.get("x", 0)) - (width / 2 if element.get("text-anchor") == "middle" else 0)
        assert start >= 0 and start + width <= sides[id(element)] + 0.1, element.text


def test_one_of_a_kind_is_counted_in_the_singular() -> None:
    model = GraphModel("one", (GraphNode(0, NodeKind.TABLE, "t", "", 0, 0),), ())
    assert "1 table · 0 views · 0 operators · 1 fragment · 1 level · 0 exchanges" in _texts(
        to_svg(model), "text"
    )


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
