"""Gives every fragment, operator and edge of a circuit its place.

Levels run from left to right. A fragment is a box with its operators one below the other in the order they
run, so an operator's left and right side are always free for the edges that enter and leave the fragment.
Inside a level, a fragment that reads another one stands to the right of it: columns are (level, depth).

An edge that skips columns gets a narrow lane in each of them, so no edge runs behind a box; where blocks go
inside their columns is :mod:`.columns`' business. Edges that enter one operator arrive in the order of where
they come from, so that they do not cross at the door.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from penstock.cli.graph.columns import Block, Grid, Tie, arrange
from penstock.cli.graph.model import GraphEdge, GraphModel, GraphNode
from penstock.cli.graph.placement import (
    Box,
    FragmentBox,
    LevelBand,
    Metrics,
    Placement,
    Route,
    Wire,
    Words,
)
from penstock.cli.graph.text import shorten, text_width, wrap

__all__ = ["place"]


def place(model: GraphModel, metrics: Metrics | None = None) -> Placement:
    """Lay ``model`` out."""
    layout = _Layout(model, metrics or Metrics())
    arrange(layout.grid, layout.metrics.fragment_gap)
    return layout.placement()


class _Layout:
    """One drawing in the making: sizes first, then blocks and ties, at the end coordinates."""

    def __init__(self, model: GraphModel, metrics: Metrics) -> None:
        self.model, self.metrics = model, metrics
        self.columns = _columns(model)
        self.entering: dict[int, list[int]] = {}
        for index, edge in enumerate(model.edges):
            if not self._inside(edge):
                self.entering.setdefault(edge.target, []).append(index)
        self.words = {node.id: self._words(node) for node in model.nodes}
        self.height = {node.id: self._node_height(node.id) for node in model.nodes}
        self.bus = self._buses()
        self.left = metrics.pad + metrics.gutter * max((lane for lane, _ in self.bus.values()), default=0)
        self.offset: dict[int, float] = {}
        self.blocks = {
            fragment: Block(self.columns[fragment], self._stack(nodes), fragment)
            for fragment, nodes in model.fragments.items()
        }
        self.lanes: dict[int, list[Block]] = {}
        for index, edge in enumerate(model.edges):
            if not self._inside(edge):
                self.lanes[index] = self._tie(edge)
        self.grid: Grid = [[] for _ in range(1 + max(self.columns.values(), default=-1))]
        for block in (*self.blocks.values(), *(lane for lanes in self.lanes.values() for lane in lanes)):
            self.grid[block.column].append(block)

    def _inside(self, edge: GraphEdge) -> bool:
        return self.model.node[edge.source].fragment == self.model.node[edge.target].fragment

    def _words(self, node: GraphNode) -> Words:
        """A short detail stands beside the label, a long one below it."""
        metrics = self.metrics
        inner = metrics.node_width - 2 * metrics.pad - (16 if node.stateful else 0)
        label = shorten(node.label, metrics.label_size, inner)
        beside = inner - text_width(label, metrics.label_size) - 8
        if text_width(node.detail, metrics.detail_size) <= beside:
            return Words(label, node.detail, ())
        width = metrics.node_width - 2 * metrics.pad
        return Words(label, "", tuple(wrap(node.detail, metrics.detail_size, width, metrics.detail_lines)))

    def _node_height(self, node: int) -> float:
        """As tall as the lines of text need, and as the edges that enter need."""
        lines = len(self.words[node].below)
        text = 27 + lines * (self.metrics.detail_size + 3) + (3 if lines else 0)
        return max(text, len(self.entering.get(node, ())) * self.metrics.port_gap)

    def _buses(self) -> dict[int, tuple[int, int]]:
        """The gutter lane, and the fragment, of every operator that feeds one not directly below it.

        Operators whose edges would run along each other get different lanes.
        """
        buses: dict[int, tuple[int, int]] = {}
        for fragment, nodes in self.model.fragments.items():
            place = {node.id: position for position, node in enumerate(nodes)}
            reach: dict[int, int] = {}
            for edge in self.model.edges:
                if edge.source in place and place.get(edge.target, 0) > place[edge.source] + 1:
                    reach[edge.source] = max(reach.get(edge.source, 0), place[edge.target])
            taken: list[int] = []  # by lane, the row down to which it is in use
            for source in sorted(reach, key=lambda node: place[node]):
                lane = next((i for i, end in enumerate(taken) if end <= place[source]), len(taken))
                taken[lane : lane + 1] = [reach[source]]
                buses[source] = (lane + 1, fragment)
        return buses

    def _stack(self, nodes: Sequence[GraphNode]) -> float:
        """Put the operators of a fragment one below the other; the height of the whole."""
        y = self.metrics.fragment_head
        for node in nodes:
            self.offset[node.id] = y
            y += self.height[node.id] + self.metrics.row_gap
        return y - self.metrics.row_gap + self.metrics.pad

    def _tie(self, edge: GraphEdge) -> list[Block]:
        """Fasten an edge to its two fragments, with a lane in every column it passes."""
        first, last = self.model.node[edge.source], self.model.node[edge.target]
        start, end = self.blocks[first.fragment], self.blocks[last.fragment]
        lanes = [Block(column, self.metrics.lane_height) for column in range(start.column + 1, end.column)]
        middle = self.metrics.lane_height / 2
        for before, after in pairwise([start, *lanes, end]):
            leaves = self.offset[first.id] + self.height[first.id] / 2 if before is start else middle
            enters = self.offset[last.id] + self.height[last.id] / 2 if after is end else middle
            tie = Tie(before, after, leaves, enters)
            before.right.append(tie)
            after.left.append(tie)
        return lanes

    def placement(self) -> Placement:
        """Coordinates for everything, once the blocks stand."""
        metrics = self.metrics
        everything = [block for column in self.grid for block in column]
        shift = metrics.top - min((block.y for block in everything), default=0.0)
        for block in everything:
            block.y += shift
        lefts = self._column_lefts()
        width = self.left + metrics.node_width + metrics.pad
        fragments = tuple(
            FragmentBox(fragment, Box(lefts[block.column], block.y, width, block.height))
            for fragment, block in self.blocks.items()
        )
        boxes = {item.fragment: item.box for item in fragments}
        nodes = {
            node.id: Box(
                boxes[node.fragment].x + self.left,
                boxes[node.fragment].y + self.offset[node.id],
                metrics.node_width,
                self.height[node.id],
            )
            for node in self.model.nodes
        }
        lowest = max((block.y + block.height for block in everything), default=0.0)
        return Placement(
            width=(lefts[-1] + width if lefts else 0.0) + metrics.margin,
            height=lowest + metrics.bottom,
            bands=self._bands(lefts, width),
            fragments=fragments,
            nodes=nodes,
            words=self.words,
            wires=self._wires(nodes, lefts, width),
        )

    def _column_lefts(self) -> list[float]:
        """The x of every column. A gap is as wide as the longest key written in it asks for."""
        metrics = self.metrics
        gaps = [metrics.gap_min] * len(self.grid)
        for edge in self.model.edges:
            if edge.exchange and not self._inside(edge):
                gap = self.columns[self.model.node[edge.target].fragment] - 1
                needed = text_width(edge.exchange, metrics.key_size) + 56
                gaps[gap] = min(metrics.gap_max, max(gaps[gap], needed))
        lefts = [metrics.margin]
        for gap_width in gaps[:-1]:
            lefts.append(lefts[-1] + self.left + metrics.node_width + metrics.pad + gap_width)
        return lefts

    def _bands(self, lefts: Sequence[float], width: float) -> tuple[LevelBand, ...]:
        bands = []
        for level in range(self.model.levels):
            used = [
                self.columns[fragment]
                for fragment, nodes in self.model.fragments.items()
                if nodes[0].level == level
            ]
            if used:
                bands.append(LevelBand(level, lefts[min(used)], lefts[max(used)] + width))
        return tuple(bands)

    def _wires(self, nodes: Mapping[int, Box], lefts: Sequence[float], width: float) -> tuple[Wire, ...]:
        routes: dict[int, list[tuple[float, float]]] = {}
        for index, lanes in self.lanes.items():
            source = nodes[self.model.edges[index].source]
            routes[index] = [(source.right, source.y + source.height / 2)]
            for lane in lanes:
                routes[index] += [
                    (lefts[lane.column], lane.center),
                    (lefts[lane.column] + width, lane.center),
                ]
        port = self._ports(routes)
        wires = []
        for index, edge in enumerate(self.model.edges):
            target = nodes[edge.target]
            if index in routes:
                end = (target.x, target.y + target.height / 2 + port[index])
                wires.append(Wire(edge, (*routes[index], end), Route.ACROSS))
            else:
                wires.append(self._inner_wire(edge, nodes[edge.source], target))
        return tuple(wires)

    def _inner_wire(self, edge: GraphEdge, source: Box, target: Box) -> Wire:
        """Down to the operator below, or around those between."""
        if target.y - source.bottom <= self.metrics.row_gap + 0.01:
            middle = source.x + source.width / 2
            return Wire(edge, ((middle, source.bottom), (middle, target.y)), Route.DOWN)
        x = source.x - self.metrics.gutter * self.bus[edge.source][0]
        top = source.y + source.height / 2 + 6  # below where the operator's own input arrives
        bottom = target.y + target.height / 2
        return Wire(edge, ((source.x, top), (x, top), (x, bottom), (target.x, bottom)), Route.GUTTER)

    def _ports(self, routes: Mapping[int, list[tuple[float, float]]]) -> dict[int, float]:
        """How far from the middle of its target's side each edge arrives."""
        ports: dict[int, float] = {}
        for indices in self.entering.values():
            ordered = sorted(indices, key=lambda index: routes[index][-1][1])
            for rank, index in enumerate(ordered):
                ports[index] = (rank - (len(ordered) - 1) / 2) * self.metrics.port_gap
        return ports


def _columns(model: GraphModel) -> dict[int, int]:
    """The column of every fragment: levels in order, inside a level by how deep the fragment reads."""
    depth = dict.fromkeys(model.fragments, 0)
    level = {fragment: nodes[0].level for fragment, nodes in model.fragments.items()}
    pairs = {(model.node[edge.source].fragment, model.node[edge.target].fragment) for edge in model.edges}
    within = [(a, b) for a, b in pairs if a != b and level[a] == level[b]]
    for _ in depth:  # a longest path has no more edges than there are fragments
        for a, b in within:
            depth[b] = max(depth[b], depth[a] + 1)
    first = 0
    columns: dict[int, int] = {}
    for number in range(model.levels):
        members = [fragment for fragment in model.fragments if level[fragment] == number]
        columns.update({fragment: first + depth[fragment] for fragment in members})
        first += 1 + max((depth[fragment] for fragment in members), default=-1)
    return columns
