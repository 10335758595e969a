"""Orders the blocks of a layered drawing and settles their heights.

A block is a fragment, or a lane: the room that an edge takes in a column it only passes through. Blocks
know the edges on both sides and where on themselves each edge is fastened. Ordering sorts every column by
the median of its neighbours, to and fro, and keeps the order with the fewest crossings; settling then moves
blocks towards straight edges without changing the order. Cost: a few dozen passes over the edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean, median

__all__ = ["Block", "Grid", "Tie", "arrange"]

_SWEEPS_ORDER = 16
_SWEEPS_SETTLE = 60


@dataclass(slots=True, eq=False)
class Tie:
    """An edge between neighbouring columns: its two blocks, and its height within each of them."""

    before: Block
    after: Block
    leaves: float
    enters: float


@dataclass(slots=True, eq=False)
class Block:
    """Something with a height that stands in a column; ``fragment`` is None for a lane."""

    column: int
    height: float
    fragment: int | None = None
    y: float = 0.0
    left: list[Tie] = field(default_factory=list)
    right: list[Tie] = field(default_factory=list)

    @property
    def center(self) -> float:
        """The middle of the block."""
        return self.y + self.height / 2


Grid = list[list[Block]]


def arrange(grid: Grid, gap: float) -> None:
    """Give every block its ``y``. ``gap`` is the least distance between two blocks of a column."""
    for column in grid:
        _pack(column, gap)
    best = [list(column) for column in grid]
    fewest = _crossings(grid)
    for sweep in range(_SWEEPS_ORDER):
        forward = sweep % 2 == 0
        for column in grid if forward else reversed(grid):
            _sort(column, forward)
            _pack(column, gap)
        crossings = _crossings(grid)
        if crossings < fewest:
            fewest, best = crossings, [list(column) for column in grid]
    for column, ordered in zip(grid, best, strict=True):
        column[:] = ordered
        _pack(column, gap)
    _settle(grid, gap)


def _sort(column: list[Block], forward: bool) -> None:
    """Sort a column by the neighbours on one side; a block that has none there goes by the other side."""

    def wanted(block: Block) -> float:
        before = [tie.before.y + tie.leaves for tie in block.left]
        after = [tie.after.y + tie.enters for tie in block.right]
        pull = (before or after) if forward else (after or before)
        return median(pull) if pull else block.center

    places = {id(block): wanted(block) for block in column}
    column.sort(key=lambda block: places[id(block)])


def _crossings(grid: Grid) -> int:
    """How many pairs of edges cross between neighbouring columns."""
    count = 0
    for column in grid:
        ends = [
            (tie.before.y + tie.leaves, tie.after.y + tie.enters) for block in column for tie in block.right
        ]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(ends, 2))
    return count


def _pack(column: Sequence[Block], gap: float) -> None:
    """Put the blocks of a column one below the other, around height zero."""
    y = -(sum(block.height + gap for block in column) - gap) / 2
    for block in column:
        block.y = y
        y += block.height + gap


def _settle(grid: Grid, gap: float) -> None:
    """Move blocks towards straight edges, keeping the order and the distance inside every column."""
    for sweep in range(_SWEEPS_SETTLE):
        for column in grid if sweep % 2 == 0 else reversed(grid):
            wishes = []
            for block in column:
                pulls = [tie.before.y + tie.leaves - tie.enters for tie in block.left]
                pulls += [tie.after.y + tie.enters - tie.leaves for tie in block.right]
                wishes.append(fmean(pulls) if pulls else block.y)
            _separate(column, wishes, gap)


def _separate(column: Sequence[Block], wishes: Sequence[float], gap: float) -> None:
    """Give blocks the places they wish for; blocks that collide are placed around their common mean.

    This is the pool-adjacent-violators algorithm: the least-squares answer under a fixed order.
    """
    groups: list[tuple[list[Block], float, float]] = []  # blocks, where the first starts, height of all
    for block, wish in zip(column, wishes, strict=True):
        members, start, height = [block], wish, block.height + gap
        while groups and groups[-1][1] + groups[-1][2] > start:
            before, before_start, before_height = groups.pop()
            weight = len(before) + len(members)
            start = (before_start * len(before) + (start - before_height) * len(members)) / weight
            members, height = before + members, before_height + height
        groups.append((members, start, height))
    for members, start, _ in groups:
        y = start
        for block in members:
            block.y = y
            y += block.height + gap
