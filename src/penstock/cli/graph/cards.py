"""Groups the operators of a fragment into cards: chains that are drawn as the lines of one box.

Most of a circuit is chains (project, filter, index). Drawn as boxes of their own they take three times the
room of their text; as lines of one card they read from top to bottom without arrows. A chain ends where
several operators read its end or where an operator reads several chains. A view is the last line of the card
it reads, unless the card goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from penstock.cli.graph.model import GraphModel, GraphNode

__all__ = ["Card", "stacked"]

Card = tuple[GraphNode, ...]


def stacked(model: GraphModel, fragment: int, pulls: Mapping[int, Sequence[float]]) -> list[Card]:
    """The cards of a fragment from top to bottom, each below those it reads.

    ``pulls`` are the heights that the edges of an operator to other fragments lead to: of the cards that may
    come next, the one whose edges lead highest does, so that edges cross less.
    """
    nodes = model.fragments[fragment]
    inside = {node.id for node in nodes}
    readers: dict[int, list[int]] = {node.id: [] for node in nodes}
    sources: dict[int, list[int]] = {node.id: [] for node in nodes}
    for edge in model.edges:
        if edge.source in inside and edge.target in inside:
            readers[edge.source].append(edge.target)
            sources[edge.target].append(edge.source)
    cards = _chains(model, nodes, readers, sources)
    return _ordered(cards, readers, sources, pulls)


def _chains(
    model: GraphModel,
    nodes: Sequence[GraphNode],
    readers: Mapping[int, Sequence[int]],
    sources: Mapping[int, Sequence[int]],
) -> list[Card]:
    read = {edge.source for edge in model.edges}
    follows: dict[int, list[int]] = {}
    for node in nodes:
        alone = [reader for reader in readers[node.id] if len(sources[reader]) == 1]
        ends = [reader for reader in alone if reader not in read]
        if ends:
            follows[node.id] = ends
        elif len(readers[node.id]) == 1:
            follows[node.id] = alone
    below = {reader for chain in follows.values() for reader in chain}
    cards = []
    for node in nodes:
        if node.id not in below:
            chain = [node.id]
            while follows.get(chain[-1]):
                chain += follows[chain[-1]]
            cards.append(tuple(model.node[member] for member in chain))
    return cards


def _ordered(
    cards: Sequence[Card],
    readers: Mapping[int, Sequence[int]],
    sources: Mapping[int, Sequence[int]],
    pulls: Mapping[int, Sequence[float]],
) -> list[Card]:
    """Depth first, so that what belongs together stays together."""
    home = {node.id: index for index, card in enumerate(cards) for node in card}

    def linked(card: Card, links: Mapping[int, Sequence[int]]) -> set[int]:
        return {home[other] for node in card for other in links[node.id]} - {home[card[0].id]}

    after = [linked(card, readers) for card in cards]
    waiting = [len(linked(card, sources)) for card in cards]
    wish = [_wish(index, cards, after, pulls) for index in range(len(cards))]
    ready = sorted((i for i, count in enumerate(waiting) if not count), key=lambda i: (wish[i], i))
    order: list[Card] = []
    while ready:
        current = ready.pop(0)
        order.append(cards[current])
        for reader in after[current]:
            waiting[reader] -= 1
        freed = [reader for reader in after[current] if not waiting[reader]]
        ready = sorted(freed, key=lambda i: (wish[i], i)) + ready
    return order


def _wish(
    start: int, cards: Sequence[Card], after: Sequence[set[int]], pulls: Mapping[int, Sequence[float]]
) -> float:
    """The mean height that the edges of a card, and of all that follow from it, lead to."""
    found: list[float] = []
    seen, stack = {start}, [start]
    while stack:
        current = stack.pop()
        found += [y for node in cards[current] for y in pulls.get(node.id, ())]
        stack += after[current] - seen
        seen |= after[current]
    return fmean(found) if found else 0.0
