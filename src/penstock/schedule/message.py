"""What travels between levels: a delta of one edge, addressed to one worker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from penstock.circuit.delta import Arranged, Delta

__all__ = ["FILE_LEVEL", "Message", "file_edge", "first_level", "input_edge", "is_file_edge", "table_of"]

FILE_LEVEL = -1

_FILES = 1 << 20  # more nodes than a circuit ever has


@dataclass(frozen=True, slots=True)
class Message:
    """``content`` is a flow for edge ``edge`` on worker ``target``: as it is while it stays in the worker,
    and encoded as one record batch when it comes from elsewhere.

    Edges are numbered by the program; the pushed rows of a table arrive on its :func:`input_edge`, the files
    to be read for it on its :func:`file_edge`."""

    edge: int
    target: int
    content: pa.RecordBatch | Delta | Arranged

    @property
    def batch(self) -> pa.RecordBatch:
        """The content in the form in which it travels."""
        return self.content if isinstance(self.content, pa.RecordBatch) else self.content.encode()


def input_edge(node: int) -> int:
    """The number of the edge by which pushed rows reach the table at ``node``: negative, one per node."""
    return -1 - node


def file_edge(node: int) -> int:
    """The number of the edge by which shares of files reach the table at ``node``."""
    return input_edge(node) - _FILES


def is_file_edge(edge: int) -> bool:
    """Whether a message on this edge names files."""
    return edge < -_FILES


def table_of(edge: int) -> int:
    """The node of the table that rows or files on this edge are for."""
    return -1 - (edge + _FILES if is_file_edge(edge) else edge)


def first_level(inputs: Iterable[Message]) -> int:
    """The level a step with these inputs starts at: files are read in a level of their own before 0."""
    return FILE_LEVEL if any(is_file_edge(message.edge) for message in inputs) else 0
