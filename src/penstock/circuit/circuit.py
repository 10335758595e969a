"""A circuit: operators wired into an acyclic graph, with equal parts shared.

Nodes are added bottom-up through :meth:`CircuitBuilder.add`, which returns the existing node if there already
is an equal operator over the same inputs (hash-consing). Since plans contain column positions and no names,
two views that compute the same thing get the same nodes, and so the same arrangements.

A node's *fingerprint* is a digest of what it computes, all the way down to the tables. It names the node's
arrangements on disk: state is found again after a restart, and a changed view gets new state instead of that
of another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.circuit.operator import Operator
from penstock.circuit.undo import shortened_on_error

__all__ = ["Circuit", "CircuitBuilder", "Node"]


@dataclass(frozen=True)
class Node:
    """One operator in the graph. ``exchanged[i]`` says that input ``i`` comes from all workers, by key."""

    id: int
    operator: Operator
    inputs: tuple[int, ...]
    exchanged: tuple[bool, ...]
    fingerprint: str

    def slot(self, index: int) -> str:
        """The name of one of the node's arrangements, which never changes."""
        return f"{self.fingerprint}.{index}"


@dataclass(frozen=True)
class Circuit:
    """Nodes in topological order, and where tables and views are among them."""

    nodes: tuple[Node, ...]
    tables: dict[str, int]
    views: dict[str, int]

    def views_of(self, node: int) -> tuple[str, ...]:
        """The views that depend on a node."""
        return tuple(name for name, sink in self.views.items() if node in self.ancestors(sink))

    def ancestors(self, node: int) -> set[int]:
        """The node and everything it is computed from."""
        seen: set[int] = set()
        stack = [node]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(self.nodes[current].inputs)
        return seen

    def columns_read(self, node: int) -> frozenset[int]:
        """The columns of a node's output that are used by a reader or stored."""
        every = frozenset(range(len(self.nodes[node].operator.schema)))
        if self.nodes[node].operator.slots:
            return every
        users = [user.operator.reads for user in self.nodes if node in user.inputs]
        return frozenset().union(*(every if reads is None else reads for reads in users))


class CircuitBuilder:
    """Adds nodes, sharing equal ones. Existing nodes never change, so a circuit can be extended at any
    time."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._insert_only: list[bool] = []
        self._static: list[bool] = []
        self._known: dict[str, int] = {}
        self._tables: dict[str, int] = {}
        self._views: dict[str, int] = {}

    def add(
        self,
        operator: Operator,
        inputs: tuple[int, ...] = (),
        exchanged: tuple[bool, ...] | None = None,
        incarnation: int = 0,
    ) -> int:
        """The node that applies ``operator`` to ``inputs``: a new one, or the equal one that exists."""
        exchanged = exchanged or (False,) * len(inputs)
        below = [self._nodes[i].fingerprint for i in inputs]
        fingerprint = _fingerprint(operator, below, exchanged, incarnation)
        if fingerprint not in self._known:
            self._known[fingerprint] = len(self._nodes)
            self._nodes.append(Node(len(self._nodes), operator, inputs, exchanged, fingerprint))
            self._insert_only.append(operator.is_insert_only([self._insert_only[i] for i in inputs]))
            self._static.append(all(self._static[i] for i in inputs) if inputs else operator.is_static)
        return self._known[fingerprint]

    def add_table(self, name: str, operator: Operator, incarnation: int = 0) -> int:
        """Adds an input table. ``incarnation`` distinguishes a table from earlier ones of the same name."""
        self._tables[name] = self.add(operator, incarnation=incarnation)
        return self._tables[name]

    def add_view(self, name: str, operator: Operator, source: int) -> int:
        """Adds the sink of a materialised view."""
        self._views[name] = self.add(operator, (source,))
        return self._views[name]

    def operator(self, node: int) -> Operator:
        """The operator of a node."""
        return self._nodes[node].operator

    def is_insert_only(self, node: int) -> bool:
        """Whether a node's output is insert-only."""
        return self._insert_only[node]

    def is_static(self, node: int) -> bool:
        """Whether a node's output is static, because it depends on static tables alone."""
        return self._static[node]

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Takes out again what was added inside if the block fails."""
        grown = (self._nodes, self._insert_only, self._static, self._known, self._tables, self._views)
        with shortened_on_error(*grown):
            yield

    def build(self) -> Circuit:
        """The finished circuit."""
        return Circuit(tuple(self._nodes), dict(self._tables), dict(self._views))


def _fingerprint(operator: Operator, inputs: list[str], exchanged: tuple[bool, ...], incarnation: int) -> str:
    text = "\n".join([operator.info.name, operator.identity(), *inputs, repr(exchanged)])
    if incarnation:
        text += f"\nincarnation {incarnation}"
    return hashlib.sha256(text.encode()).hexdigest()[:24]
