"""Paints a laid-out circuit as an SVG that stands alone: no scripts, no fonts or styles from elsewhere.

Colours say how an operator is incremental, shapes say what it is, thick lines are exchanges. Everything
that had to be shortened is there in full as a tooltip. Which face a viewer has is unknown: a label and what
stands beside it are one line of text, so they cannot overlap, and a card cuts off what would leave it.
"""

from __future__ import annotations

from html import escape

from penstock.cli.console import counted
from penstock.cli.graph.layout import place
from penstock.cli.graph.legend import cylinder, legend
from penstock.cli.graph.model import GraphModel, GraphNode, NodeKind
from penstock.cli.graph.paint import DETAIL, EXCHANGE, FAINT, FONT, INK, PAINT, text
from penstock.cli.graph.placement import Box, Metrics, Placement, Route, Wire, Words
from penstock.cli.graph.text import shorten, text_width

__all__ = ["to_svg"]

Points = tuple[tuple[float, float], ...]

_TITLE_SIZE, _FACTS_SIZE = 18.0, 11.5
_BAND_PAD, _BAND_TOP = 11.0, 64.0


def to_svg(model: GraphModel, metrics: Metrics | None = None) -> str:
    """The text of an SVG file that shows ``model``."""
    metrics = metrics or Metrics()
    placement = place(model, metrics)
    margin, facts = metrics.margin, _facts(model)
    width = max(placement.width, text_width(facts, _FACTS_SIZE) + 2 * margin)
    explained, height = legend(placement.height, margin, width - margin)
    title = shorten(model.title, _TITLE_SIZE, width - 2 * margin, bold=True)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}" role="img">',
        f"<title>{escape(model.title)}</title>",
        _definitions(placement),
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#f7f8fa"/>',
        text(margin, 34, title, _TITLE_SIZE, INK, bold=True),
        text(margin, 54, facts, _FACTS_SIZE, FAINT),
        *_bands(placement),
        *_fragments(model, placement),
        *(_wire(wire) for wire in placement.wires if wire.route is not Route.NEXT),
        *(_card(model, card, placement, metrics) for card in placement.cards),
        *(_key(wire, metrics) for wire in placement.wires if wire.edge.exchange),
        *explained,
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _facts(model: GraphModel) -> str:
    kinds = [node.kind for node in model.nodes]
    tables, views = kinds.count(NodeKind.TABLE), kinds.count(NodeKind.VIEW)
    numbers = {
        "table": tables,
        "view": views,
        "operator": len(kinds) - tables - views,
        "fragment": len(model.fragments),
        "level": model.levels,
        "exchange": sum(1 for edge in model.edges if edge.exchange),
    }
    return " · ".join(counted(number, noun) for noun, number in numbers.items())


def _definitions(placement: Placement) -> str:
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" markerHeight="{size}" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0,0.6 L7.6,4 L0,7.4 z" fill="{colour}"/></marker>'
        for name, colour, size in (("arrow", FAINT, 8), ("exchange", EXCHANGE, 12))
    )
    clips = "".join(
        f'<clipPath id="card{card[0]}">{_rect(_hull(card, placement), 4)}</clipPath>'
        for card in placement.cards
    )
    return f"<defs>{markers}{clips}</defs>"


def _rect(box: Box, radius: float, more: str = "") -> str:
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{radius:.1f}"{more}/>'
    )


def _hull(card: tuple[int, ...], placement: Placement) -> Box:
    first, last = placement.nodes[card[0]], placement.nodes[card[-1]]
    return Box(first.x, first.y, first.width, last.bottom - first.y)


def _bands(placement: Placement) -> list[str]:
    parts = []
    for band in placement.bands:
        left, right = band.left - _BAND_PAD, band.right + _BAND_PAD
        box = Box(left, _BAND_TOP, right - left, placement.height - _BAND_PAD - _BAND_TOP)
        parts.append(_rect(box, 12, ' fill="#eceff3"'))
        parts.append(text(left + 14, _BAND_TOP + 17, f"level {band.level}", 11, FAINT, bold=True))
    return parts


def _fragments(model: GraphModel, placement: Placement) -> list[str]:
    parts = []
    for item in placement.fragments:
        box = item.box
        operators = counted(len(model.fragments[item.fragment]), "operator")
        parts.append(
            f"<g><title>fragment {item.fragment}: {operators} fused into one function</title>"
            + _rect(Box(box.x, box.y + 2, box.width, box.height), 9, ' fill="#1d2733" fill-opacity="0.08"')
            + _rect(box, 9, ' fill="#fdfdfe" stroke="#cfd6de"')
            + text(box.x + 11, box.y + 12, f"fragment {item.fragment}", 8.5, "#98a2ad")
            + "</g>"
        )
    return parts


