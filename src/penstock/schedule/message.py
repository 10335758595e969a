"""Messages between levels: a flow, its target worker, and the route that says where it belongs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from penstock.circuit.delta import Arranged, Delta

__all__ = [
    "FILE_LEVEL",
    "AlongEdge",
    "Answer",
    "InputFiles",
    "Message",
    "PushedRows",
    "Route",
    "first_level",
    "parse_route",
]

FILE_LEVEL = -1
"""The level in which files are read, before the first level of the program."""


@dataclass(frozen=True, slots=True)
class AlongEdge:
    """Along the program's edge number ``edge``, to the fragment that reads it."""

    edge: int

    def __str__(self) -> str:
        return f"edge:{self.edge}"


@dataclass(frozen=True, slots=True)
class PushedRows:
    """From outside to the table at node ``table``: rows that were pushed."""

    table: int

    def __str__(self) -> str:
        return f"rows:{self.table}"


@dataclass(frozen=True, slots=True)
class InputFiles:
    """From outside to the table at node ``table``: files that the worker is to read rows from."""

    table: int

    def __str__(self) -> str:
        return f"files:{self.table}"


@dataclass(frozen=True, slots=True)
class Answer:
    """From a worker to the caller that asked it something."""

    def __str__(self) -> str:
        return "answer:"


Route = AlongEdge | PushedRows | InputFiles | Answer


@lru_cache(maxsize=4096)  # the same few routes come with every step
def parse_route(text: str) -> Route:
    """The inverse of ``str``, which is the form of a route on the wire."""
    kind, _, number = text.partition(":")
    match kind:
        case "edge":
            return AlongEdge(int(number))
        case "rows":
            return PushedRows(int(number))
        case "files":
            return InputFiles(int(number))
        case "answer":
            return Answer()
    raise ValueError(f"{text} is not a route")


@dataclass(frozen=True, slots=True)
class Message:
    """``content`` is a flow for worker ``target``: an object while it stays in the worker, and encoded as one
    record batch when it comes from another one."""

    route: Route
    target: int
    content: pa.RecordBatch | Delta | Arranged

    @property
    def batch(self) -> pa.RecordBatch:
        """The content encoded as a record batch."""
        return self.content if isinstance(self.content, pa.RecordBatch) else self.content.encode()


def first_level(inputs: Iterable[Message]) -> int:
    """The level a step with these inputs starts at: files are read in a level of their own before 0."""
    return FILE_LEVEL if any(isinstance(message.route, InputFiles) for message in inputs) else 0
