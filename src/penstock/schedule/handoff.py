"""Handoffs: the buffers between fragments.

Everything inside a fragment is passed by calling; everything between fragments waits in a handoff until
the fragment that reads it runs. ``give`` adds a part, ``drain`` takes everything. The parts of one edge
are Z-sets, so a handoff merges them by adding: the reader sees one delta however many workers sent some.
"""

from __future__ import annotations

import pyarrow as pa

from penstock.circuit.delta import Arranged, Delta, concat_deltas

__all__ = ["Handoff"]


class Handoff:
    """A merging buffer of one edge. An :class:`Arranged` has one producer and is passed through unchanged."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._nothing = Delta.empty(schema)
        self._parts: list[Delta] = []
        self._arranged: Arranged | None = None

    @property
    def waiting(self) -> bool:
        """Whether anything was given since the last drain."""
        return bool(self._parts) or self._arranged is not None

    def give(self, flow: Delta | Arranged) -> None:
        """Adds a part."""
        if isinstance(flow, Arranged):
            self._arranged = flow
        else:
            self._parts.append(flow)

    def drain(self) -> Delta | Arranged:
        """Everything given since the last drain, as one flow."""
        parts, arranged = self._parts, self._arranged
        self._parts, self._arranged = [], None
        if arranged is not None:
            return arranged
        if not parts:
            return self._nothing
        return concat_deltas(self._schema, parts)

    def clear(self) -> None:
        """Drops everything (the step was aborted)."""
        self._parts, self._arranged = [], None
