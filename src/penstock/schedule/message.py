"""What travels between levels: a delta of one edge, addressed to one worker."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

__all__ = ["Message", "input_edge"]


@dataclass(frozen=True, slots=True)
class Message:
    """``batch`` is an encoded flow for edge ``edge`` on worker ``target``.

    Edges are numbered by the program; the pushed rows of a table arrive on its :func:`input_edge`."""

    edge: int
    target: int
    batch: pa.RecordBatch


def input_edge(node: int) -> int:
    """The number of the edge by which pushed rows reach the table at ``node``: negative, one per node."""
    return -1 - node
