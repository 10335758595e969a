"""Paints a laid-out circuit as an SVG that stands alone: no scripts, no fonts or styles from elsewhere.

Colours say how an operator is incremental, shapes say what it is, thick lines are exchanges. Everything
that had to be shortened is there in full as a tooltip.
"""

from __future__ import annotations

from html import escape

from penstock.cli.graph.layout import place
from penstock.cli.graph.model import GraphModel, GraphNode, NodeKind
from penstock.cli.graph.placement import Box, Metrics, Placement, Route, Wire, Words
from penstock.cli.graph.text import shorten, text_width

__all__ = ["to_svg"]

# Stroke, fill, text: dark enough on light to read at half size and for the common kinds of colour blindness.
_PAINT: dict[NodeKind, tuple[str, str, str]] = {
    NodeKind.TABLE: ("#2563a8", "#e3eefb", "#173f6d"),
    NodeKind.VIEW: ("#1f7a4d", "#ddf3e6", "#12502f"),
    NodeKind.LINEAR: ("#7b8794", "#ffffff", "#27313b"),
    NodeKind.BILINEAR: ("#7a4fb5", "#f3edfb", "#4a2a7a"),
    NodeKind.NON_LINEAR: ("#b8641b", "#fdf1e4", "#73390a"),
}
_MEANING: dict[NodeKind, str] = {
    NodeKind.TABLE: "table (changes come in)",
    NodeKind.LINEAR: "linear: its own increment",
    NodeKind.BILINEAR: "bilinear: joins",
    NodeKind.NON_LINEAR: "non-linear: touched keys only",
    NodeKind.VIEW: "view (changes go out)",
}
_INK, _DETAIL, _FAINT, _EXCHANGE = "#1d2733", "#4d5965", "#66717d", "#d0532f"
Points = tuple[tuple[float, float], ...]

_FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def to_svg(model: GraphModel, metrics: Metrics | None = None) -> str:
    """The text of an SVG file that shows ``model``."""
    metrics = metrics or Metrics()
    placement = place(model, metrics)
    width = max(placement.width, 1060.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{placement.height:.0f}" '
        f'viewBox="0 0 {width:.0f} {placement.height:.0f}" font-family="{_FONT}" role="img">',
        f"<title>{escape(model.title)}</title>",
        _definitions(),
        f'<rect width="{width:.0f}" height="{placement.height:.0f}" fill="#f7f8fa"/>',
        *_heading(model),
        *_bands(placement),
        *_fragments(model, placement),
        *(_wire(wire) for wire in placement.wires),
        *(
            _node(model.node[node], box, placement.words[node], metrics)
            for node, box in placement.nodes.items()
        ),
        *(_key(wire, metrics) for wire in placement.wires if wire.edge.exchange),
        *_legend(placement.height - 34, metrics.margin),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _definitions() -> str:
    markers = "".join(
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" markerHeight="{size}" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        f'<path d="M0,0.6 L7.6,4 L0,7.4 z" fill="{colour}"/></marker>'
        for name, colour, size in (("arrow", _FAINT, 8), ("exchange", _EXCHANGE, 12))
    )
    return f"<defs>{markers}</defs>"


def _text(
    x: float, y: float, content: str, size: float, colour: str, *, anchor: str = "start", bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}>'
        f"{escape(content)}</text>"
    )


def _heading(model: GraphModel) -> list[str]:
    kinds = [node.kind for node in model.nodes]
    tables, views = kinds.count(NodeKind.TABLE), kinds.count(NodeKind.VIEW)
    exchanges = sum(1 for edge in model.edges if edge.exchange)
    facts = (
        f"{tables} tables · {views} views · {len(kinds) - tables - views} operators · "
        f"{len(model.fragments)} fragments · {model.levels} levels · {exchanges} exchanges"
    )
    return [_text(26, 34, model.title, 18, _INK, bold=True), _text(26, 54, facts, 11.5, _FAINT)]


def _bands(placement: Placement) -> list[str]:
    parts = []
    top, bottom = 66.0, placement.height - 56
    for band in placement.bands:
        left, right = band.left - 12, band.right + 12
        parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="12" '
            'fill="#eceff3"/>'
        )
        parts.append(_text(left + 14, top + 18, f"level {band.level}", 11, _FAINT, bold=True))
    return parts


def _fragments(model: GraphModel, placement: Placement) -> list[str]:
    parts = []
    for item in placement.fragments:
        box = item.box
        count = len(model.fragments[item.fragment])
        tip = f"fragment {item.fragment}: {count} operator{'s' if count > 1 else ''} fused into one function"
        size = f'width="{box.width:.1f}" height="{box.height:.1f}" rx="11"'
        parts.append(
            f"<g><title>{tip}</title>"
            f'<rect x="{box.x:.1f}" y="{box.y + 2:.1f}" {size} fill="#1d2733" fill-opacity="0.08"/>'
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" {size} fill="#fdfdfe" stroke="#cfd6de"/>'
            + _text(box.x + 13, box.y + 14, f"fragment {item.fragment}", 9, "#98a2ad")
            + "</g>"
        )
    return parts


