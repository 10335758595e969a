"""Writes a circuit as Mermaid text, for READMEs, issues and other places that draw it themselves.

Labels are quoted and their special characters written as entities, so no query text can break the diagram.
"""

from __future__ import annotations

from penstock.cli.graph.model import GraphModel, GraphNode, NodeKind
from penstock.cli.graph.text import shorten

__all__ = ["to_mermaid"]

_SHAPES: dict[NodeKind, tuple[str, str]] = {
    NodeKind.TABLE: ("[/", "/]"),
    NodeKind.VIEW: ("([", "])"),
    NodeKind.LINEAR: ("[", "]"),
    NodeKind.BILINEAR: ("[", "]"),
    NodeKind.NON_LINEAR: ("[", "]"),
}
_CLASSES = """\
  classDef table fill:#e3eefb,stroke:#2563a8,color:#173f6d
  classDef view fill:#ddf3e6,stroke:#1f7a4d,color:#12502f
  classDef linear fill:#ffffff,stroke:#7b8794,color:#27313b
  classDef bilinear fill:#f3edfb,stroke:#7a4fb5,color:#4a2a7a
  classDef nonlinear fill:#fdf1e4,stroke:#b8641b,color:#73390a"""


def to_mermaid(model: GraphModel) -> str:
    """The text of a Mermaid flowchart that shows ``model``."""
    lines = ["flowchart LR"]
    for level in range(model.levels):
        lines.append(f'  subgraph level{level}["level {level}"]')
        for fragment, nodes in model.fragments.items():
            if nodes[0].level == level:
                lines.append(f'    subgraph fragment{fragment}["fragment {fragment}"]')
                lines += [f"      {_node(node)}" for node in nodes]
                lines.append("    end")
        lines.append("  end")
    for edge in model.edges:
        arrow = f'== "{_quoted(edge.exchange)}" ==>' if edge.exchange else "-->"
        lines.append(f"  n{edge.source} {arrow} n{edge.target}")
    lines.append(_CLASSES)
    return "\n".join(lines) + "\n"


def _node(node: GraphNode) -> str:
    opening, closing = _SHAPES[node.kind]
    mark = " ⛁" if node.stateful else ""
    label = f"<b>{_quoted(node.label)}</b>{mark}"
    if node.detail:
        label += f"<br/>{_quoted(shorten(node.detail, 10, 420))}"
    return f'n{node.id}{opening}"{label}"{closing}:::{node.kind.replace("-", "")}'


def _quoted(text: str) -> str:
    for character, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("#", "&num;")):
        text = text.replace(character, entity)
    return text