def _card(model: GraphModel, card: tuple[int, ...], placement: Placement, metrics: Metrics) -> str:
    """A chain of operators, one below the other, in the frame of the one that matters most."""
    hull = _hull(card, placement)
    rows = "".join(
        _row(model.node[node], placement.nodes[node], placement.words[node], metrics, first=node == card[0])
        for node in card
    )
    stroke = PAINT[model.node[card[0]].kind if len(card) == 1 else NodeKind.LINEAR].stroke
    frame = _rect(hull, 4, f' fill="none" stroke="{stroke}" stroke-width="1.2"')
    return f'<g clip-path="url(#card{card[0]})">{rows}</g>{frame}'


def _row(node: GraphNode, box: Box, words: Words, metrics: Metrics, *, first: bool) -> str:
    paint = PAINT[node.kind]
    top = box.y + (metrics.table_bar if node.kind is NodeKind.TABLE else 0.0)
    left, baseline = box.x + metrics.pad, top + 13.5
    tip = f"{node.kind}: {node.label}" + (" (keeps state)" if node.stateful else "")
    parts = [f"<g><title>{escape(tip)}{escape(chr(10) + node.detail) if node.detail else ''}</title>"]
    parts.append(_rect(box, 0, f' fill="{paint.fill}"'))
    wide = node.kind is NodeKind.TABLE
    bar = Box(box.x, box.y, *((box.width, metrics.table_bar) if wide else (4.0, box.height)))
    parts.append(_rect(bar, 0, f' fill="{paint.stroke}"'))
    if not first:
        parts.append(f'<path d="M{box.x:.1f},{box.y:.1f} h{box.width:.1f}" stroke="#c3cbd4"/>')
    beside = (
        f'<tspan dx="{metrics.word_gap}" font-size="{metrics.detail_size}" font-weight="400" '
        f'fill="{DETAIL}">{escape(words.beside)}</tspan>'
        if words.beside
        else ""
    )
    parts.append(text(left, baseline, words.label, metrics.label_size, paint.ink, bold=True, after=beside))
    if node.stateful:
        parts.append(cylinder(box.right - metrics.pad - 8, top + 3.5, paint.ink))
    for line in words.below:
        baseline += metrics.line_height
        parts.append(text(left, baseline - 0.5, line, metrics.detail_size, DETAIL))
    return "".join(parts) + "</g>"


def _wire(wire: Wire) -> str:
    exchange = wire.edge.exchange
    colour, width, marker = (EXCHANGE, 2.2, "exchange") if exchange else (FAINT, 1.3, "arrow")
    path = {Route.DOWN: _line, Route.GUTTER: _bus, Route.ACROSS: _curve}[wire.route](wire.points)
    tip = f"<title>exchanged by {escape(exchange)}</title>" if exchange else ""
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-opacity="0.88" '
        f'stroke-linejoin="round" marker-end="url(#{marker})">{tip}</path>'
    )


def _line(points: Points) -> str:
    return "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _bus(points: Points) -> str:
    """Out to the left, down and back in, with rounded corners."""
    (x, top), (lane, _), _, (end, bottom) = points
    return (
        f"M{x:.1f},{top:.1f} H{lane + 4:.1f} Q{lane:.1f},{top:.1f} {lane:.1f},{top + 4:.1f} "
        f"V{bottom - 4:.1f} Q{lane:.1f},{bottom:.1f} {lane + 4:.1f},{bottom:.1f} H{end:.1f}"
    )


def _curve(points: Points) -> str:
    """Straight through lanes, an S-curve across gaps."""
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for index, (to_x, to_y) in enumerate(rest):
        if index % 2 == 1:
            path += f" L{to_x:.1f},{to_y:.1f}"
        else:
            bend = (to_x - x) * 0.5
            path += f" C{x + bend:.1f},{y:.1f} {to_x - bend:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f}"
        x, y = to_x, to_y
    return path


def _key(wire: Wire, metrics: Metrics) -> str:
    """The key of an exchange, on a small plate where the edge arrives."""
    (from_x, _), (to_x, to_y) = wire.points[-2:]
    key = shorten(wire.edge.exchange or "", metrics.key_size, metrics.gap_max - metrics.key_room)
    width = text_width(key, metrics.key_size) + 10
    right = to_x - metrics.pad - 11
    x = max(from_x + 2, right - width)
    plate = Box(x, to_y - 7, width, 14)
    return (
        f"<g><title>exchanged by {escape(wire.edge.exchange or '')}</title>"
        + _rect(plate, 7, f' fill="#fff5f1" stroke="{EXCHANGE}" stroke-width="0.9"')
        + text(x + width / 2, to_y + 3.2, key, metrics.key_size, "#8f2f13", anchor="middle")
        + "</g>"
    )