def _outline(kind: NodeKind, box: Box) -> str:
    """The shape of a node: a sheet with a header bar for tables, a pill for views, a plate for operators."""
    stroke, fill, _ = _PAINT[kind]
    radius = min(box.height / 2, 18.0) if kind is NodeKind.VIEW else 2.5 if kind is NodeKind.TABLE else 6.0
    shape = (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{radius:.1f}" fill="{fill}" stroke="{stroke}" stroke-width="1.3"/>'
    )
    if kind is NodeKind.TABLE:
        bar = f"M{box.x:.1f},{box.y + 2.5:.1f} h{box.width:.1f}"
        shape += f'<path d="{bar}" stroke="{stroke}" stroke-width="5"/>'
    elif kind is not NodeKind.VIEW:
        shape += (
            f'<path d="M{box.x + 2.5:.1f},{box.y + 6:.1f} v{box.height - 12:.1f}" stroke="{stroke}" '
            'stroke-width="3.4" stroke-linecap="round"/>'
        )
    return shape


def _cylinder(x: float, y: float, colour: str) -> str:
    """The glyph of something that keeps state."""
    return (
        f'<g fill="none" stroke="{colour}" stroke-width="1.3" transform="translate({x:.1f},{y:.1f})">'
        '<ellipse cx="6" cy="2.6" rx="5.4" ry="2.3"/>'
        '<path d="M0.6,2.6 v8.2 a5.4,2.3 0 0 0 10.8,0 v-8.2"/><path d="M0.6,6.7 a5.4,2.3 0 0 0 10.8,0"/></g>'
    )


def _node(node: GraphNode, box: Box, words: Words, metrics: Metrics) -> str:
    _, _, ink = _PAINT[node.kind]
    left, baseline = box.x + metrics.pad + 1, box.y + 18
    tip = f"{node.kind}: {node.label}" + (" (keeps state)" if node.stateful else "")
    parts = [f"<g><title>{escape(tip)}{escape(chr(10) + node.detail) if node.detail else ''}</title>"]
    parts.append(_outline(node.kind, box))
    parts.append(_text(left, baseline, words.label, metrics.label_size, ink, bold=True))
    if words.beside:
        x = left + text_width(words.label, metrics.label_size) + 7
        parts.append(_text(x, baseline, words.beside, metrics.detail_size, _DETAIL))
    if node.stateful:
        parts.append(_cylinder(box.right - metrics.pad - 10, box.y + 7.5, ink))
    for line in words.below:
        baseline += metrics.detail_size + 3
        parts.append(_text(left, baseline + 1, line, metrics.detail_size, _DETAIL))
    return "".join(parts) + "</g>"


def _wire(wire: Wire) -> str:
    exchange = wire.edge.exchange
    colour, width, marker = (_EXCHANGE, 2.6, "exchange") if exchange else (_FAINT, 1.3, "arrow")
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
    key = shorten(wire.edge.exchange or "", metrics.key_size, metrics.gap_max - 56)
    width = text_width(key, metrics.key_size) + 10
    right = to_x - metrics.pad - 11
    x = max(from_x + 2, right - width)
    return (
        f"<g><title>exchanged by {escape(wire.edge.exchange or '')}</title>"
        f'<rect x="{x:.1f}" y="{to_y - 7.5:.1f}" width="{width:.1f}" height="15" rx="7.5" fill="#fff5f1" '
        f'stroke="{_EXCHANGE}" stroke-width="0.9"/>'
        + _text(x + width / 2, to_y + 3.4, key, metrics.key_size, "#8f2f13", anchor="middle")
        + "</g>"
    )


def _legend(y: float, x: float) -> list[str]:
    parts = []
    for kind, meaning in _MEANING.items():
        parts.append(_outline(kind, Box(x, y - 9, 22, 16)))
        parts.append(_text(x + 29, y + 3.5, meaning, 10.5, _FAINT))
        x += 29 + text_width(meaning, 10.5) + 18
    parts.append(_cylinder(x, y - 7, _INK))
    parts.append(_text(x + 18, y + 3.5, "keeps state", 10.5, _FAINT))
    x += 18 + text_width("keeps state", 10.5) + 18
    line = f'd="M{x:.1f},{y:.1f} h26" stroke="{_EXCHANGE}" stroke-width="2.6"'
    parts.append(f'<path {line} marker-end="url(#exchange)"/>')
    parts.append(_text(x + 34, y + 3.5, "exchange, by key", 10.5, _FAINT))
    return parts
