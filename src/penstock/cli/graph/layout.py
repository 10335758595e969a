"""Gives every fragment, operator and edge of a circuit its place.

Levels run from left to right. A fragment is a box with its operators one below the other in the order they
run, chains of them as lines of one card (:mod:`.cards`), so an operator's left and right side are always free
for the edges that enter and leave the fragment. :mod:`.folding` says which column a fragment stands in.

An edge that skips columns gets a narrow lane in each of them, so no edge runs behind a box; edges that carry
the same rows share their lanes. Where blocks go inside their columns is :mod:`.columns`' business. Edges that
enter one operator arrive in the order of where they come from, so that they do not cross at the door. The
order of cards and the order of blocks depend on each other: a few rounds are made, and the best one is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from penstock.cli.graph.cards import Card, stacked
from penstock.cli.graph.columns import Block, Grid, Tie, arrange, crossings
from penstock.cli.graph.folding import columns_of
from penstock.cli.graph.model import GraphEdge, GraphModel, GraphNode, NodeKind
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

_ROUNDS = 4
Points = list[tuple[float, float]]
Stream = tuple[int, bool]  # the operator that rows come from, and whether they are exchanged


def place(model: GraphModel, metrics: Metrics | None = None) -> Placement:
    """Lay ``model`` out."""
    metrics = metrics or Metrics()
    best, fewest = _Layout(model, metrics, {}), float("inf")
    candidate = best
    for _ in range(_ROUNDS):
        arrange(candidate.grid, metrics.fragment_gap)
        if (found := crossings(candidate.grid)) < fewest:
            best, fewest = candidate, found
        candidate = _Layout(model, metrics, candidate.pulls())
    return best.placement()


class _Layout:
    """One drawing in the making: sizes first, then blocks and ties, at the end coordinates."""

    def __init__(self, model: GraphModel, metrics: Metrics, pulls: Mapping[int, Sequence[float]]) -> None:
        self.model, self.metrics = model, metrics
        self.crossing = [edge for edge in model.edges if not self._inside(edge)]
        self.entering: dict[int, list[GraphEdge]] = {}
        for edge in self.crossing:
            self.entering.setdefault(edge.target, []).append(edge)
        self.cards = {fragment: stacked(model, fragment, pulls) for fragment in model.fragments}
        self.words = {node.id: self._words(node) for node in model.nodes}
        self.height = {node.id: self._row_height(node.id) for node in model.nodes}
        self.bus = self._buses()
        self.left = metrics.pad + metrics.gutter * max((lane for lane in self.bus.values()), default=0)
        self.width = self.left + metrics.card_width + metrics.pad
        self.offset: dict[int, float] = {}
        tall = {fragment: self._stack(cards) for fragment, cards in self.cards.items()}
        self.columns = columns_of(
            model,
            {fragment: height + metrics.fragment_gap for fragment, height in tall.items()},
            self.width + metrics.gap_min,
        )
        self.blocks = {
            fragment: Block(self.columns[fragment], height, fragment) for fragment, height in tall.items()
        }
        self.lanes: dict[Stream, list[Block]] = {}
        for edge in self.crossing:
            self._tie(edge)
        self.grid: Grid = [[] for _ in range(1 + max(self.columns.values(), default=-1))]
        for block in (*self.blocks.values(), *(lane for lanes in self.lanes.values() for lane in lanes)):
            self.grid[block.column].append(block)

    def _inside(self, edge: GraphEdge) -> bool:
        return self.model.node[edge.source].fragment == self.model.node[edge.target].fragment

    def _words(self, node: GraphNode) -> Words:
        """A short detail stands beside the label, a long one below it."""
        metrics = self.metrics
        inner = metrics.card_width - 2 * metrics.pad - (16 if node.stateful else 0)
        label = shorten(node.label, metrics.label_size, inner, bold=True)
        beside = inner - text_width(label, metrics.label_size, bold=True) - metrics.word_gap
        if text_width(node.detail, metrics.detail_size) <= beside:
            return Words(label, node.detail, ())
        width = metrics.card_width - 2 * metrics.pad
        return Words(label, "", tuple(wrap(node.detail, metrics.detail_size, width, metrics.detail_lines)))

    def _row_height(self, node: int) -> float:
        """As tall as the lines of text need, and as the edges that enter need."""
        metrics = self.metrics
        text = metrics.row_height + len(self.words[node].below) * metrics.line_height
        if self.model.node[node].kind is NodeKind.TABLE:
            text += metrics.table_bar
        return max(text, len(self.entering.get(node, ())) * metrics.port_gap + 2)

    def _buses(self) -> dict[int, int]:
        """The gutter lane of every operator that feeds one not directly below it.

        Operators whose edges would run along each other get different lanes.
        """
        buses: dict[int, int] = {}
        for cards in self.cards.values():
            place = {node.id: row for row, node in enumerate(node for card in cards for node in card)}
            reach: dict[int, int] = {}
            for edge in self.model.edges:
                if edge.source in place and place.get(edge.target, 0) > place[edge.source] + 1:
                    reach[edge.source] = max(reach.get(edge.source, 0), place[edge.target])
            taken: list[int] = []  # by lane, the row down to which it is in use
            for source in sorted(reach, key=lambda node: place[node]):
                lane = next((i for i, end in enumerate(taken) if end <= place[source]), len(taken))
                taken[lane : lane + 1] = [reach[source]]
                buses[source] = lane + 1
        return buses

    def _stack(self, cards: Sequence[Card]) -> float:
        """Put the cards of a fragment one below the other; the height of the whole."""
        y = self.metrics.fragment_head
        for card in cards:
            for node in card:
                self.offset[node.id] = y
                y += self.height[node.id]
            y += self.metrics.card_gap
        return y - self.metrics.card_gap + self.metrics.pad

    def _tie(self, edge: GraphEdge) -> None:
        """Fasten an edge to its two fragments, with a lane in every column it passes.

        The lanes of a stream are there once; an edge goes along those that others have made.
        """
        first, last = self.model.node[edge.source], self.model.node[edge.target]
        start, end = self.blocks[first.fragment], self.blocks[last.fragment]
        lanes = self.lanes.setdefault((edge.source, edge.exchange is not None), [])
        middle = self.metrics.lane_height / 2
        missing = range(start.column + 1 + len(lanes), end.column)
        fresh = [Block(column, self.metrics.lane_height) for column in missing]
        passed = lanes[: end.column - start.column - 1] + fresh
        way = [start, *passed, end]
        for before, after in pairwise(way):
            if after in lanes:
                continue  # tied when it was made
            leaves = self.offset[first.id] + self.height[first.id] / 2 if before is start else middle
            enters = self.offset[last.id] + self.height[last.id] / 2 if after is end else middle
            tie = Tie(before, after, leaves, enters)
            before.right.append(tie)
            after.left.append(tie)
        lanes += fresh

    def pulls(self) -> dict[int, list[float]]:
        """Where the edges of every operator to other fragments lead: the heights of their other ends."""
        found: dict[int, list[float]] = {}
        for edge in self.crossing:
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                block = self.blocks[self.model.node[there].fragment]
                found.setdefault(here, []).append(block.y + self.offset[there])
        return found

    def placement(self) -> Placement:
        """Coordinates for everything, once the blocks stand."""
        metrics = self.metrics
        everything = [block for column in self.grid for block in column]
        shift = metrics.top - min((block.y for block in everything), default=0.0)
        for block in everything:
            block.y += shift
        lefts = self._column_lefts()
        fragments = tuple(
            FragmentBox(fragment, Box(lefts[block.column], block.y, self.width, block.height))
            for fragment, block in self.blocks.items()
        )
        boxes = {item.fragment: item.box for item in fragments}
        nodes = {
            node.id: Box(
                boxes[node.fragment].x + self.left,
                boxes[node.fragment].y + self.offset[node.id],
                metrics.card_width,
                self.height[node.id],
            )
            for node in self.model.nodes
        }
        lowest = max((block.y + block.height for block in everything), default=metrics.top)
        return Placement(
            width=(lefts[-1] + self.width if self.grid else 0.0) + metrics.margin,
            height=lowest + metrics.margin,
            bands=self._bands(lefts),
            fragments=fragments,
            cards=tuple(tuple(node.id for node in card) for cards in self.cards.values() for card in cards),
            nodes=nodes,
            words=self.words,
            wires=self._wires(nodes, lefts),
        )

    def _column_lefts(self) -> list[float]:
        """The x of every column. A gap is as wide as the longest key written in it asks for."""
        metrics = self.metrics
        gaps = [metrics.gap_min] * len(self.grid)
        for edge in self.crossing:
            if edge.exchange:
                gap = self.columns[self.model.node[edge.target].fragment] - 1
                needed = text_width(edge.exchange, metrics.key_size) + metrics.key_room
                gaps[gap] = min(metrics.gap_max, max(gaps[gap], needed))
        lefts = [metrics.margin]
        for gap_width in gaps[:-1]:
            lefts.append(lefts[-1] + self.width + gap_width)
        return lefts

    def _bands(self, lefts: Sequence[float]) -> tuple[LevelBand, ...]:
        bands = []
        for level in range(self.model.levels):
            used = [
                self.columns[fragment]
                for fragment, nodes in self.model.fragments.items()
                if nodes[0].level == level
            ]
            if used:
                bands.append(LevelBand(level, lefts[min(used)], lefts[max(used)] + self.width))
        return tuple(bands)

    def _wires(self, nodes: Mapping[int, Box], lefts: Sequence[float]) -> tuple[Wire, ...]:
        routes: dict[GraphEdge, Points] = {}
        for edge in self.crossing:
            source = nodes[edge.source]
            column = self.columns[self.model.node[edge.target].fragment]
            routes[edge] = [(source.right, source.y + source.height / 2)]
            for lane in self.lanes[edge.source, edge.exchange is not None]:
                if lane.column < column:
                    left = lefts[lane.column]
                    routes[edge] += [(left, lane.center), (left + self.width, lane.center)]
        port = self._ports(routes)
        wires = []
        for edge in self.model.edges:
            target = nodes[edge.target]
            if edge in routes:
                end = (target.x, target.y + target.height / 2 + port[edge])
                wires.append(Wire(edge, (*routes[edge], end), Route.ACROSS))
            else:
                wires.append(self._inner_wire(edge, nodes[edge.source], target))
        return tuple(wires)

    def _inner_wire(self, edge: GraphEdge, source: Box, target: Box) -> Wire:
        """The next line of the card, down to the card below, or around what is between."""
        gap = target.y - source.bottom
        if gap <= self.metrics.card_gap + 0.01:
            middle = source.x + source.width / 2
            route = Route.NEXT if gap < 0.01 else Route.DOWN
            return Wire(edge, ((middle, source.bottom), (middle, target.y)), route)
        x = source.x - self.metrics.gutter * self.bus[edge.source]
        top = source.y + source.height / 2 + 4  # below where the operator's own input arrives
        bottom = target.y + target.height / 2
        return Wire(edge, ((source.x, top), (x, top), (x, bottom), (target.x, bottom)), Route.GUTTER)

    def _ports(self, routes: Mapping[GraphEdge, Points]) -> dict[GraphEdge, float]:
        """How far from the middle of its target's side each edge arrives."""
        ports: dict[GraphEdge, float] = {}
        for edges in self.entering.values():
            ordered = sorted(edges, key=lambda edge: routes[edge][-1][1])
            for rank, edge in enumerate(ordered):
                ports[edge] = (rank - (len(ordered) - 1) / 2) * self.metrics.port_gap
        return ports
