"""Decides which column of a drawing each fragment stands in.

Levels run from left to right, and inside a level a fragment stands to the right of those it reads. One level
often has most of the fragments (all tables are in the first), and one column of them would make the drawing
tall and empty. So tall columns are folded: their fragments are spread over several columns side by side, as
many as make the whole drawing fit best into a window that is wider than it is tall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.cli.graph.model import GraphModel

__all__ = ["columns_of"]

_WINDOW = 1.6  # width of a window, in heights
_FOLDS_MAX = 4


def columns_of(model: GraphModel, height: Mapping[int, float], column_width: float) -> dict[int, int]:
    """The column of every fragment; ``height`` and ``column_width`` are in pixels, gaps included."""
    groups = _by_depth(model)
    totals = [sum(height[fragment] for fragment in group) for group in groups]
    limits = {total / folds for total in totals for folds in range(1, _FOLDS_MAX + 1)}
    limits |= {max(limit, max(height.values(), default=0.0)) for limit in limits}
    spread = _spread(model)
    best, smallest = [list(group) for group in groups], float("inf")
    for limit in sorted(limits, reverse=True):
        folded = [part for group in groups for part in _folded(group, height, limit, spread)]
        tallest = max((sum(height[fragment] for fragment in part) for part in folded), default=0.0)
        size = max(len(folded) * column_width, tallest * _WINDOW)
        if size < smallest * 0.95:  # a fold must be worth it: edges have to pass the columns it adds
            best, smallest = folded, size
    return {fragment: column for column, part in enumerate(best) for fragment in part}


def _by_depth(model: GraphModel) -> list[list[int]]:
    """Fragments that may share a column: those of a level that read equally deep inside it, in order."""
    depth = dict.fromkeys(model.fragments, 0)
    level = {fragment: nodes[0].level for fragment, nodes in model.fragments.items()}
    pairs = {(model.node[edge.source].fragment, model.node[edge.target].fragment) for edge in model.edges}
    within = [(a, b) for a, b in pairs if a != b and level[a] == level[b]]
    for _ in depth:  # a longest path has no more edges than there are fragments
        for a, b in within:
            depth[b] = max(depth[b], depth[a] + 1)
    places = sorted({(level[fragment], depth[fragment]) for fragment in model.fragments})
    return [[f for f in model.fragments if (level[f], depth[f]) == place] for place in places]


def _spread(model: GraphModel) -> dict[int, int]:
    """How many more operators of a fragment are read by others than read others."""
    leaving: dict[int, set[int]] = {fragment: set() for fragment in model.fragments}
    entering: dict[int, set[int]] = {fragment: set() for fragment in model.fragments}
    for edge in model.edges:
        source, target = model.node[edge.source], model.node[edge.target]
        if source.fragment != target.fragment:
            leaving[source.fragment].add(source.id)
            entering[target.fragment].add(source.id)
    return {fragment: len(leaving[fragment]) - len(entering[fragment]) for fragment in model.fragments}


def _folded(
    group: Sequence[int], height: Mapping[int, float], limit: float, spread: Mapping[int, int]
) -> list[list[int]]:
    """The fragments of a column in parts of at most ``limit`` (or of one fragment).

    What is read by many stands on the right, what ends here on the left: so fewer edges pass through.
    """
    parts: list[list[int]] = [[]]
    filled = 0.0
    for fragment in sorted(group, key=lambda fragment: (spread[fragment], fragment)):
        if parts[-1] and filled + height[fragment] > limit + 1e-6:
            parts.append([])
            filled = 0.0
        parts[-1].append(fragment)
        filled += height[fragment]
    return parts
