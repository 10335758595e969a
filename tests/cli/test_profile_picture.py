"""A profile must name everything in full view, and scale its bars."""

from __future__ import annotations

from xml.etree import ElementTree

from penstock.cli.graph.text import text_width
from penstock.cli.profile_picture import Bar, profile_picture

_SVG = "{http://www.w3.org/2000/svg}"
_LONG = "project " + ", ".join(f"column_{number}" for number in range(40))


def _picture() -> ElementTree.Element:
    operators = [
        Bar("aggregate sum(price)", 4.0, "aggregate", "for revenue, profit"),
        Bar(_LONG, 1.0, "project", "for revenue"),
    ]
    return ElementTree.fromstring(
        profile_picture("shop: 3 steps", [("Parts", [Bar("input log", 2.0)]), ("Operators", operators)])
    )


def test_every_name_begins_inside_the_picture_and_ends_before_the_bars() -> None:
    svg = _picture()
    for group in svg.iter(_SVG + "g"):
        left = float(group.find(_SVG + "rect").get("x"))  # type: ignore[union-attr, arg-type]
        for element in group.findall(_SVG + "text")[:-1]:
            start, size = float(element.get("x", 0)), float(element.get("font-size", 0))
            assert element.get("text-anchor") == "start" and start > 0
            assert start + text_width(element.text or "", size) < left


def test_operators_name_their_views_and_long_names_are_there_in_full() -> None:
    svg = _picture()
    words = [element.text for element in svg.iter(_SVG + "text")]
    assert "for revenue, profit" in words
    assert any(_LONG in (element.text or "") for element in svg.iter(_SVG + "title"))


def test_bars_are_as_long_as_their_time() -> None:
    bars = [group.find(_SVG + "rect") for group in _picture().iter(_SVG + "g")]
    lengths = [float(bar.get("width")) for bar in bars if bar is not None]  # type: ignore[arg-type]
    assert lengths[0] / lengths[1] == 0.5 and lengths[2] / lengths[1] == 0.25
