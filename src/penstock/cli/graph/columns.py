"""Orders the blocks of a layered drawing and decides how high each stands.

A block is a fragment, or a lane: the room that an edge takes in a column it only passes through. Blocks
know the edges on both sides and where on themselves each edge is fastened. The method is Sugiyama's: columns
are sorted by the medians of their neighbours, to and fro, then neighbours in a column change places while
that removes crossings, and the order with the fewest crossings is kept. At the end blocks move towards
straight edges without changing their order, long edges first, inside the height of the tallest column: a
drawing is never taller than that. Cost: a few dozen passes over the edges.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

__all__ = ["Block", "Grid", "Tie", "arrange", "crossings", "heights"]

_SWEEPS_ORDER = 12
_SWEEPS_SETTLE = 40
_PULL_LANES, _PULL_LANE, _PULL = 8.0, 2.0, 1.0  # how strongly an edge wants to be straight, by its ends


@dataclass(slots=True, eq=False)
class Tie:
    """An edge between neighbouring columns: its two blocks, and its height within each of them."""

    before: Block
    after: Block
    leaves: float
    enters: float

    @property
    def pull(self) -> float:
        """An edge that bends on its way is worse than one that bends at its ends."""
        lanes = (self.before.fragment is None) + (self.after.fragment is None)
        return (_PULL, _PULL_LANE, _PULL_LANES)[lanes]


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


def heights(column: Sequence[Block], gap: float) -> float:
    """How tall a column is when its blocks stand as close as they may."""
    return sum(block.height + gap for block in column) - gap if column else 0.0


def arrange(grid: Grid, gap: float) -> None:
    """Give every block its ``y``. ``gap`` is the least distance between two blocks of a column."""
    for column in grid:
        _pack(column, gap)
    best = [list(column) for column in grid]
    fewest = crossings(grid)
    for sweep in range(_SWEEPS_ORDER):
        forward = sweep % 2 == 0
        for column in grid if forward else reversed(grid):
            _sort(column, forward)
            _pack(column, gap)
        for column in grid:
            _transpose(column, gap)
        found = crossings(grid)
        if found < fewest:
            fewest, best = found, [list(column) for column in grid]
    for column, ordered in zip(grid, best, strict=True):
        column[:] = ordered
        _pack(column, gap)
    _straighten(grid, gap)


def crossings(grid: Grid) -> int:
    """How many pairs of edges cross between neighbouring columns."""
    return sum(_inversions([tie for block in column for tie in block.right]) for column in grid)


def _inversions(ties: Sequence[Tie]) -> int:
    ends = sorted((tie.before.y + tie.leaves, tie.after.y + tie.enters) for tie in ties)
    seen: list[float] = []
    count = 0
    for _, end in ends:
        count += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return count


def _sort(column: list[Block], forward: bool) -> None:
    """Sort a column by the neighbours on one side; a block that has none there goes by the other side."""

    def wanted(block: Block) -> float:
        before = [tie.before.y + tie.leaves for tie in block.left]
        after = [tie.after.y + tie.enters for tie in block.right]
        pull = (before or after) if forward else (after or before)
        return median(pull) if pull else block.center

    places = {id(block): wanted(block) for block in column}
    column.sort(key=lambda block: places[id(block)])


def _transpose(column: list[Block], gap: float) -> None:
    """Let two blocks that stand next to each other change places where that removes crossings."""
    for _ in column:
        changed = False
        for place, (upper, lower) in enumerate(pairwise(tuple(column))):
            if column[place] is upper and _gain(upper, lower) > 0:
                column[place], column[place + 1] = lower, upper
                changed = True
        if not changed:
            break
    _pack(column, gap)


def _gain(upper: Block, lower: Block) -> int:
    """How many crossings fewer there are when two neighbours change places."""
    gain = 0
    for above, below in ((upper.left, lower.left), (upper.right, lower.right)):
        for a in above:
            for b in below:
                to_a = a.before.y + a.leaves if a.after is upper else a.after.y + a.enters
                to_b = b.before.y + b.leaves if b.after is lower else b.after.y + b.enters
                gain += (to_a > to_b) - (to_a < to_b)
    return gain


def _pack(column: Sequence[Block], gap: float) -> None:
    """Put the blocks of a column one below the other, around height zero."""
    y = -heights(column, gap) / 2
    for block in column:
        block.y = y
        y += block.height + gap


def _straighten(grid: Grid, gap: float) -> None:
    """Move blocks towards straight edges, keeping the order and the distance inside every column."""
    tallest = max((heights(column, gap) for column in grid), default=0.0)
    for sweep in range(_SWEEPS_SETTLE):
        for column in grid if sweep % 2 == 0 else reversed(grid):
            wishes, weights = [], []
            for block in column:
                pulls = [(tie.before.y + tie.leaves - tie.enters, tie.pull) for tie in block.left]
                pulls += [(tie.after.y + tie.enters - tie.leaves, tie.pull) for tie in block.right]
                weight = sum(pull for _, pull in pulls)
                wishes.append(sum(y * pull for y, pull in pulls) / weight if pulls else block.y)
                weights.append(weight or _PULL)
            _separate(column, wishes, weights, gap, tallest)


def _separate(
    column: Sequence[Block], wishes: Sequence[float], weights: Sequence[float], gap: float, room: float
) -> None:
    """Give blocks the places they wish for; blocks that collide are placed around their common mean.

    This is the pool-adjacent-violators algorithm: the least-squares answer under a fixed order. Clipping
    it to the room gives the least-squares answer inside the room.
    """
    groups: list[tuple[list[Block], float, float, float]] = []  # blocks, start of the first, height, weight
    for block, wish, own in zip(column, wishes, weights, strict=True):
        members, start, height, weight = [block], wish, block.height + gap, own
        while groups and groups[-1][1] + groups[-1][2] > start:
            before, before_start, before_height, before_weight = groups.pop()
            both = before_weight + weight
            start = (before_start * before_weight + (start - before_height) * weight) / both
            members, height, weight = before + members, before_height + height, both
        groups.append((members, start, height, weight))
    above, below = 0.0, heights(column, gap)
    for members, start, height, _ in groups:
        y = min(max(start, above - room / 2), room / 2 - below)
        for block in members:
            block.y = y
            y += block.height + gap
        above += height
        below -= height
