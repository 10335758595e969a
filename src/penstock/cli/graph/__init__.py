"""Draws a circuit: its fragments, its levels and what is exchanged between them.

A drawing is made in three steps that know nothing of each other: :mod:`.adapter` turns a compiled program
into a :class:`GraphModel`, :mod:`.layout` gives every box a place, :mod:`.svg` and :mod:`.mermaid` write
text. No external program is needed. The adapter is imported by whoever needs it: it knows operators, and with
them half of the package.
"""

from __future__ import annotations

from penstock.cli.graph.mermaid import to_mermaid
from penstock.cli.graph.model import GraphEdge, GraphModel, GraphNode, NodeKind
from penstock.cli.graph.svg import to_svg

__all__ = ["GraphEdge", "GraphModel", "GraphNode", "NodeKind", "to_mermaid", "to_svg"]
