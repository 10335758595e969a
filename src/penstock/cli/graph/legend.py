"""Explains the colours and signs of a drawing, in as many lines as its width asks for."""

from __future__ import annotations

from penstock.cli.graph.model import NodeKind
from penstock.cli.graph.paint import EXCHANGE, FAINT, INK, PAINT, text
from penstock.cli.graph.text import text_width

__all__ = ["cylinder", "legend"]

_SIZE, _LINE, _BETWEEN, _SIGN = 10.5, 21.0, 20.0, 30.0
_KINDS: dict[NodeKind, str] = {
    NodeKind.TABLE: "table (changes come in)",
    NodeKind.LINEAR: "linear: its own increment",
    NodeKind.BILINEAR: "bilinear: joins",
    NodeKind.NON_LINEAR: "non-linear: touched keys only",
    NodeKind.VIEW: "view (changes go out)",
}


def legend(y: float, left: float, right: float) -> tuple[list[str], float]:
    """The elements of a legend below ``y`` between two sides, and where it ends."""
    entries = [(meaning, kind.value) for kind, meaning in _KINDS.items()]
    entries += [("keeps state", "state"), ("exchange, by key", "exchange")]
    entries.append(("operators in one box run from top to bottom", "chain"))
    parts: list[str] = []
    x, y = left, y + 16
    for meaning, sign in entries:
        width = _SIGN + text_width(meaning, _SIZE)
        if x > left and x + width > right:
            x, y = left, y + _LINE
        parts += [_sign(sign, x, y), text(x + _SIGN, y + 3.5, meaning, _SIZE, FAINT)]
        x += width + _BETWEEN
    return parts, y + 24


def _sign(sign: str, x: float, y: float) -> str:
    if sign == "state":
        return cylinder(x + 6, y - 7, INK)
    if sign == "exchange":
        line = f'd="M{x:.1f},{y:.1f} h24" stroke="{EXCHANGE}" stroke-width="2.2"'
        return f'<path {line} marker-end="url(#exchange)"/>'
    if sign == "chain":
        lines = f"M{x:.1f},{y - 3.3:.1f} h22 M{x:.1f},{y + 2.3:.1f} h22"
        return (
            f'<g stroke="{FAINT}" stroke-width="0.9">'
            f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="22" height="17" rx="3" fill="#ffffff"/>'
            f'<path d="{lines}"/></g>'
        )
    paint = PAINT[NodeKind(sign)]
    bar = 'width="22" height="4"' if sign == NodeKind.TABLE else 'width="4" height="16"'
    return (
        f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="22" height="16" fill="{paint.fill}" '
        f'stroke="{paint.stroke}" stroke-width="1.2"/>'
        f'<rect x="{x:.1f}" y="{y - 8:.1f}" {bar} fill="{paint.stroke}"/>'
    )


def cylinder(x: float, y: float, colour: str) -> str:
    """The sign of something that keeps state."""
    return (
        f'<g fill="none" stroke="{colour}" stroke-width="1.2" transform="translate({x:.1f},{y:.1f})">'
        '<ellipse cx="5" cy="2.4" rx="4.6" ry="2"/>'
        '<path d="M0.4,2.4 v7 a4.6,2 0 0 0 9.2,0 v-7"/><path d="M0.4,5.9 a4.6,2 0 0 0 9.2,0"/></g>'
    )
