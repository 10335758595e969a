"""Pictures are well-formed, show what they are given, and nothing in them lies on or beside anything else."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest

from bench.canvas import Axis, number, text_width
from bench.picture import draw
from bench.sketch import (
    Bar,
    Bars,
    Line,
    Lines,
    Mark,
    Range,
    Ranges,
    Sketch,
    Stack,
    Stacks,
    sketch_from_json,
    sketch_to_json,
)

_SVG = "{http://www.w3.org/2000/svg}"
GOAL = "#b3261e"

SKETCHES: dict[str, Sketch] = {
    "ratios": Bars(
        "Times faster",
        "times Spark",
        [Bar(f"q{i:02d}", value, value >= 1) for i, value in enumerate((0.4, 3.0, 47.0, 51.0, 900.0))],
        [Mark(50, "tpch: at least 50x"), Mark(1, "each: at least 1x")],
        log=True,
    ),
    "a long title": Bars(
        "Nexmark, each query alone, 2 threads, steps of 100,000 events; events per second between 500,000 "
        "and 5,000,000 events, beside Structured Streaming with its state in memory",
        "times Structured Streaming",
        [Bar("q00", 0.0, False), Bar("q01", 12.0)],
        [Mark(10, "nexmark-spark: at least 10x Structured Streaming")],
        log=True,
    ),
    "plain bars": Bars("Rows", "rows per second", [Bar("ours", 5_240_551), Bar("theirs", 479_616)]),
    "lines": Lines(
        "Growth",
        "rows stored",
        "milliseconds",
        [
            Line("step", [(1e4, 10.5, 8.0, 14.0), (1e7, 20.5, 16.0, 30.7)]),
            Line("other", [(1e4, 4.0, 3.0, 5.0), (1e7, 20.0, 18.0, 21.0)]),
        ],
        [Mark(15.8, "goal: at most 1.5 times the first")],
    ),
    "ranges": Ranges(
        "Latency",
        "milliseconds",
        [
            Range("small: 1 row", 1.0, 1.5, 2.0, 3.0, 9.0),
            Range("small: 100 rows", 1.1, 1.6, 2.1, 3.1, 9.1),
            Range("deep: 1 row", 10.0, 15.0, 20.0, 30.0, 90.0),
        ],
        [Mark(10, "p50 goal"), Mark(30, "p99 goal")],
    ),
    "stacks": Stacks(
        "Memory",
        "MB",
        [
            Stack("plain", {"rows": 110.0}),
            Stack("state", {f"a part with a long name, {i}": 20.0 for i in range(7)}),
        ],
    ),
}


def _parsed(sketch: Sketch) -> ElementTree.Element:
    return ElementTree.fromstring(draw(sketch))


def _texts(root: ElementTree.Element) -> list[ElementTree.Element]:
    return root.findall(f"{_SVG}text")


def _frame(text: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a text, as far as one can know."""
    size = int(text.attrib["font-size"])
    wide, x, y = text_width(text.text or "", size), float(text.attrib["x"]), float(text.attrib["y"])
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.attrib["text-anchor"]]
    return left, y - size * 0.8, left + wide, y + size * 0.2


@pytest.mark.parametrize("name", SKETCHES)
def test_texts_stay_on_the_page_and_do_not_lie_on_each_other(name: str) -> None:
    root = _parsed(SKETCHES[name])
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    frames = {f"{text.text} at {text.attrib['y']}": _frame(text) for text in _texts(root)}
    for what, (left, top, right, bottom) in frames.items():
        assert left >= 0 and top >= 0 and right <= width and bottom <= height, what
    for (one, a), (other, b) in combinations(frames.items(), 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, f"{one!r} lies on {other!r}"


@pytest.mark.parametrize("name", SKETCHES)
def test_shapes_stay_on_the_page(name: str) -> None:
    root = _parsed(SKETCHES[name])
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    for box in root.findall(f"{_SVG}rect")[1:]:
        x, y, wide, high = (float(box.attrib[side]) for side in ("x", "y", "width", "height"))
        assert x >= 0 and x + wide <= width and y >= 0 and y + high <= height
    for dot in root.findall(f"{_SVG}circle"):
        assert 0 <= float(dot.attrib["cx"]) <= width and 0 <= float(dot.attrib["cy"]) <= height


@pytest.mark.parametrize("name", SKETCHES)
def test_a_sketch_survives_being_kept_as_json(name: str) -> None:
    kept = json.loads(json.dumps(sketch_to_json(SKETCHES[name])))
    assert draw(sketch_from_json(kept)) == draw(SKETCHES[name])


def test_every_figure_and_goal_is_written_beside_its_label() -> None:
    written = {text.text for text in _texts(_parsed(SKETCHES["ratios"]))}
    assert {"q00", "0.4", "q04", "900", "tpch: at least 50x", "each: at least 1x"} <= written


def test_text_is_escaped() -> None:
    root = _parsed(Bars('<script> & "co"', "a < b", [Bar("x & y </text>", 1.0)]))
    assert {"x & y </text>", "a < b", '<script> & "co"'} <= {text.text for text in _texts(root)}


def test_bars_of_ratios_start_at_one_and_show_who_fell_short() -> None:
    boxes = _parsed(SKETCHES["ratios"]).findall(f"{_SVG}rect")[1:]
    [one] = [
        float(text.attrib["x"])
        for text in _texts(_parsed(SKETCHES["ratios"]))
        if text.text == "each: at least 1x"
    ]
    short, *others = boxes
    assert float(short.attrib["x"]) + float(short.attrib["width"]) == pytest.approx(one, abs=0.2)
    assert all(float(box.attrib["x"]) == pytest.approx(one, abs=0.2) for box in others)
    assert short.attrib["fill"] not in {box.attrib["fill"] for box in others}


def test_a_goal_is_drawn_where_its_value_lies() -> None:
    svg = draw(SKETCHES["ranges"])
    goals = [float(x) for x in re.findall(rf'<line x1="([\d.]+)"[^>]*stroke="{GOAL}"', svg)]
    ticks = {
        float((text.text or "").replace(",", "")): float(text.attrib["x"])
        for text in _texts(ElementTree.fromstring(svg))
        if text.attrib["text-anchor"] == "middle" and re.fullmatch(r"[\d.,]+", text.text or "")
    }
    assert goals == pytest.approx([ticks[10.0], ticks[30.0]], abs=0.2)


def test_an_axis_has_round_ticks_within_its_range() -> None:
    assert Axis(0, 31, 0, 100).ticks() == [0, 10, 20, 30]
    assert Axis(0.3, 1200, 0, 100, log=True).ticks() == [1, 10, 100, 1000]
    assert Axis(8, 110, 0, 100, log=True).ticks() == [10, 20, 50, 100]
    narrow = Axis(4.1, 4.9, 0, 100, log=True).ticks()
    assert len(narrow) >= 4 and all(4.1 <= tick <= 4.9 for tick in narrow)


def test_zero_lies_at_the_start_of_a_logarithmic_axis() -> None:
    axis = Axis.around([0.0, 1.0, 100.0], 10, 90, log=True)
    assert axis.place(0.0) == 10 and 10 < axis.place(1.0) < axis.place(100.0) < 90


def test_figures_are_written_with_three_digits() -> None:
    shown = [number(value) for value in (0, 0.0421, 1.0, 1.234, 12.34, 999.6, 12345.0, 10_000_000.0)]
    assert shown == ["0", "0.042", "1", "1.23", "12.3", "1,000", "12,345", "10 M"]
